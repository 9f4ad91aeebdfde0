/**
 * A worker of its own, to be measured: PostgreSQL, Redis, DBOS and the agents of the bench. It tells what it weighs and
 * which statements it has sent when it is asked. Never sends a message and never measures anything by itself.
 */
import {
  createDbosEngine,
  createRedisLog,
  createRedisSignals,
  openDatabase,
  createPostgresStore,
  createWorker,
} from "@turnstream/server";
import { benchAgents } from "../turns-agents.ts";

export interface WorkerSettings {
  readonly databaseUrl: string;
  readonly redisUrl: string;
  readonly prefix: string;
  /** Whether to count statements, which costs a little. */
  readonly counts: boolean;
  /** Of its lease; what a worker has when absent. */
  readonly ttlMs?: number;
}

export interface Weight {
  readonly cpuMs: number;
  readonly rss: number;
  readonly heap: number;
  readonly running: number;
  readonly statements: Readonly<Record<string, number>>;
  readonly failures: readonly string[];
}

export type Order = { readonly weigh: "now" | "clean" } | { readonly leave: true };
export type Word = { readonly ready: true } | { readonly weight: Weight };

const SHOWN = 70;
const settings = JSON.parse(process.argv[2] ?? "") as WorkerSettings;
const statements: Record<string, number> = {};
const failures: string[] = [];

const { databaseUrl, redisUrl, prefix } = settings;
const db = openDatabase({
  url: databaseUrl,
  name: "bench-worker",
  ...(settings.counts ? { onQuery: ({ query }) => count(query.sql) } : {}),
});
// Of its own: in one pool with hundreds of turns that commit at a time, a renewal would come too late.
const leaseDb = openDatabase({ url: databaseUrl, max: 2, name: "bench-leases" });
const store = createPostgresStore(db, { leases: leaseDb });
const log = await createRedisLog({ url: redisUrl, keyPrefix: prefix });
const signals = createRedisSignals({ url: redisUrl, keyPrefix: prefix });
const worker = await createWorker({
  store,
  log,
  signals,
  engine: (hooks) => createDbosEngine({ ...hooks, databaseUrl }),
  agents: benchAgents(),
  maxConcurrentToolCalls: 1_000,
  ...(settings.ttlMs === undefined ? {} : { leaseTtlMs: settings.ttlMs }),
  onError: (error, about) => failures.push(`${about}: ${String(error)}`),
  onLeaseLost: () => {
    console.error("the worker has lost its lease");
    process.exit(1);
  },
});

function count(text: string): void {
  const name = text.replaceAll(/\s+/g, " ").trim().slice(0, SHOWN);
  statements[name] = (statements[name] ?? 0) + 1;
}

function tell(word: Word): void {
  if (process.connected) process.send?.(word);
}

function weigh(isClean: boolean): void {
  if (isClean) globalThis.gc?.();
  const { user, system } = process.cpuUsage();
  const { rss, heapUsed } = process.memoryUsage();
  const { running } = worker;
  tell({ weight: { cpuMs: (user + system) / 1000, rss, heap: heapUsed, running, statements, failures } });
}

async function leave(): Promise<void> {
  await worker.shutdown();
  await signals.close();
  await log.close();
  await store.close();
  await leaseDb.destroy();
  process.exit();
}

process.on("disconnect", () => process.exit());
process.on("message", (order: Order) => {
  if ("weigh" in order) weigh(order.weigh === "clean");
  else void leave();
});
tell({ ready: true });
