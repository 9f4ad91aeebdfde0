/**
 * `GatewayOptions` declares the options of a gateway, `DEFAULT_GATEWAY_LIMITS` the defaults of its limits, and
 * `validateOptions` checks them.
 * Invariant: every limit has a default, a range in `RANGES`, and a row in docs/gateway.md, which a test compares.
 * Unknown limits, secrets below 32 bytes and malformed origins are refused at startup. Values can be missing despite
 * their types.
 */
import type { ErrorHandler } from "../util/error-handler.ts";
import { findPaymentOptionsProblem } from "../payments/payment-options.ts";
import type { PaymentOptions } from "../payments/provider.ts";
import type { CommandBackend } from "../session/backend.ts";
import { DEFAULT_UPLOAD_LIMITS } from "../session/blobs/upload.ts";
import { MAX_PAGE } from "../store/ports/sessions.ts";
import type { Env } from "../util/env.ts";
import type { SecurityEventHandler } from "../util/security-event.ts";
import type { SignIn } from "./auth/sign-in.ts";
import { TOKEN_SCOPES, type TokenOptions } from "./auth/tokens.ts";
import { type CallerLimitOptions, validateCallerLimits } from "./auth/limits/resolve-limits.ts";

export interface GatewayLimits {
  /**
   * Maximum bytes queued for one connection, besides its transport's buffer. At the limit, the subscription with the
   * largest backlog is dropped and resumes later.
   * @default 524_288
   */
  readonly sendQueueBytes: number;
  /**
   * Closes a connection whose full transport buffer does not become empty within this time, because its client reads
   * nothing or too slowly.
   * @default 60_000
   */
  readonly stallTimeoutMs: number;
  /** Pings a socket that has sent nothing for this long. @default 25_000 */
  readonly pingIntervalMs: number;
  /** Closes a socket that has not answered a ping for this long. @default 10_000 */
  readonly pongTimeoutMs: number;
  /** Sends a comment on an event stream that was idle for this long. @default 15_000 */
  readonly sseKeepAliveMs: number;
  /** How often each connection is checked. Pings and timeouts can be late by this much. @default 1_000 */
  readonly heartbeatMs: number;
  /** Ends the streams of a running turn that has written no event for this long. @default 180_000 */
  readonly turnIdleTimeoutMs: number;
  /** Maximum sessions per socket. Further ones fail with `RATE_LIMITED`. @default 100 */
  readonly maxSubscriptionsPerSocket: number;
  /**
   * Maximum size of a message and of a knowledge import, over a socket or as a JSON body. Larger ones are rejected.
   * @default 2_097_152
   */
  readonly maxBodyBytes: number;
  /** Maximum size of every other command and JSON body. Larger ones fail with `TOO_LARGE`. @default 65_536 */
  readonly maxCommandBytes: number;
  /**
   * How fast the gateway reads from one socket, after a burst of one message of `maxBodyBytes`. Above it, the gateway
   * stops reading from the socket until the average is reached.
   * @default 524_288
   */
  readonly socketBytesPerSecond: number;
  /** Maximum size of one uploaded file. @default 100_000_000 */
  readonly maxUploadBytes: number;
  /** Maximum size of all uploaded files of a session. @default 1_000_000_000 */
  readonly maxSessionUploadBytes: number;
  /** How long a ticket is valid: the socket must be opened within this time. @default 30_000 */
  readonly ticketTtlMs: number;
  /** How long a token is valid if the request names no duration. @default 900_000 */
  readonly tokenTtlMs: number;
  /** Refuses tokens whose whole or remaining life is longer. @default 604_800_000 (7 days) */
  readonly maxTokenTtlMs: number;
  /** Number of turns in the snapshot of a new subscription. @default 20 */
  readonly snapshotTurns: number;
  /**
   * How often the gateway looks for revoked keys and expired tokens. Their connections close up to this much later.
   * @default 4_000
   */
  readonly revocationCheckMs: number;
  /**
   * How long other gateways count the connections of a gateway that was killed. Each gateway renews its counts three
   * times in this time.
   * @default 30_000
   */
  readonly connectionLeaseMs: number;
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
  maxCommandBytes: 64 * 1024,
  socketBytesPerSecond: 512 * 1024,
  maxUploadBytes: DEFAULT_UPLOAD_LIMITS.bytes,
  maxSessionUploadBytes: DEFAULT_UPLOAD_LIMITS.sessionBytes,
  ticketTtlMs: 30_000,
  tokenTtlMs: 15 * 60_000,
  maxTokenTtlMs: 7 * 24 * 60 * 60_000,
  snapshotTurns: 20,
  revocationCheckMs: 4_000,
  connectionLeaseMs: 30_000,
};

/** True for all proxies, false for none, or the addresses or networks of trusted proxies. */
export type TrustProxy = boolean | string | readonly string[];

export interface GatewayOptions extends CommandBackend {
  /**
   * Secrets for tokens, tickets, shares and blob URLs. The first signs; all of them verify, so that secrets can be
   * rotated.
   */
  readonly secrets: readonly [string, ...string[]];
  /** Public base URL of this server, such as `https://chat.example.com`. @default none: URLs are relative */
  readonly publicUrl?: string;
  /**
   * Origins of pages that may open sockets and read responses, such as `https://app.example.com`.
   * @default [] (same origin only)
   */
  readonly allowedOrigins?: readonly string[];
  /** Which proxies may set the client address with `X-Forwarded-For`. @default false (use the socket's address) */
  readonly trustProxy?: TrustProxy;
  /**
   * The payment providers, the same as of the workers. The gateway serves the checkout pages and receives the
   * notifications of the providers.
   * @default none: no payment can be opened
   */
  readonly payments?: PaymentOptions;
  /**
   * Lets the app's pages request tokens for their signed-in user at `POST /api/v1/sign-in`.
   * @default none: the app creates tokens with `POST /api/v1/tokens` or `signToken`
   */
  readonly signIn?: SignIn;
  /** Which tokens the gateway issues and accepts. @default any issuer and audience, and all scopes of users */
  readonly tokens?: TokenOptions;
  readonly limits?: Partial<GatewayLimits>;
  /**
   * Limits on what each address, API key, user and tenant may use: requests, connections, turns, files, tokens, cost.
   * Beyond one, requests are refused with 429 or 413 and the time to wait.
   * @default the defaults of `LIMITS`
   */
  readonly callerLimits?: CallerLimitOptions;
  readonly env?: Env;
  /** Receives errors of the server, with the operation that failed. @default ignored */
  readonly onError?: ErrorHandler;
  /**
   * Called for refused sign-ins, foreign origins, floods and invalid signatures. It must be fast: a flood calls it for
   * each request. What it throws is passed to `onError`.
   * @default ignored
   */
  readonly onSecurityEvent?: SecurityEventHandler;
}

type Range = readonly [min: number, max: number];

/**
 * Each heartbeat interval visits the connections in this many slices. It is also the minimum of `heartbeatMs`, because
 * a slice can't be shorter than a millisecond.
 */
export const HEARTBEAT_SLICES = 20;

const COUNT: Range = [1, Number.MAX_SAFE_INTEGER];
/** The range of Node timers. A timer with a larger delay fires immediately. */
const MS: Range = [1, 2 ** 31 - 1];
/** The range that the WebSocket library accepts as the maximum message size. */
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
  maxCommandBytes: BODY,
  socketBytesPerSecond: COUNT,
  maxUploadBytes: COUNT,
  maxSessionUploadBytes: COUNT,
  ticketTtlMs: MS,
  // Tokens have a resolution of one second.
  tokenTtlMs: [1_000, MS[1]],
  maxTokenTtlMs: [1_000, Number.MAX_SAFE_INTEGER],
  // The archive returns at most this many turns per query.
  snapshotTurns: [1, MAX_PAGE],
  revocationCheckMs: MS,
  // Redis and timers need a moment for each renewal.
  connectionLeaseMs: [300, MS[1]],
};

/** @throws RangeError */
function validateLimits(limits: Partial<GatewayLimits>): void {
  for (const [name, value] of Object.entries(limits)) {
    const range = Object.hasOwn(RANGES, name) ? RANGES[name as keyof GatewayLimits] : undefined;
    if (range === undefined)
      throw new RangeError(
        `limits.${name} is not a limit of a gateway. Known limits are ${Object.keys(RANGES).join(", ")}`,
      );
    const [min, max] = range;
    if (!Number.isSafeInteger(value) || value < min || value > max)
      throw new RangeError(`limits.${name} must be a whole number from ${min} to ${max}`);
  }
  const { tokenTtlMs, maxTokenTtlMs } = { ...DEFAULT_GATEWAY_LIMITS, ...limits };
  if (tokenTtlMs > maxTokenTtlMs)
    throw new RangeError(
      `limits.tokenTtlMs must be at most limits.maxTokenTtlMs (${maxTokenTtlMs}), got ${tokenTtlMs}`,
    );
}

const MIN_SECRET_BYTES = 32;

const REQUIRED_OBJECTS = {
  store: "the result of `createPostgresStore(openDatabase({ url }))`",
  log: "the result of `await createRedisLog({ url })`",
  signals: "the result of `createRedisSignals({ url })`",
} as const;

/**
 * Values can be missing despite their types, for example if they come from environment variables.
 * @throws TypeError or RangeError
 */
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
        `\`allowedOrigins\` contains ${JSON.stringify(origin)}, which is not an origin. Expected the form that browsers send, such as https://app.example.com, without a path or trailing slash.`,
      );
  const problem = options.payments === undefined ? null : findPaymentOptionsProblem(options.payments);
  if (problem !== null) throw new RangeError(`${problem}.`);
  if (options.signIn !== undefined && typeof options.signIn.user !== "function")
    throw new TypeError("`signIn.user` must be a function that returns the id of a user, or null.");
  validateTokenOptions(options.tokens ?? {});
  validateLimits(options.limits ?? {});
  validateCallerLimits(options.callerLimits ?? {});
}

/** An empty list of scopes would allow everything: see `hasScope`. */
function validateTokenOptions({ issuer, audience, defaultScopes }: TokenOptions): void {
  for (const [name, value] of Object.entries({ issuer, audience }))
    if (value !== undefined && (typeof value !== "string" || value === ""))
      throw new TypeError(`\`tokens.${name}\` must be a text that is not empty.`);
  if (defaultScopes === undefined) return;
  const isList = Array.isArray(defaultScopes) && defaultScopes.length > 0;
  if (!isList || !defaultScopes.every((scope) => TOKEN_SCOPES.includes(scope)))
    throw new RangeError(
      `\`tokens.defaultScopes\` must be a list of at least one of ${TOKEN_SCOPES.join(", ")}.`,
    );
}

function validateSecrets(secrets: unknown): void {
  const isList = Array.isArray(secrets) && secrets.length > 0;
  if (!isList || !secrets.every((secret) => typeof secret === "string"))
    throw new TypeError(
      `\`secrets\` must be a list of strings, each with at least ${MIN_SECRET_BYTES} bytes of random data.`,
    );
  if (secrets.some((secret) => Buffer.byteLength(secret) < MIN_SECRET_BYTES))
    throw new RangeError(`each of the secrets must have at least ${MIN_SECRET_BYTES} bytes of random data`);
}

/** Accepts custom schemes of apps, for which `URL` has no origin. Pages in a sandbox send `null`. */
function isOrigin(origin: unknown): boolean {
  if (typeof origin !== "string") return false;
  if (/^https?:/i.test(origin)) return URL.canParse(origin) && new URL(origin).origin === origin;
  return origin === "null" || /^[a-z][a-z0-9+.-]*:\/\/[^/?#\s]+$/.test(origin);
}
