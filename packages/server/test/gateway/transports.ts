/** The same server behind two doors: Fastify over real HTTP, and the plain handler. */
import { createGateway } from "../../src/gateway/gateway.ts";
import type { ServerOptions } from "../../src/gateway/create-server.ts";
import type { StageParts } from "../runtime/turn-harness.ts";
import { type Asked, openServer, type TestServer, type Told, told } from "./test-server.ts";

export type DoorName = "fastify" | "fetch";

export interface DoorServer extends TestServer {
  /** @param path with what stands before it */
  send(path: string, init: RequestInit): Promise<Told>;
}

export async function openDoor(
  door: DoorName,
  given?: StageParts,
  options: Partial<ServerOptions> = {},
): Promise<DoorServer> {
  const opened = await openServer(given, options);
  const { parts, secrets, url, errors, auth } = opened;
  const onError = (error: unknown, about: string) => errors.push({ error, about });
  const gateway = createGateway({ ...parts, secrets, onError, ...options });
  const send = async (path: string, init: RequestInit) =>
    told(
      door === "fastify"
        ? await fetch(`${url}${path}`, init)
        : await gateway.handle(new Request(`http://gateway${path}`, init)),
    );
  return {
    ...opened,
    send,
    ask: (method, path, { body, headers = auth }: Asked = {}) =>
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
