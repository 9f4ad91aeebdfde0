/**
 * `WorkerOptions` are the options of a worker, and `resolveOptions` validates them and fills in their defaults. Pure.
 *
 * Invariant: invalid options throw BAD_OPTIONS before the worker uses the store.
 */
import { z } from "zod";
import { UNARCHIVED_TTL_MS } from "../log/engine.ts";
import type { Log } from "../log/log.ts";
import { type FetchPolicy, fetchPolicy } from "../safe-fetch/policy.ts";
import { webhookOptions } from "../session/webhooks/webhook-options.ts";
import type { Signals } from "../signals/signals.ts";
import { MAX_DURATION_MS } from "../store/rules/arguments.ts";
import { AUDIT_PERIOD_MS } from "../store/audit.ts";
import type { Store } from "../store/store.ts";
import type { Env } from "../util/env.ts";
import type { ErrorHandler } from "../util/error-handler.ts";
import {
  func,
  integer,
  object,
  type OptionsInput,
  type OptionsOutput,
  parseOptions,
} from "../util/parse-options.ts";
import type { SecurityEventHandler } from "../util/security-event.ts";
import { MAX_TIMER_MS } from "../util/sleep.ts";
import type { Agent } from "../agent/define/agent.ts";
import { fileLimits } from "../agent/define/file-limits.ts";
import type { TurnObserver } from "../engine/turn/turn-observer.ts";
import type { WorkerFeature } from "./worker-feature.ts";
import { localeTag, stringCatalogs } from "../strings/catalogs.ts";

/** A `PeriodicTask` waits up to a quarter longer than its interval. */
const MAX_INTERVAL_MS = Math.floor(MAX_TIMER_MS / 1.25);
/** How much longer the executor waits than `shutdownGraceMs`, so that tools can stop first. */
export const HANDOVER_MS = 1_000;
const MAX_GRACE_MS = MAX_TIMER_MS - HANDOVER_MS;

export const workerShape = {
  /**
   * Stores sessions, turns and the journal: `createPostgresStore(db)`. In tests: `createMemoryStore()` of
   * `@turnstream/testing`.
   */
  store: object<Store>("what `createPostgresStore(openDatabase({ url }))` returns"),
  /**
   * Stores the newest events of each session, and streams them to gateways: `await createRedisLog({ url })`. In tests:
   * `createMemoryLog()`.
   */
  log: object<Log>("what `await createRedisLog({ url })` returns"),
  /**
   * Notifies workers about new messages, stop requests and decisions, so that they don't wait for their next poll:
   * `createRedisSignals({ url })`. In tests: `createMemorySignals()`.
   */
  signals: object<Signals>("what `createRedisSignals({ url })` returns"),
  /** The agents that answer messages. The first one answers messages that don't select an agent. */
  agents: z.custom<readonly Agent[]>(Array.isArray, "a list of agents"),
  /**
   * How long other workers wait before they take over the turns of a worker that stopped renewing its lease. Where the
   * database notices that a process has ended, they don't wait.
   * @default 15000
   */
  leaseTtlMs: integer(1, MAX_TIMER_MS).default(15_000),
  /**
   * Maximum turns that run at the same time in this process. Further turns stay queued for any worker that has their
   * agent. A tenant can't use the last tenth of the slots while it uses all others.
   * @default 100
   */
  maxConcurrentTurns: integer(1).default(100),
  /**
   * A turn that does nothing but wait for the user for this long leaves the worker, and uses no memory and no queries.
   * It continues when the user decides, in any worker.
   * @default 60000
   */
  parkAfterMs: integer(1, MAX_TIMER_MS).default(60_000),
  /**
   * Maximum model calls that run at the same time in this process. Further calls wait, and [tenants take
   * turns](agents.md#fairness). The body of a stream agent counts as one call.
   * @default 1000
   */
  maxConcurrentModelCalls: integer(1).default(1_000),
  /**
   * Maximum tool calls that run at the same time in this process. Further calls wait, and [tenants take
   * turns](agents.md#fairness). A call that waits for the user doesn't count.
   * @default 500
   */
  maxConcurrentToolCalls: integer(1).default(500),
  /** Which URLs from users and models the worker may fetch, see [files.md](files.md). @default public internet */
  fetchPolicy: fetchPolicy.optional(),
  /** Limits for reading the files of a message, see [files.md](files.md#options-of-the-worker). */
  fileLimits: fileLimits.prefault({}),
  /** [Features](features.md). Pass the same ones to the gateway. @default [] */
  features: z.custom<readonly WorkerFeature[]>(Array.isArray, "a list of features").default([]),
  /** How this worker sends [webhooks](webhooks.md#options-of-the-worker). */
  webhooks: webhookOptions.prefault({}),
  /** Replaces single [texts](agents.md#strings) for users, by language tag. @default built-in texts */
  strings: stringCatalogs.default({}),
  /** [Language](agents.md#languages) of texts for users if no message of the session has named one. @default "en" */
  defaultLocale: localeTag.default("en"),
  /**
   * Adds the message of a model provider to the error that users see, without keys. For developers:
   * [`turnstream()`](one-call.md) sets it unless `NODE_ENV` is `production`.
   * @default false
   */
  showsProviderErrors: z.boolean().default(false),
  /**
   * How long calls of non-idempotent tools may continue after `drainMs`. Then the worker aborts them, and their outcome
   * is unknown. It aborts idempotent calls immediately, because another worker can run them again.
   * @default 5000
   */
  shutdownGraceMs: integer(0, MAX_GRACE_MS).default(5_000),
  /**
   * How long running model steps and tools may continue after `shutdown()`. No others start. Each turn ends or moves to
   * another worker as soon as it has none left. `shutdown({ drainMs })` overrides it, and 0 aborts them at once.
   * [`turnstream()`](one-call.md) sets 0 unless `NODE_ENV` is `production`.
   * @default 30000
   */
  drainMs: integer(0, MAX_GRACE_MS).default(30_000),
  /**
   * An attempt at a turn starts when a worker starts the turn, restarts it after an error, or takes it over. If this
   * many attempts in a row add nothing to the turn's journal, the turn ends with an error.
   * @default 50
   */
  maxAttemptsWithoutProgress: integer(1).default(50),
  /**
   * How often the worker looks for new turns, stop requests and unpublished events (outbox rows), in case a signal was
   * lost. It also looks for overdue forms and due webhooks, and runs the frequent tasks of features.
   * @default 1000
   */
  pollIntervalMs: integer(1, MAX_INTERVAL_MS).default(1_000),
  /**
   * How often the worker deletes old database rows, finishes the erasure of sessions, and looks for queued turns that
   * must run alone.
   * @default 15000
   */
  maintenanceIntervalMs: integer(1, MAX_INTERVAL_MS).default(15_000),
  /**
   * How long the worker collects deltas of an answer before it writes them to the log. It writes the first one after a
   * pause immediately. The default writes at most 20 times per second and turn. A lower value makes answers smoother,
   * and costs more of Redis, workers and gateways. The turns of a worker write at common moments, so a delta waits up
   * to 10 ms more. From 0 to 1,000.
   * @default 50
   */
  deltaBatchMs: integer(0, 1_000).default(50),
  /**
   * How long the events of a turn stay in the log after it has ended. A client with an older cursor gets a snapshot. At
   * most a day.
   * @default 120000
   */
  trimLogAfterMs: integer(0, UNARCHIVED_TTL_MS).default(2 * 60 * 1_000),
  /**
   * How long Redis keeps the log of a session after its last turn. The next message restores it from PostgreSQL. At
   * most a day.
   * @default 900000
   */
  expireLogAfterMs: integer(1, UNARCHIVED_TTL_MS).default(15 * 60 * 1_000),
  /**
   * The worker erases sessions that were unused for this long, together with their pending interactions.
   * @default never
   */
  sessionRetentionMs: integer(0, MAX_DURATION_MS).nullable().default(null),
  /**
   * The worker drops [audit](audit.md#drop-old-entries) entries that are older, in spans of four weeks. The least is
   * four weeks.
   * @default never
   */
  auditRetentionMs: integer(AUDIT_PERIOD_MS, MAX_DURATION_MS).nullable().default(null),
  /**
   * The worker calls `(error, { during })` for every error that doesn't end the worker. If Redis is unreachable or
   * refuses writes, it calls the function once per outage. It also calls it if events of a session are lost. Errors can
   * contain output of tools and providers, so show them to operators only.
   * @default a process warning
   */
  onError: func<ErrorHandler>().optional(),
  /**
   * The worker calls it if it tried to write in a session that another worker has taken over, or if events of a session
   * are lost. [Security events](security-events.md) lists its fields.
   */
  onSecurityEvent: func<SecurityEventHandler>().optional(),
  /**
   * The worker calls `({ tenant, session, event, turn })` for every event that it writes, before the log has it, for
   * logs and metrics. It must be fast. After a crash, another worker may call it again for the same event.
   */
  onEvent: func<TurnObserver>().optional(),
  /**
   * The worker calls it when other workers have taken over its turns, or when it gave them up because it alone could
   * not reach Redis.
   */
  onLeaseLost: func<() => void>().optional(),
  /** Clock, ids and randomness, for tests. @default those of the system */
  env: object<Env>().optional(),
};

export interface WorkerOptions extends OptionsInput<typeof workerShape> {}
/** `fetchPolicy` has no defaults, so that a tool can tell which limits the operator has set. */
export interface ResolvedWorkerOptions extends Omit<OptionsOutput<typeof workerShape>, "fetchPolicy"> {
  readonly fetchPolicy: FetchPolicy;
}

const schema = z.strictObject(workerShape);

/** Fills in the defaults. Throws BAD_OPTIONS with the option, its value and what is expected. */
export function resolveOptions(options: WorkerOptions): ResolvedWorkerOptions {
  const resolved = parseOptions(schema, options, "the worker");
  return { ...resolved, fetchPolicy: options.fetchPolicy ?? {} };
}
