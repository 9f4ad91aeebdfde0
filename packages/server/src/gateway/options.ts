/** The options of a gateway: each is declared here, once, with its default and its validation. */
import type { ErrorHandler } from "../util/error-handler.ts";
import type { CommandBackend } from "../session/backend.ts";
import { DEFAULT_UPLOAD_LIMITS } from "../session/blobs/upload.ts";
import { MAX_PAGE } from "../store/ports/sessions.ts";
import type { Env } from "../util/env.ts";

export interface GatewayLimits {
  /** What may wait for one connection, in bytes, beyond what its transport holds. */
  readonly sendQueueBytes: number;
  /** A connection that has not drained for so long is closed. */
  readonly stallTimeoutMs: number;
  readonly pingIntervalMs: number;
  /** How long a ping may stay unanswered. */
  readonly pongTimeoutMs: number;
  readonly sseKeepAliveMs: number;
  /** How often each connection is looked at: what is due can be late by that much. */
  readonly heartbeatMs: number;
  /** A running turn that gives no event for so long ends its streams (S10). */
  readonly turnIdleTimeoutMs: number;
  readonly maxSubscriptionsPerSocket: number;
  /** Of a command over a socket, and of a JSON body. */
  readonly maxBodyBytes: number;
  /** Of one file, and of all files of a session. */
  readonly maxUploadBytes: number;
  readonly maxSessionUploadBytes: number;
  /** How long a socket may take to say who it is. */
  readonly ticketTtlMs: number;
  readonly tokenTtlMs: number;
  /** How many turns a fresh viewer gets at first. */
  readonly snapshotTurns: number;
  /** How often we look whose key was revoked. What was let in by it ends about that much later. */
  readonly revocationCheckMs: number;
}

export const DEFAULT_GATEWAY_LIMITS: GatewayLimits = {
  sendQueueBytes: 512 * 1024,
  stallTimeoutMs: 60_000,
  pingIntervalMs: 25_000,
  pongTimeoutMs: 10_000,
  sseKeepAliveMs: 15_000,
  heartbeatMs: 1_000,
  turnIdleTimeoutMs: 180_000,
  maxSubscriptionsPerSocket: 100,
  maxBodyBytes: 2 * 1024 * 1024,
  maxUploadBytes: DEFAULT_UPLOAD_LIMITS.bytes,
  maxSessionUploadBytes: DEFAULT_UPLOAD_LIMITS.sessionBytes,
  ticketTtlMs: 30_000,
  tokenTtlMs: 15 * 60_000,
  snapshotTurns: 20,
  revocationCheckMs: 4_000,
};

/** All proxies, those of these addresses or networks, or none. */
export type TrustProxy = boolean | string | readonly string[];

export interface GatewayOptions extends CommandBackend {
  /** They sign tokens, tickets, shares and addresses of blobs. The first signs, all are good. */
  readonly secrets: readonly [string, ...string[]];
  /** Where browsers reach this server, such as `https://chat.example.com`; addresses are relative without it. */
  readonly publicUrl?: string;
  /** Which pages may open sockets and read answers, as origins: `https://app.example.com`. Same-origin only when absent. */
  readonly allowedOrigins?: readonly string[];
  /** Whose word on where a client is (`x-forwarded-for`) is taken: the proxies before this server. None when absent. */
  readonly trustProxy?: TrustProxy;
  readonly limits?: Partial<GatewayLimits>;
  readonly env?: Env;
  readonly onError?: ErrorHandler;
}

type Range = readonly [min: number, max: number];

/** The connections are visited in so many slices of `heartbeatMs`; no timer is shorter than a millisecond. */
export const HEARTBEAT_SLICES = 20;

const COUNT: Range = [1, Number.MAX_SAFE_INTEGER];
/** What a timer of Node takes: with more, it would fire at once. */
const MS: Range = [1, 2 ** 31 - 1];
/** What one message of a socket can be held to. */
const BODY: Range = [1, 2 ** 31 - 1];

const RANGES: Readonly<Record<keyof GatewayLimits, Range>> = {
  sendQueueBytes: COUNT,
  stallTimeoutMs: MS,
  pingIntervalMs: MS,
  pongTimeoutMs: MS,
  sseKeepAliveMs: MS,
  heartbeatMs: [HEARTBEAT_SLICES, MS[1]],
  turnIdleTimeoutMs: MS,
  maxSubscriptionsPerSocket: COUNT,
  maxBodyBytes: BODY,
  maxUploadBytes: COUNT,
  maxSessionUploadBytes: COUNT,
  ticketTtlMs: MS,
  // Tokens count in seconds.
  tokenTtlMs: [1_000, MS[1]],
  // As many as the archive gives at once.
  snapshotTurns: [1, MAX_PAGE],
  revocationCheckMs: MS,
};

/** Throws a RangeError. */
function validateLimits(limits: Partial<GatewayLimits>): void {
  for (const [name, value] of Object.entries(limits)) {
    const range = Object.hasOwn(RANGES, name) ? RANGES[name as keyof GatewayLimits] : undefined;
    if (range === undefined)
      throw new RangeError(
        `limits.${name} is no limit of a gateway: there are ${Object.keys(RANGES).join(", ")}`,
      );
    const [min, max] = range;
    if (!Number.isSafeInteger(value) || value < min || value > max)
      throw new RangeError(`limits.${name} must be a whole number from ${min} to ${max}`);
  }
}

const MIN_SECRET_BYTES = 32;

const REQUIRED_OBJECTS = {
  store: "what `createPostgresStore(openDatabase({ url }))` gives",
  log: "what `await createRedisLog({ url })` gives",
  signals: "what `createRedisSignals({ url })` gives",
} as const;

/** Throws a TypeError or RangeError. What comes from an environment may be missing, whatever its type says. */
export function validateOptions(options: GatewayOptions): void {
  for (const [name, expected] of Object.entries(REQUIRED_OBJECTS)) {
    const value: unknown = options[name as keyof typeof REQUIRED_OBJECTS];
    if (typeof value !== "object" || value === null || value instanceof Promise)
      throw new TypeError(`\`${name}\` must be ${expected}.`);
  }
  validateSecrets(options.secrets);
  for (const origin of options.allowedOrigins ?? [])
    if (!isOrigin(origin))
      throw new RangeError(
        `\`allowedOrigins\` has ${JSON.stringify(origin)}, which no page can have: it must be as browsers send it, such as https://app.example.com, without a path and without a slash at its end.`,
      );
  validateLimits(options.limits ?? {});
}

function validateSecrets(secrets: unknown): void {
  const isList = Array.isArray(secrets) && secrets.length > 0;
  if (!isList || !secrets.every((secret) => typeof secret === "string"))
    throw new TypeError(
      `\`secrets\` must be a list of texts, each of at least ${MIN_SECRET_BYTES} bytes that nobody can guess.`,
    );
  if (secrets.some((secret) => Buffer.byteLength(secret) < MIN_SECRET_BYTES))
    throw new RangeError(
      `each of the secrets must have at least ${MIN_SECRET_BYTES} bytes that nobody can guess`,
    );
}

/** Apps have schemes of their own, which URL knows no origin for. `null` is what a page in a sandbox sends. */
function isOrigin(origin: unknown): boolean {
  if (typeof origin !== "string") return false;
  if (/^https?:/i.test(origin)) return URL.canParse(origin) && new URL(origin).origin === origin;
  return origin === "null" || /^[a-z][a-z0-9+.-]*:\/\/[^/?#\s]+$/.test(origin);
}
