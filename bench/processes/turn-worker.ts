/**
 * This program is a measured worker with PostgreSQL, Redis and the agents of the bench. It reports its memory and
 * the statements that it has sent, on request. Does not send messages.
 */
import { createWorker, isLogError } from "@turnstream/server/internal";
import { FEATURES } from "@turnstream/testkit/backend/test-features.ts";
import { openBackend } from "@turnstream/testkit/backend/open-backend.ts";
import { connectParent, readSettings } from "@turnstream/testkit/processes/parent-process.ts";
import { benchAgents, providerAgent } from "../turns-agents.ts";
import type { ProviderAddress } from "./tls-provider.ts";

export interface WorkerSettings {
  readonly databaseUrl: string;
  readonly redisUrl: string;
  readonly keyPrefix: string;
  /** Whether to count statements, which costs a little. */
  readonly countsStatements: boolean;
  /** The duration of its lease. @default the worker's default */
  readonly ttlMs?: number;
  /** @default the worker's default */
  readonly maxConcurrentTurns?: number;
  /** @default the worker's default */
  readonly parkAfterMs?: number;
  /** Adds the agent `provider`, whose model is behind TLS. */
  readonly provider?: ProviderAddress;
}

export interface WorkerUsage {
  readonly cpuMs: number;
  readonly rss: number;
  readonly heap: number;
  readonly running: number;
  readonly statements: Readonly<Record<string, number>>;
  readonly failures: readonly string[];
}

export type WorkerRequest = { readonly measure: "now" | "clean" } | { readonly shutdown: true };
export type WorkerMessage = { readonly ready: true } | { readonly usage: WorkerUsage };

const SHOWN = 70;
const { countsStatements, ttlMs, maxConcurrentTurns, parkAfterMs, provider, ...urls } =
  readSettings() as WorkerSettings;
const parent = connectParent<WorkerRequest, WorkerMessage>();
const statements: Record<string, number> = {};
const failures: string[] = [];

const backend = await openBackend({
  ...urls,
  name: "bench-worker",
  database: countsStatements ? { onQuery: ({ query }) => count(query.sql) } : {},
  // In one pool with hundreds of committing turns, a renewal of the lease would come too late.
  hasLeasePool: true,
});
const { store, log, signals } = backend;
const worker = await createWorker({
  store,
  log,
  signals,
  agents: provider === undefined ? benchAgents() : [providerAgent(provider)],
  features: FEATURES,
  maxConcurrentToolCalls: 1_000,
  ...(ttlMs === undefined ? {} : { leaseTtlMs: ttlMs }),
  ...(maxConcurrentTurns === undefined ? {} : { maxConcurrentTurns }),
  ...(parkAfterMs === undefined ? {} : { parkAfterMs }),
  onError(error, { during }) {
    if (!isLogError(error, "NOT_DURABLE")) failures.push(`${during}: ${String(error)}`);
  },
  onLeaseLost: () => {
    console.error("the worker has lost its lease");
    process.exit(1);
  },
});

function count(text: string): void {
  const name = text.replaceAll(/\s+/g, " ").trim().slice(0, SHOWN);
  statements[name] = (statements[name] ?? 0) + 1;
}

function measure(isClean: boolean): void {
  if (isClean) globalThis.gc?.();
  const { user, system } = process.cpuUsage();
  const { rss, heapUsed } = process.memoryUsage();
  const { running } = worker;
  parent.send({
    usage: { cpuMs: (user + system) / 1000, rss, heap: heapUsed, running, statements, failures },
  });
}

async function shutDown(): Promise<void> {
  await worker.shutdown();
  await backend.close();
  process.exit();
}

parent.onMessage((request) => {
  if ("measure" in request) measure(request.measure === "clean");
  else void shutDown();
});
parent.send({ ready: true });
