/**
 * This program is a measured server: one of the baseline servers, or the gateway. It reports its port, and its usage on
 * request.
 *
 * Invariant: this process does nothing else. Writers and clients run in other processes.
 */
import { type BaselineKind, openBaselineServer } from "../baseline-server.ts";
import { createServer } from "@turnstream/server";
import { openBackend } from "@turnstream/testkit/backend/open-backend.ts";
import { HIGH_LIMITS } from "@turnstream/testkit/gateway/high-limits.ts";
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
  /** The same, including pages that V8 retains for the next burst. */
  readonly grown: number;
  readonly heap: number;
}

export type ServerRequest = { readonly measure: "now" | "clean" } | { readonly exit: true };
export type ServerMessage = { readonly port: number } | { readonly usage: ServerUsage };

/** The clients of a bench don't answer pings, so the gateway must not wait for a pong. */
const NEVER_MS = 3_600_000;

const settings = readSettings() as MeasuredServerSettings;
const { kind, redisUrl, keyPrefix } = settings;
const parent = connectParent<ServerRequest, ServerMessage>();
const port = kind === "gateway" ? await openGateway() : await openBaselineServer(kind, redisUrl, keyPrefix);

/** Starts the gateway with production defaults on a real store and log. @returns its port */
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
    callerLimits: HIGH_LIMITS,
    onError: (error, { during }) => console.error(during, error),
  });
  return Number(new URL(await server.listen()).port);
}

/**
 * Reports the usage. "clean" first collects garbage, which would otherwise count. It then lets V8 release the pages
 * that it retains for the next burst, which V8 does by itself only some time after a process becomes idle.
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
