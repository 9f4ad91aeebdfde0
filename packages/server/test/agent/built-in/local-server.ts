/** A real HTTP server on a free port that simulates a service and counts its requests. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { freePort } from "@turnstream/testkit/network/free-port.ts";

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

export interface LocalServer extends AsyncDisposable {
  readonly origin: string;
  /** `host:port` for a fetch policy. */
  readonly place: string;
  readonly asked: Asked[];
  /** Refuses connections, until it is opened again. */
  close(): Promise<void>;
  /** Listens on the same port again. */
  reopen(): Promise<void>;
}

export async function localServer(
  answer: (asked: Asked, response: ServerResponse) => void | Promise<void>,
): Promise<LocalServer> {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { method = "", url = "", headers } = request;
      const one = { method, path: url, headers, body: Buffer.concat(chunks).toString() };
      asked.push(one);
      void answer(one, response);
    });
  });
  // The system would give a port of its own choice to others while this server is closed.
  const port = await freePort();
  const listen = () => new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  await listen();
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return {
    origin: `http://127.0.0.1:${port}`,
    place: `127.0.0.1:${port}`,
    asked,
    close,
    reopen: listen,
    [Symbol.asyncDispose]: close,
  };
}
