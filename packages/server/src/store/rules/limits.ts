/**
 * `LIMITS` declares every limit on what callers may use, with its unit, its range and its default for each scope. The
 * other functions check and compare limits. Pure.
 *
 * Invariant: this table is the only list of limits. The options of the gateway, the HTTP API, the CLI and the table in
 * docs/limit-a-user.md derive from it, and a test compares the docs. Null means that there is no limit.
 */
import { StoreError } from "../errors.ts";
import { isId } from "../../util/names.ts";

/** Who or what a limit counts: a network address, an API key, a user, a tenant, or one gateway process. */
export const LIMIT_SCOPES = ["address", "key", "user", "tenant", "gateway"] as const;
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
    description: "Open sockets on all gateways.",
    defaults: { key: 20_000, user: 100, tenant: 20_000 },
  },
  streams: {
    unit: "streams",
    description: "Open event streams, and requests that wait for a whole answer, on all gateways.",
    defaults: { key: 20_000, user: 100, tenant: 20_000 },
  },
  subscriptions: {
    unit: "subscriptions",
    description: "Sessions to which open sockets are subscribed, on all gateways.",
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
    defaults: { user: 100, tenant: 5_000 },
  },
  queuedMessages: {
    unit: "messages",
    description: "Messages that wait for a turn.",
    defaults: { user: 1_000, tenant: 20_000 },
  },
  storedBytes: {
    unit: "bytes",
    description: "Uploaded files in all sessions. A file beyond the limit is refused with 413.",
    defaults: { user: 10 * GIGABYTE, tenant: 1_000 * GIGABYTE },
  },
  tokensPerDay: {
    unit: "tokens per day (UTC)",
    description: "Input and output tokens of ended turns. At the limit, no further turn starts.",
    defaults: { user: 50 * MILLION, tenant: 5_000 * MILLION },
  },
  tokensPerMonth: {
    unit: "tokens per month (UTC)",
    description: "The same for a calendar month.",
    defaults: { user: 500 * MILLION, tenant: 50_000 * MILLION },
  },
  costPerDay: {
    unit: "cost per day (UTC)",
    description:
      "Cost of ended turns, in the currency of the agents' `pricing`. At the limit, no further turn starts.",
    defaults: { user: null, tenant: null },
    isDecimal: true,
  },
  costPerMonth: {
    unit: "cost per month (UTC)",
    description: "The same for a calendar month.",
    defaults: { user: null, tenant: null },
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
export function findLimitProblem(scope: LimitScope, name: string, value: unknown): string | null {
  if (!hasLimit(scope, name)) {
    const known = limitNames(scope).map(toWireName).join(", ");
    return `${toWireName(name as LimitName)} is not a limit of a ${scope}. Known limits are ${known}`;
  }
  if (value === null) return null;
  const { isDecimal = false } = LIMITS[name] as LimitDeclaration;
  const isNumber =
    typeof value === "number" && (isDecimal ? Number.isFinite(value) : Number.isInteger(value));
  if (isNumber && value >= 0 && value <= MAX_LIMIT) return null;
  const expected = isDecimal ? "a number" : "a whole number";
  return `${toWireName(name)} must be ${expected} from 0 to 10^15, or null for no limit, got ${JSON.stringify(value)}`;
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

/** The lower of two limits. Undefined means that none was set, null that there is no limit. */
export function lowerLimit(
  one: number | null | undefined,
  other: number | null | undefined,
): number | null | undefined {
  if (one === undefined || one === null) return other === undefined ? one : other;
  return other === undefined || other === null ? one : Math.min(one, other);
}

/** What a user or a tenant has in use, in a transaction that adds something to it. */
export interface UseCounts {
  readonly queuedMessages: number;
  readonly runningTurns: number;
  readonly tokensPerDay: number;
  readonly tokensPerMonth: number;
  readonly costPerDay: number;
  readonly costPerMonth: number;
}

/** The limits that a new message or a retry has to respect. */
export type TurnLimits = Readonly<Record<keyof UseCounts, number | null>>;
const TURN_LIMITS = [
  "queuedMessages",
  "runningTurns",
  "tokensPerDay",
  "tokensPerMonth",
  "costPerDay",
  "costPerMonth",
] as const satisfies readonly (keyof UseCounts)[];

/** How long a client waits for a turn to end or a file to be deleted, because the server can't know it. */
const RETRY_COUNT_MS = 5_000;

/**
 * Returns the first limit that is exceeded.
 * @param counts include what the transaction adds. Tokens and cost of a turn are known only after it.
 */
export function findExceededTurnLimit(
  scope: "user" | "tenant",
  counts: UseCounts,
  limits: TurnLimits,
  now: number,
): ExceededLimit | null {
  for (const limit of TURN_LIMITS) {
    const [count, most] = [counts[limit], limits[limit]];
    if (most === null) continue;
    const isUsed = limit.startsWith("tokens") || limit.startsWith("cost");
    if (isUsed ? count >= most : count > most)
      return { limit, scope, retryAfterMs: retryAfterMs(limit, now) };
  }
  return null;
}

/** How long a client waits for files to be deleted. */
const RETRY_BYTES_MS = 3_600_000;

/** Returns the exceeded limit of stored bytes. @param bytes include what the transaction adds */
export function findExceededBytesLimit(
  bytes: { readonly user: number; readonly tenant: number },
  limits: { readonly user: number | null; readonly tenant: number | null },
): ExceededLimit | null {
  for (const scope of ["user", "tenant"] as const) {
    const most = limits[scope];
    if (most !== null && bytes[scope] > most)
      return { limit: "storedBytes", scope, retryAfterMs: RETRY_BYTES_MS };
  }
  return null;
}

function retryAfterMs(limit: keyof UseCounts, now: number): number {
  if (limit.endsWith("Day")) return startOfNextDay(now) - now;
  return limit.endsWith("Month") ? startOfNextMonth(now) - now : RETRY_COUNT_MS;
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
