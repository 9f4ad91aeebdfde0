/**
 * This program is the measured process of the fairness bench: a gateway and a worker with PostgreSQL and Redis.
 * It reports its URL, and on request the delay of its event loop and its CPU time.
 *
 * Invariant: this process does nothing else. The clients run in other processes.
 */
import { monitorEventLoopDelay } from "node:perf_hooks";
import { createServer, defineAgent, startWorker } from "@turnstream/server";
import { script, scriptedModel } from "@turnstream/server/testing";
import { FEATURES } from "@turnstream/testkit/backend/test-features.ts";
import { openBackend } from "@turnstream/testkit/backend/open-backend.ts";
import { connectParent, readSettings } from "@turnstream/testkit/processes/parent-process.ts";

export interface FairServerSettings {
  readonly databaseUrl: string;
  readonly redisUrl: string;
  readonly keyPrefix: string;
  readonly secret: string;
  /** The server of the slow files, as "host:port". */
  readonly slowFiles: string;
}

/** Since the previous report. */
export interface FairServerUsage {
  readonly loopDelayP99Ms: number;
  readonly cores: number;
  readonly errors: Readonly<Record<string, number>>;
}

export type FairServerRequest = { readonly measure: true } | { readonly exit: true };
export type FairServerMessage = { readonly url: string } | { readonly usage: FairServerUsage };

const DELTAS = 20;

const { secret, slowFiles, ...urls } = readSettings() as FairServerSettings;
const parent = connectParent<FairServerRequest, FairServerMessage>();
const { store, log, signals } = await openBackend({ ...urls, name: "bench", hasLeasePool: true });
let errors: Record<string, number> = {};
const onError = (error: unknown): void => {
  const name = error instanceof Error ? `${error.name}: ${error.message}`.slice(0, 100) : "unknown";
  errors[name] = (errors[name] ?? 0) + 1;
};
const model = scriptedModel(() => Array.from({ length: DELTAS }, (_, n) => script.text(`word ${n} `)));
await startWorker({
  store,
  log,
  signals,
  agents: [defineAgent({ name: "bench", model, title: false })],
  features: FEATURES,
  fetchPolicy: { allow: [slowFiles] },
  onError,
});
// Rate limits would refuse most of the flood. Without them, only the fair order protects the other tenant.
const unlimited = { requestsPerMinute: null, sockets: null, subscriptions: null, runningTurns: null };
const server = createServer({
  store,
  log,
  signals,
  secrets: [secret],
  callerLimits: { user: unlimited, tenant: unlimited },
  onError,
});
const delay = monitorEventLoopDelay({ resolution: 5 });
delay.enable();
let since = { at: performance.now(), cpu: process.cpuUsage() };

function measure(): void {
  const { user, system } = process.cpuUsage(since.cpu);
  const ms = performance.now() - since.at;
  const usage = {
    loopDelayP99Ms: delay.percentile(99) / 1e6,
    cores: (user + system) / 1_000 / ms,
    errors,
  };
  parent.send({ usage });
  delay.reset();
  errors = {};
  since = { at: performance.now(), cpu: process.cpuUsage() };
}

parent.onMessage((request) => {
  if ("measure" in request) measure();
  else process.exit();
});
parent.send({ url: await server.listen() });
