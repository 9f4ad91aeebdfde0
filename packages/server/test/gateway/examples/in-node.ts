/** `nodeApp` adds the gateway to a server of `node:http`. Printed in docs/gateway.md. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGateway, type Gateway, type GatewayOptions } from "@turnstream/server";

/** A handler for `node:http`, Express, Connect and the like. */
function createListener(gateway: Gateway) {
  return async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const disconnected = new AbortController();
    outgoing.once("close", () => disconnected.abort());
    const { method = "GET", url = "/", headers, socket } = incoming;
    const request = new Request(new URL(url, "http://localhost"), {
      method,
      headers: Object.entries(headers).map(([name, value]) => [name, String(value)] as [string, string]),
      signal: disconnected.signal,
      ...(method === "GET" || method === "HEAD" ? {} : { body: Readable.toWeb(incoming), duplex: "half" }),
    });
    const {
      status,
      headers: responseHeaders,
      body,
    } = await gateway.handle(request, { clientAddress: socket.remoteAddress ?? "" });
    outgoing.writeHead(status, Object.fromEntries(responseHeaders));
    if (body === null) outgoing.end();
    // The pipeline fails when the client disconnects, which is not an error.
    else await pipeline(Readable.fromWeb(body), outgoing).catch(() => {});
  };
}

export function nodeApp(options: GatewayOptions, port: number) {
  const gateway = createGateway(options);
  const listener = createListener(gateway);
  const server = createServer((incoming, outgoing) => {
    if (incoming.url?.startsWith("/api/v1/") === true) void listener(incoming, outgoing);
    else outgoing.end("your own routes stay as they are");
  });
  server.on("upgrade", (incoming, socket, head) => {
    if (!gateway.upgrade(incoming, socket, head)) socket.destroy();
  });
  server.listen(port);
  return { gateway, server };
}
