/** Opens the same server behind three transports: the standalone server and an app's Node server over real HTTP, and the fetch handler. */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import type { ErrorContext } from "../../src/util/error-handler.ts";
import type { ServerOptions } from "../../src/gateway/create-server.ts";
import type { HarnessBackend } from "../engine/turn-harness.ts";
import { nodeApp } from "./examples/in-node.ts";
import {
  type TestRequest,
  openServer,
  type TestServer,
  type TestResponse,
  readResponse,
} from "./test-server.ts";

export type TransportName = "server" | "node" | "fetch";

export interface TransportServer extends TestServer {
  /** @param path the full path, including its prefix */
  send(path: string, init: RequestInit): Promise<TestResponse>;
}

export async function openTransport(
  transport: TransportName,
  given?: HarnessBackend,
  options: Partial<ServerOptions> = {},
): Promise<TransportServer> {
  const opened = await openServer(given, options);
  const { backend, secrets, url, errors, auth } = opened;
  const onError = (error: unknown, { during }: ErrorContext) => errors.push({ error, during });
  const { gateway, server } = nodeApp({ ...backend, secrets, onError, ...options }, 0);
  if (!server.listening) await once(server, "listening");
  const nodeUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const send = async (path: string, init: RequestInit) =>
    readResponse(
      transport === "fetch"
        ? await gateway.handle(new Request(`http://gateway${path}`, init))
        : await fetch(`${transport === "node" ? nodeUrl : url}${path}`, init),
    );
  return {
    ...opened,
    send,
    request: (method, path, { body, headers = auth }: TestRequest = {}) =>
      send(`/api/v1${path}`, {
        method,
        headers: { ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    async close() {
      await gateway.close();
      server.close();
      server.closeAllConnections();
      await opened.close();
    },
  };
}
