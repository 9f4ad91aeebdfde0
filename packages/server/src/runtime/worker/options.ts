/**
 * `resolveOptions` validates the options of a worker and fills in their defaults. Each option declares its default and
 * range once. Pure.
 *
 * Invariant: invalid options throw BAD_OPTIONS before the worker uses the store.
 */
import { UNARCHIVED_TTL_MS } from "../../log/engine.ts";
import type { Log } from "../../log/log.ts";
import { findPaymentOptionsProblem } from "../../payments/payment-options.ts";
import type { PaymentOptions } from "../../payments/provider.ts";
import type { FetchPolicy } from "../../safe-fetch/policy.ts";
import { DEFAULT_WEBHOOK_OPTIONS, type WebhookOptions } from "../../session/webhooks/webhook-options.ts";
import type { Signals } from "../../signals/signals.ts";
import { MAX_BATCH } from "../../store/ports/sessions.ts";
import { MAX_DURATION_MS } from "../../store/rules/arguments.ts";
import { AUDIT_PERIOD_MS } from "../../store/rules/audit-start.ts";
import type { Store } from "../../store/store.ts";
import type { Env } from "../../util/env.ts";
import type { ErrorHandler } from "../../util/error-handler.ts";
import type { SecurityEventHandler } from "../../util/security-event.ts";
import { MAX_TIMER_MS } from "../../util/sleep.ts";
import type { Agent } from "../define/agent.ts";
import {
  AMOUNT,
  assertInRange,
  assertKnownOptions,
  COUNT,
  type NumberRange,
  type OptionKeys,
  show,
  TIMER_MS,
} from "../define/check-options.ts";
import { DEFAULT_FILE_LIMITS, FILE_LIMIT_RANGES, type FileLimits } from "../define/file-limits.ts";
import type { TurnObserver } from "../define/turn-observer.ts";
import { RuntimeError } from "../errors.ts";
import { checkCatalogs, type CatalogOptions, type StringCatalogs } from "../strings/catalogs.ts";

export interface WorkerOptions {
  readonly store: Store;
  readonly log: Log;
  readonly signals: Signals;
  /** Agents by unique name. The first one answers messages that name no agent. */
  readonly agents: readonly Agent[];
  /**
   * How long other workers wait before they take over the turns of a worker that stopped renewing its lease.
   * Where the database notices that a process has ended, they don't wait.
   * @default 15000
   */
  readonly leaseTtlMs?: number;
  /**
   * How many turns run in this process at the same time. Further turns stay queued, for this worker or another one. A
   * tenant can't use the last tenth of the slots while it uses all others.
   * @default 100
   */
  readonly maxConcurrentTurns?: number;
  /**
   * A turn that does nothing but wait for a user for this long leaves the worker. It continues when the user decides, in
   * any worker.
   * @default 60000
   */
  readonly parkAfterMs?: number;
  /**
   * How many model calls run in this process at the same time. Further calls wait; tenants and their users take turns.
   * The body of a stream agent counts as one call.
   * @default 1000
   */
  readonly maxConcurrentModelCalls?: number;
  /**
   * How many tools run in this process at the same time. Further calls wait; tenants and their users take turns. A tool
   * that waits for a user doesn't count.
   * @default 500
   */
  readonly maxConcurrentToolCalls?: number;
  /** Which addresses of users and models may be fetched. Default: the public internet, within limits. */
  readonly fetchPolicy?: FetchPolicy;
  /** How much of the files of a message is read. Default: see `FileLimits`. */
  readonly fileLimits?: Partial<FileLimits>;
  /** Lets agents request payments. Pass the same object to the gateway. Default: agents can't request payments. */
  readonly payments?: PaymentOptions;
  /** How this worker sends webhooks. Default: see `WebhookOptions`. */
  readonly webhooks?: Partial<WebhookOptions>;
  /** Replaces single texts for users, by language. Default: the built-in texts in en, vi, zh-CN and zh-TW. */
  readonly strings?: StringCatalogs;
  /** The language of texts for users if neither the message nor an earlier one of the session names one. @default "en" */
  readonly defaultLocale?: string;
  /**
   * Adds the message of a model provider to the error that users see, without keys. For developers: the message can name
   * accounts, models and limits.
   * @default false
   */
  readonly showsProviderErrors?: boolean;
  /**
   * How long tools that are not idempotent may continue after `shutdown()`. After that their outcome is unknown. The
   * process needs a little longer than this between SIGTERM and its end.
   * @default 5000
   */
  readonly shutdownGraceMs?: number;
  /**
   * How long running steps and tools may continue after `shutdown()`, before the grace period. A step that ends in this
   * time is journaled, so no other worker asks its model again. 0 aborts them at once.
   * @default 30000
   */
  readonly drainMs?: number;
  /**
   * If this many attempts in a row add nothing to the journal of a turn, the turn ends with an error. An attempt starts
   * when a worker starts the turn, restarts it after an error, or takes it over.
   * @default 50
   */
  readonly maxAttemptsWithoutProgress?: number;
  /** How often the worker polls for turns, stops and outbox rows whose signal was lost. @default 1000 */
  readonly pollIntervalMs?: number;
  /** How often the worker prunes old rows and finishes erasures. @default 15000 */
  readonly maintenanceIntervalMs?: number;
  /**
   * How long deltas of an answer are collected before they are written to the log. The first one after a pause is
   * written immediately. 50 ms write at most 20 times per second and turn; less makes answers smoother, and costs more
   * of Redis, workers and gateways. The turns of a worker write at common moments, so a delta waits up to 10 ms more.
   * @default 50
   */
  readonly deltaBatchMs?: number;
  /**
   * How long the events of a turn stay in the log after it has ended, so that clients can resume there. Older cursors
   * get a snapshot.
   * @default 120000
   */
  readonly trimLogAfterMs?: number;
  /** How long the log of a session without a running turn stays in Redis. The next message restores it. @default 900000 */
  readonly expireLogAfterMs?: number;
  /** How long published outbox rows are stored. @default 3600000 */
  readonly outboxRetentionMs?: number;
  /**
   * Erases sessions that were not used for this long, including pending interactions. Default: sessions are never
   * erased.
   */
  readonly sessionRetentionMs?: number;
  /**
   * Drops audit entries that are older than this, in spans of four weeks. The least is four weeks. Default: they are never
   * dropped.
   */
  readonly auditRetentionMs?: number;
  /**
   * Called for errors that the worker survives, with the operation that failed. An error may contain output of a tool
   * or provider: show it to operators only. Default: `process.emitWarning`.
   */
  readonly onError?: ErrorHandler;
  /**
   * Called if this worker tried to write in a session that another worker has taken over. What it throws is passed to
   * `onError`. Default: ignored.
   */
  readonly onSecurityEvent?: SecurityEventHandler;
  /** Called for every event that this worker writes, before the log has it, for logs and metrics. It must be fast. */
  readonly onEvent?: TurnObserver;
  /** Called when the lease expired and other workers may own the turns. End the process, or create a new worker. */
  readonly onLeaseLost?: () => void;
  /** Clock, ids and randomness. Default: those of the system. */
  readonly env?: Env;
}

export const WORKER_OPTIONS: OptionKeys<WorkerOptions> = {
  store: true,
  log: true,
  signals: true,
  agents: true,
  leaseTtlMs: false,
  maxConcurrentTurns: false,
  parkAfterMs: false,
  maxConcurrentModelCalls: false,
  maxConcurrentToolCalls: false,
  fetchPolicy: false,
  fileLimits: false,
  payments: false,
  webhooks: false,
  strings: false,
  defaultLocale: false,
  showsProviderErrors: false,
  shutdownGraceMs: false,
  drainMs: false,
  maxAttemptsWithoutProgress: false,
  pollIntervalMs: false,
  maintenanceIntervalMs: false,
  deltaBatchMs: false,
  trimLogAfterMs: false,
  expireLogAfterMs: false,
  outboxRetentionMs: false,
  sessionRetentionMs: false,
  auditRetentionMs: false,
  onError: false,
  onSecurityEvent: false,
  onEvent: false,
  onLeaseLost: false,
  env: false,
};

const FETCH_POLICY: OptionKeys<FetchPolicy> = {
  allow: false,
  ports: false,
  maxBytes: false,
  timeoutMs: false,
  idleMs: false,
  maxRedirects: false,
  maxHeaderBytes: false,
  lookup: false,
  userAgent: false,
};

const FETCH_RANGES = {
  maxBytes: COUNT,
  timeoutMs: TIMER_MS,
  idleMs: TIMER_MS,
  maxRedirects: AMOUNT,
  maxHeaderBytes: COUNT,
} as const satisfies Partial<Record<keyof FetchPolicy, NumberRange>>;

/** The options of a type that are numbers. */
type NumberOptions<Options> = {
  [K in keyof Options]-?: Required<Options>[K] extends number ? K : never;
}[keyof Options];

/** A `PeriodicTask` waits up to a quarter longer than its interval. */
const INTERVAL_MS: NumberRange = [1, Math.floor(MAX_TIMER_MS / 1.25)];
/** How much longer the executor waits than `shutdownGraceMs`, so that tools can stop first. */
export const HANDOVER_MS = 1_000;
const GRACE_MS: NumberRange = [0, MAX_TIMER_MS - HANDOVER_MS];
/** The longest duration that the store supports. */
const RETENTION_MS: NumberRange = [0, MAX_DURATION_MS];

const WEBHOOK_RANGES = {
  maxAttempts: COUNT,
  initialRetryMs: [0, MAX_DURATION_MS],
  maxRetryMs: [0, MAX_DURATION_MS],
  timeoutMs: TIMER_MS,
  maxConcurrent: [1, MAX_BATCH],
  maxConcurrentPerEndpoint: [1, MAX_BATCH],
  retentionMs: RETENTION_MS,
} as const satisfies Record<NumberOptions<WebhookOptions>, NumberRange>;

const NUMBERS = {
  leaseTtlMs: { default: 15_000, range: TIMER_MS },
  maxConcurrentTurns: { default: 100, range: COUNT },
  parkAfterMs: { default: 60_000, range: TIMER_MS },
  maxConcurrentModelCalls: { default: 1_000, range: COUNT },
  maxConcurrentToolCalls: { default: 500, range: COUNT },
  shutdownGraceMs: { default: 5_000, range: GRACE_MS },
  drainMs: { default: 30_000, range: GRACE_MS },
  maxAttemptsWithoutProgress: { default: 50, range: COUNT },
  pollIntervalMs: { default: 1_000, range: INTERVAL_MS },
  maintenanceIntervalMs: { default: 15_000, range: INTERVAL_MS },
  deltaBatchMs: { default: 50, range: [0, 1_000] },
  trimLogAfterMs: { default: 2 * 60 * 1_000, range: [0, UNARCHIVED_TTL_MS] },
  expireLogAfterMs: { default: 15 * 60 * 1_000, range: [1, UNARCHIVED_TTL_MS] },
  outboxRetentionMs: { default: 60 * 60 * 1_000, range: RETENTION_MS },
  sessionRetentionMs: { default: null, range: RETENTION_MS },
  auditRetentionMs: { default: null, range: [AUDIT_PERIOD_MS, MAX_DURATION_MS] },
} as const satisfies Record<
  NumberOptions<WorkerOptions>,
  { readonly default: number | null; readonly range: NumberRange }
>;

type Numbers = {
  readonly [K in keyof typeof NUMBERS]: (typeof NUMBERS)[K]["default"] extends null ? number | null : number;
};

export type ResolvedWorkerOptions = Numbers & {
  readonly fetchPolicy: FetchPolicy;
  readonly fileLimits: FileLimits;
  readonly webhooks: WebhookOptions;
  readonly catalogs: CatalogOptions;
  readonly showsProviderErrors: boolean;
};

const PORTS = {
  store: "what `createPostgresStore(openDatabase({ url }))` returns",
  log: "what `await createRedisLog({ url })` returns",
  signals: "what `createRedisSignals({ url })` returns",
} as const;

/** Fills in the defaults. Throws BAD_OPTIONS with the option, its value and what is expected. */
export function resolveOptions(options: WorkerOptions): ResolvedWorkerOptions {
  const { fetchPolicy = {}, fileLimits = {}, webhooks = {}, strings = {}, defaultLocale = "en" } = options;
  assertKnownOptions(options, WORKER_OPTIONS, "the worker", "BAD_OPTIONS");
  checkPorts(options);
  const ranges = Object.fromEntries(Object.entries(NUMBERS).map(([name, { range }]) => [name, range]));
  assertInRange(options, ranges, "the worker", "BAD_OPTIONS");
  checkNested(fetchPolicy, "fetchPolicy", FETCH_POLICY, FETCH_RANGES);
  checkNested(fileLimits, "fileLimits", optionalKeys(FILE_LIMIT_RANGES), FILE_LIMIT_RANGES);
  checkNested(webhooks, "webhooks", optionalKeys(DEFAULT_WEBHOOK_OPTIONS), WEBHOOK_RANGES);
  if (!isObject(strings)) fail("strings", "an object", strings);
  checkCatalogs({ strings, defaultLocale });
  const problem = options.payments === undefined ? null : findPaymentOptionsProblem(options.payments);
  if (problem !== null) throw new RuntimeError("BAD_OPTIONS", `the worker: ${problem}`);
  return {
    ...(Object.fromEntries(
      Object.entries(NUMBERS).map(([name, number]) => [
        name,
        options[name as keyof typeof NUMBERS] ?? number.default,
      ]),
    ) as unknown as Numbers),
    fetchPolicy,
    fileLimits: { ...DEFAULT_FILE_LIMITS, ...fileLimits },
    webhooks: { ...DEFAULT_WEBHOOK_OPTIONS, ...webhooks },
    catalogs: { strings, defaultLocale },
    // Anything but `true` hides the messages, because they are not for users.
    showsProviderErrors: options.showsProviderErrors === true,
  };
}

/** Checks the ports at runtime, because a value from an environment may be missing in spite of its type. */
function checkPorts(options: WorkerOptions): void {
  for (const [name, expected] of Object.entries(PORTS)) {
    const port: unknown = options[name as keyof typeof PORTS];
    if (!isObject(port) || port instanceof Promise) fail(name, expected, port);
  }
  if (!Array.isArray(options.agents)) fail("agents", "a list of agents", options.agents);
  for (const name of ["onError", "onSecurityEvent", "onEvent", "onLeaseLost"] as const)
    if (options[name] !== undefined && typeof options[name] !== "function")
      fail(name, "a function", options[name]);
}

function checkNested(
  value: unknown,
  name: string,
  names: Readonly<Record<string, boolean>>,
  ranges: Readonly<Record<string, NumberRange>>,
): void {
  if (!isObject(value)) fail(name, "an object", value);
  const of = `\`${name}\` of the worker`;
  assertKnownOptions(value, names, of, "BAD_OPTIONS");
  assertInRange(value, ranges, of, "BAD_OPTIONS");
}

function optionalKeys(options: object): Record<string, boolean> {
  return Object.fromEntries(Object.keys(options).map((name) => [name, false]));
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function fail(name: string, expected: string, value: unknown): never {
  const got = value instanceof Promise ? "a promise" : show(value);
  throw new RuntimeError("BAD_OPTIONS", `\`${name}\` of the worker must be ${expected}, got ${got}`);
}
