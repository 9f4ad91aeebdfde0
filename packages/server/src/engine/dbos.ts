/**
 * The engine on PostgreSQL, by DBOS: one workflow per job, without any step, so that DBOS keeps only who runs what and
 * what has ended, and fences the outcome. DBOS is one per process, and so is this engine. Its queues, schedules and
 * timeouts are switched off: nothing here uses them, and they would ask the database several times a second.
 * Never recovers by itself; see createExecutor.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { DBOS } from "@dbos-inc/dbos-sdk";
import { DBOSExecutor } from "@dbos-inc/dbos-sdk/internal/dbos-executor";
import { getLifecycleListeners } from "@dbos-inc/dbos-sdk/internal/decorators";
import { isWorkflowIDInUseError } from "@dbos-inc/dbos-sdk/internal/error";
import { wfQueueRunner } from "@dbos-inc/dbos-sdk/internal/wfqueue";
import pg from "pg";
import { type Env, systemEnv } from "../util/env.ts";
import { type EngineLog, loggerTo } from "./dbos-log.ts";
import { LISTEN, SCHEMA } from "./dbos-migrate.ts";
import { DbosRows } from "./dbos-rows.ts";
import { DbosRecovery } from "./dbos-recovery.ts";
import type { Engine } from "./engine.ts";
import { EngineError } from "./errors.ts";
import { Jobs, type JobsOptions } from "./jobs.ts";

export interface DbosEngineOptions extends JobsOptions {
  readonly databaseUrl: string;
  /** A new one at every launch. */
  readonly executor?: string;
  readonly schema?: string;
  /** Connections at most. Each start, end and recovery holds one for a moment, a job that runs holds none. */
  readonly poolSize?: number;
  readonly log?: EngineLog;
  readonly env?: Pick<Env, "id">;
}

const APPLICATION = "turnstream";
/** DBOS recovers only jobs of its own version. Ours go on after a deploy, so it never changes. */
const VERSION = "1";
/** We count attempts ourselves; DBOS would give a job up. */
const MAX_ATTEMPTS = 1_000_000;
const BATCH = 1_000;
const POOL_SIZE = 8;
/** A process that is frozen in a transaction holds its job's row; its transactions take milliseconds. */
const IDLE_MS = 5_000;

/** Whoever runs the jobs of this process; DBOS calls one function for all engines that there ever were in it. */
let host: { run(id: string): Promise<void> } | undefined;
let workflow: (() => Promise<void>) | undefined;

function registered(): () => Promise<void> {
  workflow ??= DBOS.registerWorkflow(async () => host?.run(DBOS.workflowID ?? "") ?? never(), {
    name: "turn",
    maxRecoveryAttempts: MAX_ATTEMPTS,
  });
  return workflow;
}

/** A workflow that doesn't come back records no outcome: its row stays as it is, for others to recover. */
function never(): Promise<never> {
  return new Promise(() => undefined);
}

export async function createDbosEngine(options: DbosEngineOptions): Promise<Engine> {
  const { env = systemEnv, schema = SCHEMA } = options;
  const { executor = env.id() } = options;
  if (host !== undefined || DBOS.isInitialized()) throw new EngineError("TAKEN", `executor ${executor}`);
  const turn = registered();
  // Work must not see that it is in a workflow: a start from within it would be a child with steps.
  const outside = AsyncLocalStorage.snapshot();
  const jobs = new Jobs({ ...options, work: (job) => outside(() => options.work(job)) });
  const pool = new pg.Pool({
    connectionString: options.databaseUrl,
    max: options.poolSize ?? POOL_SIZE,
    application_name: `turnstream-engine-${executor}`,
    keepAlive: true,
    connectionTimeoutMillis: 5_000,
    idle_in_transaction_session_timeout: IDLE_MS,
  });
  // Without a listener, a connection that the server closes would end the process.
  pool.on("error", (error) => options.log?.("warn", `idle connection of the engine: ${error.message}`));
  // The pool listens only to idle ones. Who holds one learns of it from the next statement.
  pool.on("connect", (client) => client.on("error", () => undefined));
  const rows = new DbosRows(pool, schema, APPLICATION);
  const recovery = new DbosRecovery(executor, rows, jobs, env);

  host = {
    async run(id) {
      const outcome = await jobs.run(id, recovery.begun(id));
      if (outcome === "left") await never();
      // What it threw may hold content, and DBOS would keep it.
      if (outcome === "failed") throw new EngineError("FAILED", `job ${id}`);
    },
  };
  DBOS.setConfig({
    name: APPLICATION,
    applicationVersion: VERSION,
    executorID: executor,
    systemDatabaseUrl: options.databaseUrl,
    systemDatabasePool: pool,
    systemDatabaseSchemaName: schema,
    runMigrations: false,
    useListenNotify: LISTEN,
    logger: loggerTo(options.log),
  });

  async function shutdown(): Promise<void> {
    try {
      await DBOS.shutdown();
    } finally {
      host = undefined;
      await pool.end();
    }
  }

  try {
    await DBOS.launch();
    await quiet();
  } catch (error) {
    await shutdown();
    throw asEngineError(error, "launch");
  }

  let closed: Promise<void> | undefined;
  return {
    executor,
    get running() {
      return jobs.running;
    },
    start: (id) =>
      jobs.admit(`job ${id}`, async () => {
        const params = { workflowID: id, workflowIDReusePolicy: "reject" as const };
        try {
          await DBOS.startWorkflow(turn, params)();
          return true;
        } catch (error) {
          if (isWorkflowIDInUseError(error)) return false;
          throw asEngineError(error, `job ${id}`);
        }
      }),
    recover: (dead) =>
      jobs.admit(`executor ${dead}`, () => guarded(`executor ${dead}`, () => recovery.recover(dead))),
    executors: () => guarded("executors", () => rows.executors()),
    isRunning: (id) => guarded(`job ${id}`, () => rows.isRunning(id)),
    handOver: (onBack) => jobs.handOver(onBack),
    reassign: (ids, to) => guarded(`executor ${to}`, () => rows.give(ids, executor, to)),
    deleteJobs: (prefix) =>
      guarded("forget", async () => {
        const count = await remove((limit) => rows.beginningWith(prefix, limit), Infinity);
        jobs.abort(prefix);
        return count;
      }),
    prune: ({ olderThanMs, limit }) =>
      guarded("prune", () => remove((most) => rows.endedBefore(olderThanMs, most), limit)),
    close() {
      closed ??= jobs.handOver().then(shutdown);
      return closed;
    },
  };
}

/** Ends what DBOS does by itself: queues, deadlines and schedules, each of which it would ask for every second. */
async function quiet(): Promise<void> {
  wfQueueRunner.stop();
  await DBOSExecutor.globalInstance?.stopWorkflowTimeoutSweep();
  for (const listener of getLifecycleListeners()) await listener.destroy?.();
}

/** Deletes whatever DBOS keeps of these jobs. */
async function remove(find: (limit: number) => Promise<string[]>, most: number): Promise<number> {
  let count = 0;
  while (count < most) {
    const limit = Math.min(BATCH, most - count);
    const ids = await find(limit);
    // It deletes outcomes before their jobs: one that is recorded in between stays, and only the second time finds it.
    for (let times = ids.length > 0 ? 2 : 0; times > 0; times--) await DBOS.deleteWorkflows(ids);
    count += ids.length;
    if (ids.length < limit) break;
  }
  return count;
}

async function guarded<T>(what: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    throw asEngineError(error, what);
  }
}

function asEngineError(error: unknown, what: string): EngineError {
  if (error instanceof EngineError) return error;
  const outdated = error instanceof Error && error.message.includes("schema version");
  return new EngineError(outdated ? "NOT_MIGRATED" : "UNAVAILABLE", what, error);
}
