/**
 * `LIMITS` declares every limit on what callers may use, with its unit, its range and its default for each scope. The
 * other functions check and compare limits. Pure.
 *
 * Invariant: this table is the only list of limits. The options of the gateway, the HTTP API, the CLI and the table in
 * docs/limit-a-user.md derive from it, and a test compares the docs. Null means that there is no limit.
 */
import { isId } from "../../util/names.ts";
import type { Actor } from "../../util/refs.ts";
import { StoreError } from "../errors.ts";

/** Who or what a limit counts: a network address, an API key, a user, a tenant, or one gateway process. */
const LIMIT_SCOPES = ["address", "key", "user", "tenant", "gateway"] as const;

export type LimitScope = (typeof LIMIT_SCOPES)[number];

interface LimitDeclaration {
  readonly unit: string;
  readonly description: string;
  /** The default of each scope that has the limit. */
  readonly defaults: Readonly<Partial<Record<LimitScope, number | null>>>;
  /** True if fractions are allowed. */
  readonly isDecimal?: boolean;
}

const GIGABYTE = 1_000_000_000;

const MILLION = 1_000_000;

export const LIMITS = {
  requestsPerMinute: {
    unit: "requests per minute",
    description:
      "HTTP requests, new sockets and commands on sockets. For an address: those without a valid sign-in.",
    defaults: { address: 3_000, key: 60_000, user: 3_000, tenant: 60_000 },
  },
  failedSignInsPerMinute: {
    unit: "failures per minute",
    description: "Requests whose key, token or ticket is refused.",
    defaults: { address: 100 },
  },
  sockets: {
    unit: "sockets",
    description: "Open sockets of one gateway process.",
    defaults: { key: 20_000, user: 100, tenant: 20_000 },
  },
  streams: {
    unit: "streams",
    description: "Open event streams, and requests that wait for a whole answer, of one gateway process.",
    defaults: { key: 20_000, user: 100, tenant: 20_000 },
  },
  subscriptions: {
    unit: "subscriptions",
    description: "Sessions to which open sockets of one gateway process are subscribed.",
    defaults: { key: 200_000, user: 2_000, tenant: 200_000 },
  },
  connections: {
    unit: "connections",
    description: "Open sockets and event streams of one gateway process.",
    defaults: { gateway: 20_000 },
  },
  runningTurns: {
    unit: "turns",
    description: "Sessions with a turn that runs or is about to start.",
    defaults: { key: null, user: 100, tenant: 5_000 },
  },
  queuedMessages: {
    unit: "messages",
    description: "Messages that wait for a turn.",
    defaults: { key: null, user: 1_000, tenant: 20_000 },
  },
  storedBytes: {
    unit: "bytes",
    description: "Uploaded files in all sessions. A file beyond the limit is refused with 413.",
    defaults: { key: null, user: 10 * GIGABYTE, tenant: 1_000 * GIGABYTE },
  },
  tokensPerDay: {
    unit: "tokens per day (UTC)",
    description:
      "Input and output tokens, counted after each model call. At the limit, no further call starts.",
    defaults: { key: null, user: 50 * MILLION, tenant: 5_000 * MILLION },
  },
  tokensPerMonth: {
    unit: "tokens per month (UTC)",
    description: "The same for a calendar month.",
    defaults: { key: null, user: 500 * MILLION, tenant: 50_000 * MILLION },
  },
  costPerDay: {
    unit: "cost per day (UTC)",
    description:
      "Cost of model calls, in the currency of the agents' `pricing`. At the limit, no further call starts.",
    defaults: { key: null, user: null, tenant: null },
    isDecimal: true,
  },
  costPerMonth: {
    unit: "cost per month (UTC)",
    description: "The same for a calendar month.",
    defaults: { key: null, user: null, tenant: null },
    isDecimal: true,
  },
} as const satisfies Record<string, LimitDeclaration>;

export type LimitName = keyof typeof LIMITS;

export const LIMIT_NAMES = Object.keys(LIMITS) as readonly LimitName[];

/** The limits of a scope. */
export type LimitNameOf<Scope extends LimitScope> = {
  [Name in LimitName]: Scope extends keyof (typeof LIMITS)[Name]["defaults"] ? Name : never;
}[LimitName];

/** Values by name. Null removes a limit; a missing one keeps its default. */
export type LimitValues<Scope extends LimitScope = LimitScope> = Readonly<
  Partial<Record<LimitNameOf<Scope>, number | null>>
>;

/** A limit that a request exceeds. */
export interface ExceededLimit {
  readonly limit: LimitName;
  readonly scope: LimitScope;
  /** How long until a repeat can succeed. For counts of open things this is an estimate. */
  readonly retryAfterMs: number;
}

export function hasLimit(scope: LimitScope, name: string): name is LimitName {
  return Object.hasOwn(LIMITS, name) && Object.hasOwn(LIMITS[name as LimitName].defaults, scope);
}

/** Returns the names of a scope's limits. */
export function limitNames<Scope extends LimitScope>(scope: Scope): LimitNameOf<Scope>[] {
  return LIMIT_NAMES.filter((name) => hasLimit(scope, name)) as LimitNameOf<Scope>[];
}

/** Returns the default, or null if the scope has no such limit by default. */
export function defaultLimit(scope: LimitScope, name: LimitName): number | null {
  return (LIMITS[name] as LimitDeclaration).defaults[scope] ?? null;
}

/** Returns the name as clients and the CLI write it: `requests_per_minute`. */
export function toWireName(name: LimitName): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

const BY_WIRE_NAME = new Map(LIMIT_NAMES.map((name) => [toWireName(name), name]));

export function fromWireName(name: string): LimitName | null {
  return BY_WIRE_NAME.get(name) ?? null;
}

/** The largest value. Every smaller count is an exact number. */
export const MAX_LIMIT = 1e15;

/** Returns why the value is not allowed, or null. */
function findLimitProblem(scope: LimitScope, name: string, value: unknown): string | null {
  if (!hasLimit(scope, name)) {
    const known = limitNames(scope).map(toWireName).join(", ");
    return `${toWireName(name as LimitName)} is not a limit of a ${scope}. Known limits are ${known}`;
  }
  if (isLimitValue(name, value)) return null;
  return `${toWireName(name)} must be ${expectedLimit(name)}, or null for no limit, got ${JSON.stringify(value)}`;
}

export function isLimitValue(name: LimitName, value: unknown): boolean {
  if (value === null) return true;
  const isNumber =
    typeof value === "number" && (isDecimal(name) ? Number.isFinite(value) : Number.isInteger(value));
  return isNumber && value >= 0 && value <= MAX_LIMIT;
}

/** Describes the values of a limit, for error messages. */
export function expectedLimit(name: LimitName): string {
  return `${isDecimal(name) ? "a number" : "a whole number"} from 0 to 10^15`;
}

function isDecimal(name: LimitName): boolean {
  return (LIMITS[name] as LimitDeclaration).isDecimal ?? false;
}

/** @throws StoreError INVALID */
export function checkLimitValues(scope: "tenant" | "user", values: LimitValues): void {
  for (const [name, value] of Object.entries(values)) {
    const problem = findLimitProblem(scope, name, value);
    if (problem !== null) throw new StoreError("INVALID", problem);
  }
}

/** Whose limits are stored: those of the tenant as a whole, of each of its users (null), or of one user. */
export type LimitTarget =
  | { readonly scope: "tenant" }
  | { readonly scope: "user"; readonly user: string | null };

/** @throws StoreError INVALID */
export function checkLimitTarget(target: LimitTarget): void {
  if (target.scope === "user" && target.user !== null && !isId(target.user))
    throw new StoreError("INVALID", "user must have 1 to 256 characters");
}

/** The scopes whose use the store counts. They are compared and locked in this order. */
const USE_SCOPES = ["user", "key", "tenant"] as const;

export type UseScope = (typeof USE_SCOPES)[number];

/** Who uses something: the owner of the session, and the API key behind the request, or null. */
export interface UseOwner extends Actor {
  readonly apiKey: string | null;
}

/** A value for the user, the API key and the tenant. */
export type ByUseScope<Value> = Readonly<Record<UseScope, Value>>;

/** Returns the first result of a scope that is not null. An owner without an API key has no such scope. */
export function findInScopes<Result>(
  { apiKey }: UseOwner,
  find: (scope: UseScope) => Result | null,
): Result | null {
  for (const scope of USE_SCOPES) {
    const found = scope === "key" && apiKey === null ? null : find(scope);
    if (found !== null) return found;
  }
  return null;
}

const USAGE_LIMITS = ["tokensPerDay", "tokensPerMonth", "costPerDay", "costPerMonth"] as const;

const TURN_LIMITS = ["queuedMessages", "runningTurns", ...USAGE_LIMITS] as const;

/** The limits that each model call of a turn has to respect. */
export type UsageLimits = Readonly<Record<(typeof USAGE_LIMITS)[number], number | null>>;

/** The limits that a new message or a retry has to respect. */
export type TurnLimits = Readonly<Record<(typeof TURN_LIMITS)[number], number | null>>;

/** Tokens and cost of a user, a key or a tenant today and in this month. */
export type UsageCounts = Readonly<Record<keyof UsageLimits, number>>;

/** What a user, a key or a tenant has in use, in a transaction that adds something to it. */
export type UseCounts = Readonly<Record<keyof TurnLimits, number>>;

/** How long a client waits for a turn to end or a file to be deleted, because the server can't know it. */
const RETRY_COUNT_MS = 5_000;

/**
 * Returns the first limit that is exceeded.
 * @param counts include what the transaction adds. Tokens and cost of a model call are known only after it.
 */
export function findExceededTurnLimit(
  scope: UseScope,
  counts: UseCounts,
  limits: TurnLimits,
  now: number,
): ExceededLimit | null {
  for (const limit of ["queuedMessages", "runningTurns"] as const) {
    const most = limits[limit];
    if (most !== null && counts[limit] > most) return { limit, scope, retryAfterMs: RETRY_COUNT_MS };
  }
  return findExceededUsageLimit(scope, counts, limits, now);
}

/** Returns the first limit that is reached, so that no further model call may start. */
export function findExceededUsageLimit(
  scope: UseScope,
  counts: UsageCounts,
  limits: UsageLimits,
  now: number,
): ExceededLimit | null {
  for (const limit of USAGE_LIMITS) {
    const most = limits[limit];
    if (most === null || counts[limit] < most) continue;
    const end = limit.endsWith("Day") ? startOfNextDay(now) : startOfNextMonth(now);
    return { limit, scope, retryAfterMs: end - now };
  }
  return null;
}

/** True if one of the limits is set, so that tokens and cost have to be counted. */
export function hasUsageLimit(limits: UsageLimits): boolean {
  return USAGE_LIMITS.some((name) => limits[name] !== null);
}

/** How long a client waits for files to be deleted. */
const RETRY_BYTES_MS = 3_600_000;

/** Returns the exceeded limit of stored bytes. @param bytes include what the transaction adds */
export function findExceededBytesLimit(
  owner: UseOwner,
  bytes: ByUseScope<number>,
  limits: ByUseScope<number | null>,
): ExceededLimit | null {
  return findInScopes(owner, (scope) => {
    const most = limits[scope];
    if (most === null || bytes[scope] <= most) return null;
    return { limit: "storedBytes", scope, retryAfterMs: RETRY_BYTES_MS };
  });
}

function startOfNextDay(now: number): number {
  const date = new Date(now);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate() + 1);
}

function startOfNextMonth(now: number): number {
  const date = new Date(now);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
}

/** Costs are stored as whole millionths, so that sums are exact. */
export const COST_UNIT = 1_000_000;

/**
 * True if a count can be compared without a lock: it is far below the limit, and a database has fewer connections than
 * are missing to the limit.
 */
export function isFarBelow(count: number, limit: number | null): boolean {
  return limit === null || (limit >= 2_000 && count < limit / 2);
}

/**
 * Who set a limit: `operator` with the CLI or code that has the store, `admin` with an API key of the tenant. At the
 * same level the lower one applies, so that a tenant can't raise its own limits.
 */
export const LIMIT_SOURCES = ["operator", "admin"] as const;

export type LimitSource = (typeof LIMIT_SOURCES)[number];
