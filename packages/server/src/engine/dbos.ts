/**
 * `createDbosEngine` runs jobs on PostgreSQL with DBOS. Each job is one workflow without steps, so DBOS stores only the
 * executor and the outcome of a job, and fences the outcome. A process can have only one DBOS, and so only one of these
 * engines. Queues, schedules and timeouts of DBOS are switched off: they are not used, and would query the database
 * several times a second. The engine never recovers jobs by itself; see `createExecutor`.
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
  /** The id of this executor. It must be new at every launch. */
  readonly executor?: string;
  readonly schema?: string;
  /** Maximum number of connections. A start, end or recovery uses one briefly; a running job uses none. */
  readonly poolSize?: number;
  readonly log?: EngineLog;
  readonly env?: Pick<Env, "id">;
}

const APPLICATION = "turnstream";
/** DBOS recovers only jobs of its own version. Jobs must continue after a deploy, so the version never changes. */
const VERSION = "1";
/** We count attempts ourselves. With a lower limit, DBOS would give up a job. */
const MAX_ATTEMPTS = 1_000_000;
const BATCH = 1_000;
const POOL_SIZE = 8;
/** A process that freezes inside a transaction locks the row of its job. A transaction takes only milliseconds. */
const IDLE_MS = 5_000;

/** Runs the jobs of this process. DBOS registers one function for all engines that a process creates over time. */
let host: { run(id: string): Promise<void> } | undefined;
let workflow: (() => Promise<void>) | undefined;

function registered(): () => Promise<void> {
  workflow ??= DBOS.registerWorkflow(async () => host?.run(DBOS.workflowID ?? "") ?? never(), {
    name: "turn",
    maxRecoveryAttempts: MAX_ATTEMPTS,
  });
  return workflow;
}

/** A workflow that never returns records no outcome. Its row stays unchanged, and another executor recovers it. */
function never(): Promise<never> {
  return new Promise(() => undefined);
}

export async function createDbosEngine(options: DbosEngineOptions): Promise<Engine> {
  const { env = systemEnv, schema = SCHEMA } = options;
  const { executor = env.id() } = options;
  if (host !== undefined || DBOS.isInitialized()) throw new EngineError("TAKEN", `executor ${executor}`);
  const turn = registered();
  // The job's code must run outside of the workflow context. Otherwise a start from it would be a child with steps.
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
  // The pool handles errors only of idle connections. The user of a connection gets the error from its next statement.
  pool.on("connect", (client) => client.on("error", () => undefined));
  const rows = new DbosRows(pool, schema, APPLICATION);
  const recovery = new DbosRecovery(executor, rows, jobs, env);

  host = {
    async run(id) {
      const outcome = await jobs.run(id, recovery.begun(id));
      if (outcome === "left") await never();
      // The error can contain content of the session, and DBOS would store it.
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
    handOver: (onBack, drainMs) => jobs.handOver(onBack, drainMs),
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

/** Stops queues, deadlines and schedules of DBOS, each of which queries the database every second. */
async function quiet(): Promise<void> {
  wfQueueRunner.stop();
  await DBOSExecutor.globalInstance?.stopWorkflowTimeoutSweep();
  for (const listener of getLifecycleListeners()) await listener.destroy?.();
}

/** Deletes everything that DBOS stores about these jobs. */
async function remove(find: (limit: number) => Promise<string[]>, most: number): Promise<number> {
  let count = 0;
  while (count < most) {
    const limit = Math.min(BATCH, most - count);
    const ids = await find(limit);
    // DBOS deletes outcomes before jobs. An outcome recorded in between is only found by the second pass.
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
