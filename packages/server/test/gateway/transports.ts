/** Opens the same server behind two transports: Fastify over real HTTP, and the plain handler. */
import type { ErrorContext } from "../../src/util/error-handler.ts";
import { createGateway } from "../../src/gateway/gateway.ts";
import type { ServerOptions } from "../../src/gateway/create-server.ts";
import type { HarnessBackend } from "../runtime/turn-harness.ts";
import {
  type TestRequest,
  openServer,
  type TestServer,
  type TestResponse,
  readResponse,
} from "./test-server.ts";

export type TransportName = "fastify" | "fetch";

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
  const gateway = createGateway({ ...backend, secrets, onError, ...options });
  const send = async (path: string, init: RequestInit) =>
    readResponse(
      transport === "fastify"
        ? await fetch(`${url}${path}`, init)
        : await gateway.handle(new Request(`http://gateway${path}`, init)),
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
      await opened.close();
    },
  };
}
