/** A program of its own, to be killed: a worker on PostgreSQL and Redis that answers slowly. Never serves a page. */
import {
  createDbosEngine,
  createRedisLog,
  createRedisSignals,
  openDatabase,
  createPostgresStore,
  createWorker,
} from "@turnstream/server";
import { talker } from "../agents.ts";
import type { Places } from "../test-environment.ts";

export interface WorkerSettings extends Places {
  readonly name: string;
  readonly paceMs: number;
  readonly ttlMs: number;
}

const settings = JSON.parse(process.argv[2] ?? "{}") as WorkerSettings;
const { name, postgresUrl, redisUrl, prefix, paceMs, ttlMs } = settings;

process.on("disconnect", () => process.exit());
await createWorker({
  store: createPostgresStore(openDatabase({ url: postgresUrl, max: 6 })),
  log: await createRedisLog({ url: redisUrl, keyPrefix: prefix }),
  signals: createRedisSignals({ url: redisUrl, keyPrefix: prefix }),
  engine: (hooks) => createDbosEngine({ ...hooks, databaseUrl: postgresUrl, executor: name, poolSize: 4 }),
  agents: [talker(null, paceMs)],
  leaseTtlMs: ttlMs,
  onLeaseLost: () => process.exit(1),
});
process.send?.("ready");
