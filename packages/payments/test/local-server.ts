/** `startLocalServer` starts an HTTP server on this machine that reads the whole body of each request. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export type Handle = (body: Buffer, response: ServerResponse, request: IncomingMessage) => void;

export interface LocalServer {
  readonly url: string;
  close(): void;
}

export async function startLocalServer(handle: Handle): Promise<LocalServer> {
  const server = createServer((request, response) => {
    readBody(request).then(
      (body) => handle(body, response, request),
      () => response.destroy(),
    );
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of request as AsyncIterable<Buffer>) pieces.push(piece);
  return Buffer.concat(pieces);
}
