/**
 * A worker: takes up turns, keeps its lease, looks after what dead workers left, hears stops, and hands everything over
 * when it is asked to leave. Puts the parts together; what they do is in the rooms they come from.
 */
import type { Engine, JobHandler } from "../../engine/engine.ts";
import { createExecutor, type Executor } from "../../engine/executor.ts";
import type { Log } from "../../log/log.ts";
import { claimIdleSession } from "../../session/lifecycle/claim.ts";
import { eraseExpired, finishErasures } from "../../session/lifecycle/erase.ts";
import { relayOutbox } from "../../session/archive/relay-outbox.ts";
import type { Signals } from "../../signals/signals.ts";
import type { FetchPolicy } from "../../safe-fetch/policy.ts";
import { type Env, systemEnv } from "../../util/env.ts";
import { sleep } from "../../util/sleep.ts";
import type { SessionRef } from "../../store/refs.ts";
import type { Store } from "../../store/store.ts";
import type { Agent } from "../define/agent.ts";
import { TurnDispatcher } from "./dispatcher.ts";
import {
  DECISIONS_CHANNEL,
  decodeSessionRef,
  STOPS_CHANNEL,
  TURNS_CHANNEL,
} from "../../session/signal-channels.ts";
import { RuntimeError } from "../errors.ts";
import { DEFAULT_FILE_LIMITS, type FileLimits } from "../define/file-limits.ts";
import { jobPrefix, parseJobId } from "../attempt/job-id.ts";
import { DecisionWaiters } from "../interactions/decision-waiters.ts";
import type { RuntimeContext } from "../attempt/context.ts";
import { PeriodicTask } from "../../util/periodic-task.ts";
import { Semaphore } from "../../util/semaphore.ts";
import { ToolSources } from "../tool-calls/tool-sources.ts";
import { ActiveTurns } from "../turn/active-turns.ts";
import { runTurn } from "../turn/run-turn.ts";
import { DEFAULT_STRINGS, type RuntimeStrings } from "../strings.ts";

/** What an engine is made with; it is made by whoever knows which one is wanted. */
export interface EngineCallbacks {
  readonly work: JobHandler;
  readonly isFresh: () => boolean;
  readonly onError: (error: unknown, id: string) => void;
}

export interface WorkerOptions {
  readonly store: Store;
  readonly log: Log;
  readonly signals: Signals;
  readonly engine: (hooks: EngineCallbacks) => Engine | Promise<Engine>;
  /** The first one answers when a message doesn't say who should. */
  readonly agents: readonly Agent[];
  /** How long others wait before they take over what this worker left when it died. */
  readonly leaseTtlMs?: number;
  /** How many model calls, and how many tools, run at a time. Turns that wait for people don't count. */
  readonly maxConcurrentModelCalls?: number;
  readonly maxConcurrentToolCalls?: number;
  /** What may be fetched of what people and models name: the public internet, within bounds, when absent. */
  readonly fetchPolicy?: FetchPolicy;
  /** How much of the files of a message is read. */
  readonly fileLimits?: Partial<FileLimits>;
  readonly strings?: Partial<RuntimeStrings>;
  /**
   * How long tools that may not be run again can go on when the worker leaves; after that nobody knows whether they took
   * effect. The process needs a little longer than that between SIGTERM and its end.
   */
  readonly shutdownGraceMs?: number;
  /** How many attempts at a turn in a row may come to nothing, such as when it ends its process each time; 50 when absent. */
  readonly maxAttemptsWithoutProgress?: number;
  /** How often to look for what nobody told us of. */
  readonly pollIntervalMs?: number;
  /** How often to tidy up: what is old, what was erased, what a dead worker left in the engine. */
  readonly maintenanceIntervalMs?: number;
  /** How long the engine remembers turns that ended. */
  readonly jobRetentionMs?: number;
  /** Sessions that nobody has used for so long are erased, whatever waits in them; none when absent. */
  readonly sessionRetentionMs?: number;
  /**
   * Told of what should not have happened, with what it is about: a warning of the process when absent. What a tool or a
   * provider said may be in the error; treat it like a log that only operators read.
   */
  readonly onError?: (error: unknown, about: string) => void;
  /** The lease ran out: others may have this worker's turns. End the process, or make a new worker. */
  readonly onLeaseLost?: () => void;
  readonly env?: Env;
}

export interface Worker {
  readonly executor: string;
  /** How many turns run here. */
  readonly running: number;
  /** Hands over what runs, so that others have it at once, and ends. For SIGTERM. */
  shutdown(): Promise<void>;
}

const TTL_MS = 3_000;
const SWEEP_MS = 1_000;
const GRACE_MS = 5_000;
const UPKEEP_MS = 15_000;
const REMEMBER_MS = 60 * 60 * 1_000;
/** How long an upload may take, or be repeated. */
const UPLOAD_MS = 24 * 60 * 60 * 1_000;
const BATCH = 1_000;
const CLOSING_MS = 5_000;

export async function createWorker(options: WorkerOptions): Promise<Worker> {
  const { store, log, signals, env = systemEnv, leaseTtlMs = TTL_MS } = options;
  const onError = options.onError ?? warn;
  const [first] = options.agents;
  const names = new Set(options.agents.map(({ name }) => name));
  if (first === undefined || names.size < options.agents.length)
    throw new RuntimeError("NO_AGENTS", `a worker with the agents ${[...names].join(", ") || "(none)"}`);
  const here = new ActiveTurns();
  let executor: Executor | null = null;
  const isFresh = (): boolean => executor?.isFresh() ?? true;
  const engine = await options.engine({
    work: async (job) => {
      await runTurn(parts, here, job);
      const ref = parseJobId(job.id);
      if (ref !== null) dispatch.startNextInBackground(ref);
    },
    isFresh,
    onError: (error, id) => onError(error, `job ${id}`),
  });
  const files = { ...DEFAULT_FILE_LIMITS, ...options.fileLimits };
  const parts: RuntimeContext = {
    store,
    log,
    env,
    executor: engine.executor,
    agents: new Map(options.agents.map((agent) => [agent.name, agent])),
    defaultAgent: first.name,
    sources: new ToolSources(options.agents, { env, onError }),
    modelSlots: new Semaphore(options.maxConcurrentModelCalls ?? 1_000),
    toolSlots: new Semaphore(options.maxConcurrentToolCalls ?? 500),
    fetch: options.fetchPolicy ?? {},
    files,
    fileSlots: new Semaphore(files.maxParallelPerProcess),
    waiters: new DecisionWaiters(),
    words: { ...DEFAULT_STRINGS, ...options.strings },
    graceMs: options.shutdownGraceMs ?? GRACE_MS,
    maxAttempts: options.maxAttemptsWithoutProgress ?? 50,
    holdsLease: isFresh,
    confirmLease: async () => isFresh() && store.leases.renew(engine.executor, leaseTtlMs),
    onError,
  };
  const dispatch = new TurnDispatcher(parts, engine);
  const sweeps = new PeriodicTask(
    options.pollIntervalMs ?? SWEEP_MS,
    env,
    (error) => onError(error, "a sweep"),
    async () => {
      await stopAsked(parts, here);
      await dispatch.sweep();
      await relayOutbox(parts, { claim: (ref) => claimIfIdle(parts, ref) });
    },
  );
  const { jobRetentionMs = REMEMBER_MS, sessionRetentionMs } = options;
  const upkeep = new PeriodicTask(
    options.maintenanceIntervalMs ?? UPKEEP_MS,
    env,
    (error) => onError(error, "upkeep"),
    async () => {
      await engine.prune({ olderThanMs: jobRetentionMs, limit: BATCH });
      // What a process wrote at its very end may have come after its jobs were recovered; nobody has a lease for it then.
      for (const orphaned of await store.leases.unknown(await engine.executors()))
        await engine.recover(orphaned);
      await store.uploads.prune({ olderThanMs: UPLOAD_MS, limit: BATCH });
      await store.outbox.prune({ olderThanMs: jobRetentionMs, limit: BATCH });
      if (sessionRetentionMs !== undefined) await eraseExpired(parts, sessionRetentionMs);
      await finishErasures(parts, { forget: (session) => engine.deleteJobs(jobPrefix(session)) });
    },
  );
  executor = await createExecutor({
    engine,
    leases: store.leases,
    signals,
    ttlMs: leaseTtlMs,
    graceMs: parts.graceMs + 1_000,
    onLost: () => {
      sweeps.stop();
      upkeep.stop();
      options.onLeaseLost?.();
    },
    onError: (error) => onError(error, "the lease"),
  });
  const unlisten = [
    log.onOutage?.((error) => onError(error, "the log")) ?? (() => undefined),
    signals.listen(TURNS_CHANNEL, (text) => {
      const ref = decodeSessionRef(text);
      if (ref !== null) dispatch.startNextInBackground(ref);
    }),
    signals.listen(DECISIONS_CHANNEL, (text) => {
      const ref = decodeSessionRef(text);
      if (ref !== null) parts.waiters.wake(ref.session);
    }),
    signals.listen(STOPS_CHANNEL, (text) => {
      const ref = decodeSessionRef(text);
      if (ref === null || !here.has(ref.session)) return;
      stopOne(parts, here, ref).catch((error: unknown) => onError(error, "a stop"));
    }),
  ];
  sweeps.start();
  upkeep.start();
  return {
    executor: engine.executor,
    get running() {
      return engine.running;
    },
    async shutdown() {
      for (const stop of unlisten) stop();
      const begun = dispatch.close();
      sweeps.stop();
      upkeep.stop();
      await executor?.leave();
      // A database that is down would hold it up for ever, and what runs is handed over already.
      await Promise.race([
        Promise.all([begun, engine.close(), parts.sources.close()]),
        sleep(CLOSING_MS, { unref: true }),
      ]);
    },
  };
}

function warn(error: unknown, about: string): void {
  process.emitWarning(error instanceof Error ? (error.stack ?? error.message) : String(error), {
    detail: about,
  });
}

async function stopOne({ store }: RuntimeContext, here: ActiveTurns, ref: SessionRef): Promise<void> {
  const row = await store.running.get(ref);
  if (row !== null && row.stop !== null) here.stop(ref.session, row.turn, row.stop.by);
}

/** Stops whose signal was lost. */
async function stopAsked({ store }: RuntimeContext, here: ActiveTurns): Promise<void> {
  if (here.size === 0) return;
  for (const { session, turn, stop } of await store.running.stopping({ limit: BATCH }))
    here.stop(session, turn, stop?.by ?? null);
}

/** A log that was lost is made whole by the turn that runs; by us only when none does. */
async function claimIfIdle(parts: RuntimeContext, ref: SessionRef): Promise<void> {
  if ((await parts.store.running.get(ref)) === null) await claimIdleSession(parts, ref, parts.executor);
}
