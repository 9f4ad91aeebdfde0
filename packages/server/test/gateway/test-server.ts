/**
 * `openServer` starts a gateway for tests as a real server on a free port, on memory or real backends. It creates a
 * tenant and a key, and a header names the user. Every suite that needs a gateway uses it.
 */
import type { ErrorContext } from "../../src/util/error-handler.ts";
import { randomBytes, randomUUID } from "node:crypto";
import type { Server, ServerOptions } from "../../src/gateway/create-server.ts";
import { createMemoryLog } from "../../src/log/memory.ts";
import { createMemorySignals } from "../../src/signals/memory.ts";
import { createMemoryStore } from "@turnstream/testing";
import { withFeatures } from "@turnstream/testkit/backend/test-features.ts";
import { mount } from "./mount.ts";
import type { Actor } from "../../src/util/refs.ts";
import type { HarnessBackend } from "../engine/turn-harness.ts";

export function createMemoryBackend(): HarnessBackend {
  return { log: createMemoryLog(), store: createMemoryStore(), signals: createMemorySignals() };
}

export interface TestRequest {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface TestResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Null if the body is not JSON. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests inspect arbitrary responses
  readonly json: any;
}

export interface TestServer {
  readonly server: Server;
  readonly url: string;
  readonly backend: HarnessBackend;
  readonly secrets: readonly [string, ...string[]];
  /** The default user of requests. */
  readonly actor: Actor;
  readonly key: { readonly id: string; readonly secret: string };
  /** The headers that authenticate the actor. */
  readonly auth: Readonly<Record<string, string>>;
  readonly errors: { error: unknown; during: string }[];
  /** @param path the path after `/api/v1` */
  request(method: string, path: string, request?: TestRequest): Promise<TestResponse>;
  /** Closes the server, and the backend unless the caller passed it. */
  close(): Promise<void>;
}

/** @param given the caller's own backend, which stays open; in memory by default */
export async function openServer(
  given?: HarnessBackend,
  options: Partial<ServerOptions> & { readonly actor?: Actor } = {},
): Promise<TestServer> {
  const parts = given ?? createMemoryBackend();
  const { actor = { tenant: `tenant-${randomUUID()}`, user: `user-${randomUUID()}` }, ...rest } = options;
  const features = withFeatures(rest.features);
  if ((await parts.store.tenants.get(actor.tenant)) === null)
    await parts.store.tenants.create({ id: actor.tenant, name: "Test" });
  const { key, secret } = await parts.store.keys.create(actor.tenant, { name: "test", scopes: [] });
  const secrets: [string, ...string[]] = [randomBytes(32).toString("hex")];
  const errors: { error: unknown; during: string }[] = [];
  const { store, log, signals } = parts;
  const onError = (error: unknown, { during }: ErrorContext) => errors.push({ error, during });
  const server = mount({ store, log, signals, secrets, onError, ...rest, features });
  const url = await server.listen();
  const auth = { "x-api-key": secret, "x-user-id": actor.user };
  return {
    server,
    url,
    backend: parts,
    secrets,
    actor,
    key: { id: key.id, secret },
    auth,
    errors,
    request: async (method, path, { body, headers = auth } = {}) =>
      readResponse(await fetch(`${url}/api/v1${path}`, { method, ...init(body, headers) })),
    async close() {
      await server.close();
      if (given !== undefined) return;
      await signals.close();
      await log.close();
      await store.close();
    },
  };
}

function init(body: unknown, headers: Readonly<Record<string, string>>): RequestInit {
  if (body === undefined) return { headers: { ...headers } };
  return { headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(body) };
}

export async function readResponse(response: Response): Promise<TestResponse> {
  const text = await response.text();
  const isJson = response.headers.get("content-type")?.startsWith("application/json") ?? false;
  const json: unknown = isJson && text !== "" ? JSON.parse(text) : null;
  return { status: response.status, headers: response.headers, text, json };
}
