/**
 * A server of its own, to be measured: one of the bare loops, or the gateway. It tells where it listens, and what it has
 * used when it is asked. Nothing else happens in this process: who publishes and who looks are others.
 */
import { type BaselineKind, openBaselineServer } from "../baseline-server.ts";
import { createServer } from "@turnstream/server";
import { openBackend } from "@turnstream/testkit/backend/open-backend.ts";
import { connectParent, readSettings } from "@turnstream/testkit/processes/parent-process.ts";

export interface MeasuredServerSettings {
  readonly kind: BaselineKind | "gateway";
  readonly redisUrl: string;
  readonly databaseUrl: string;
  readonly keyPrefix: string;
  readonly secret: string;
}

export interface ServerUsage {
  readonly cpuMicros: number;
  readonly rss: number;
  /** The same with the pages that V8 keeps for the next burst. */
  readonly grown: number;
  readonly heap: number;
}

export type ServerRequest = { readonly measure: "now" | "clean" } | { readonly exit: true };
export type ServerMessage = { readonly port: number } | { readonly usage: ServerUsage };

/** The clients of a bench are too simple to answer a ping. */
const NEVER_MS = 3_600_000;

const settings = readSettings() as MeasuredServerSettings;
const { kind, redisUrl, keyPrefix } = settings;
const parent = connectParent<ServerRequest, ServerMessage>();
const port = kind === "gateway" ? await openGateway() : await openBaselineServer(kind, redisUrl, keyPrefix);

/** The gateway as teams run it, on the real store and the real log. @returns its port */
async function openGateway(): Promise<number> {
  const { databaseUrl, secret } = settings;
  const { store, log, signals } = await openBackend({
    databaseUrl,
    redisUrl,
    keyPrefix,
    name: "bench-gateway",
  });
  const server = createServer({
    store,
    log,
    signals,
    secrets: [secret],
    limits: { pingIntervalMs: NEVER_MS, pongTimeoutMs: NEVER_MS },
    onError: (error, { during }) => console.error(during, error),
  });
  return Number(new URL(await server.listen()).port);
}

/**
 * What is only waiting to be collected is nobody's: with "clean" it is collected before. Then pages that V8 keeps for the next
 * burst are given back, which it does by itself only some time after a process has come to rest.
 */
async function measure(isClean: boolean): Promise<void> {
  if (isClean) await collect({});
  const { rss: grown } = process.memoryUsage();
  if (isClean) await collect({ flavor: "last-resort" });
  const { user, system } = process.cpuUsage();
  const { rss, heapUsed } = process.memoryUsage();
  parent.send({ usage: { cpuMicros: user + system, rss, grown, heap: heapUsed } });
}

async function collect(how: { flavor?: "last-resort" }): Promise<void> {
  for (let times = 4; times > 0; times--) {
    globalThis.gc?.({ type: "major", execution: "sync", ...how });
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

parent.onMessage((request) => {
  if ("measure" in request) void measure(request.measure === "clean");
  else process.exit();
});
parent.send({ port });
