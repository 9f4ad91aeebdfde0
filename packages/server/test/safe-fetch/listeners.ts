/** Real servers for the fetch tests that count their connections. */
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";

export interface Listener {
  readonly port: number;
  /** "host:port" as a policy names it. */
  readonly name: string;
  readonly url: string;
  readonly connections: () => number;
  readonly close: () => Promise<void>;
}

const answer: RequestListener = (_, response) => response.end("inside");

/** @param host 127.0.0.1 or ::1 */
export async function listen(host: string, onRequest: RequestListener = answer, port = 0): Promise<Listener> {
  const server: Server = createServer(onRequest);
  let count = 0;
  server.on("connection", () => count++);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  const { port: given } = server.address() as AddressInfo;
  const name = `${host.includes(":") ? `[${host}]` : host}:${given}`;
  return {
    port: given,
    name,
    url: `http://${name}`,
    connections: () => count,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
