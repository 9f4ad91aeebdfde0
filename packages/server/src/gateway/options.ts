/**
 * `GatewayOptions` are the options of a gateway, and `resolveOptions` validates them and fills in their defaults.
 * Invariant: unknown limits, secrets below 32 bytes and malformed origins are refused at startup. Values can be missing
 * despite their types, for example if they come from environment variables.
 */
import { z } from "zod";
import type { Log } from "../log/log.ts";
import type { HistoryLoss } from "../session/backend.ts";
import { DEFAULT_UPLOAD_LIMITS } from "../session/blobs/upload.ts";
import type { Signals } from "../signals/signals.ts";
import { MAX_PAGE } from "../store/rules/arguments.ts";
import type { Store } from "../store/store.ts";
import { type Env, systemEnv } from "../util/env.ts";
import type { ErrorHandler } from "../util/error-handler.ts";
import {
  func,
  integer,
  object,
  type OptionsInput,
  type OptionsOutput,
  parseOptions,
  SECRET,
} from "../util/parse-options.ts";
import { OptionsError } from "../util/options-error.ts";
import type { SecurityEventHandler } from "../util/security-event.ts";
import { MAX_TIMER_MS } from "../util/sleep.ts";
import { callerLimits } from "./auth/limits/resolve-limits.ts";
import { signInOptions } from "./auth/sign-in.ts";
import { TOKEN_SCOPES, tokenOptions } from "./auth/tokens.ts";
import type { GatewayFeature } from "./feature.ts";

/**
 * Each heartbeat interval visits the connections in this many slices. It is also the minimum of `heartbeatMs`, because
 * a slice can't be shorter than a millisecond.
 */
export const HEARTBEAT_SLICES = 20;
/** The range that the WebSocket library accepts as the maximum message size. */
const MAX_BODY_BYTES = 2 ** 31 - 1;
const MIN_SECRET_BYTES = 32;

const limitShape = {
  /**
   * Closes a connection whose full buffer doesn't become empty within this time, because its
   * [client](gateway.md#slow-clients) reads nothing or too slowly.
   * @default 60000
   */
  stallTimeoutMs: integer(1, MAX_TIMER_MS).default(60_000),
  /** Pings a socket whose client has sent nothing for this long. @default 25000 */
  pingIntervalMs: integer(1, MAX_TIMER_MS).default(25_000),
  /** Closes a socket whose client doesn't answer a ping within this time. @default 10000 */
  pongTimeoutMs: integer(1, MAX_TIMER_MS).default(10_000),
  /** Sends a comment as a keep-alive on an event stream that carried nothing for this long. @default 15000 */
  sseKeepAliveMs: integer(1, MAX_TIMER_MS).default(15_000),
  /** How often the gateway checks each connection. Pings and timeouts can be late by this much. @default 1000 */
  heartbeatMs: integer(HEARTBEAT_SLICES, MAX_TIMER_MS).default(1_000),
  /**
   * If a running turn produces no event for this long, the gateway ends the event streams of its session. The turn
   * continues.
   * @default 180000
   */
  turnIdleTimeoutMs: integer(1, MAX_TIMER_MS).default(180_000),
  /** Sessions that one socket can subscribe to. Further subscriptions fail with `RATE_LIMITED`. @default 100 */
  maxSubscriptionsPerSocket: integer(1).default(100),
  /** Maximum size of a message and of a knowledge import, over a socket or as a JSON body. @default 2097152 */
  maxBodyBytes: integer(1, MAX_BODY_BYTES).default(2 * 1024 * 1024),
  /**
   * How fast the gateway reads from one socket, after a burst of one message of `maxBodyBytes`. Above it, the gateway
   * [stops reading](gateway.md#commands-on-a-socket) for a while.
   * @default 524288
   */
  socketBytesPerSecond: integer(1).default(512 * 1024),
  /** Maximum size of one uploaded file. @default 100000000 */
  maxUploadBytes: integer(1).default(DEFAULT_UPLOAD_LIMITS.bytes),
  /** Maximum size of all uploaded files of a session together. @default 1000000000 */
  maxSessionUploadBytes: integer(1).default(DEFAULT_UPLOAD_LIMITS.sessionBytes),
  /**
   * The longest life of a [token](gateway.md#tokens-and-tickets). The gateway refuses tokens that are valid for longer,
   * also those that your app signs.
   * @default 604800000
   */
  maxTokenTtlMs: integer(1_000).default(7 * 24 * 60 * 60_000),
  /** How many of the newest turns a new subscriber receives. Clients load older turns over HTTP. @default 20 */
  snapshotTurns: integer(1, MAX_PAGE).default(20),
  /** How often the gateway looks for revoked keys and expired tokens. @default 4000 */
  revocationCheckMs: integer(1, MAX_TIMER_MS).default(4_000),
  /**
   * How long other gateways count the connections of a gateway that was killed. Each gateway renews its counts three
   * times in this time.
   * @default 30000
   */
  connectionLeaseMs: integer(300, MAX_TIMER_MS).default(30_000),
};

interface GatewayLimitOptions extends OptionsInput<typeof limitShape> {}

/** Maximum size of every command and JSON body but a message and a knowledge import. */
export const MAX_COMMAND_BYTES = 64 * 1024;

export interface GatewayLimits extends OptionsOutput<typeof limitShape> {}

const gatewayLimits: z.ZodType<GatewayLimits, GatewayLimitOptions> = z.strictObject(limitShape);

export const DEFAULT_GATEWAY_LIMITS: GatewayLimits = gatewayLimits.parse({});

/** True for all proxies, false for none, or the addresses or networks of trusted proxies. */
export type TrustProxy = boolean | string | readonly string[];

const secrets = z.custom<readonly [string, ...string[]]>(
  (list) => Array.isArray(list) && list.length > 0 && list.every(isSecret),
  {
    message: `a list of strings, each with at least ${MIN_SECRET_BYTES} bytes of random data`,
    params: SECRET,
  },
);

function isSecret(value: unknown): boolean {
  return typeof value === "string" && Buffer.byteLength(value) >= MIN_SECRET_BYTES;
}

const webOrigin = z
  .string()
  .refine(
    isOrigin,
    "an origin in the form that browsers send, such as https://app.example.com, without a path or trailing slash",
  );

/** Accepts custom schemes of apps, for which `URL` has no origin. Pages in a sandbox send `null`. */
function isOrigin(origin: unknown): boolean {
  if (typeof origin !== "string") return false;
  if (/^https?:/i.test(origin)) return URL.canParse(origin) && new URL(origin).origin === origin;
  return origin === "null" || /^[a-z][a-z0-9+.-]*:\/\/[^/?#\s]+$/.test(origin);
}

const ignore = (): void => undefined;

export const gatewayShape = {
  /** Access to PostgreSQL: `createPostgresStore(openDatabase({ url }))`. */
  store: object<Store>("what `createPostgresStore(openDatabase({ url }))` returns"),
  /** Access to the logs in Redis: `await createRedisLog({ url })`. */
  log: object<Log>("what `await createRedisLog({ url })` returns"),
  /** Notifies workers about new messages, stop requests and decisions: `createRedisSignals({ url })`. */
  signals: object<Signals>("what `createRedisSignals({ url })` returns"),
  /** Called after a claim found that events of a session are lost. Must not throw. @default ignored */
  onLoss: func<(loss: HistoryLoss) => void>().optional(),
  /**
   * Secrets of at least 32 bytes. The gateway signs tokens, tickets and file URLs with the first secret. It accepts
   * signatures of all secrets, so that you can [replace a secret](gateway.md#replace-secrets-and-keys).
   */
  secrets,
  /**
   * URL of this server as browsers see it. File URLs start with this URL; by default they are relative. Pages with the
   * same origin as `publicUrl` may open sockets.
   */
  publicUrl: z.string().optional(),
  /**
   * Other origins whose pages may open sockets and read responses (CORS). Write each origin without a path, for example
   * `https://app.example.com`. `onError` gets each origin that was refused, once.
   * @default []
   */
  allowedOrigins: z.array(webOrigin).readonly().default([]),
  /**
   * Which proxies to trust: all (`true`), none (`false`), or those with these addresses or networks. If a trusted proxy
   * forwards a request or socket, the gateway takes the client's address from the header `x-forwarded-for`.
   * @default false
   */
  trustProxy: z.custom<TrustProxy>().default(false),
  /** [Features](features.md), such as payments. Pass the same ones to the workers. @default [] */
  features: z.custom<readonly GatewayFeature[]>(Array.isArray, "a list of features").default([]),
  /**
   * Lets pages of your app request tokens at `POST /api/v1/sign-in`. `user(request)` returns the id of the signed-in
   * user, for example from a cookie, or null.
   */
  signIn: signInOptions.optional(),
  /**
   * Which [tokens](gateway.md#tokens-and-tickets) the gateway issues and accepts: `issuer`, `audience` and
   * `defaultScopes`.
   */
  tokens: tokenOptions.prefault({}),
  /** Limits of connections, bodies and uploads, see [Limits](gateway.md#limits). */
  limits: gatewayLimits.prefault({}),
  /** What each address, API key, user and tenant may use, see [limit a user](limit-a-user.md#limits). Requests beyond a limit get 429 or 413. */
  callerLimits: callerLimits.default({}),
  /** Clock, ids and randomness, for tests. @default those of the system */
  env: object<Env>().default(systemEnv),
  /**
   * The gateway calls `(error, { during })` for every unexpected error. For an HTTP request, `during` contains the id
   * that its response has in the header `x-request-id`: that of your proxy, or a new one. If Redis is unreachable, it
   * calls the function once per outage, within about 5 seconds. That error contains the address of Redis. It also gets
   * mistakes in the setup once each: refused origins, missing tenants, and messages that wait while no worker is
   * running.
   * @default ignores errors
   */
  onError: func<ErrorHandler>().default(() => ignore),
  /**
   * The gateway calls it for refused sign-ins, foreign origins, floods and invalid signatures. It must be fast.
   * [Security events](security-events.md) lists the events.
   */
  onSecurityEvent: func<SecurityEventHandler>().optional(),
};

export interface GatewayOptions extends OptionsInput<typeof gatewayShape> {}
export interface ResolvedGatewayOptions extends OptionsOutput<typeof gatewayShape> {}

/** Ignores other names, because programs spread a backend into the options, which can have a `close` of its own. */
const schema = z.object(gatewayShape);

/** Fills in the defaults. @throws OptionsError */
export function resolveOptions(options: GatewayOptions): ResolvedGatewayOptions {
  const resolved = parseOptions(schema, options, "the gateway");
  const known = listTokenScopes(resolved.features);
  const unknown = resolved.tokens.defaultScopes.find((scope) => !known.includes(scope));
  if (unknown === undefined) return resolved;
  throw new OptionsError(
    "BAD_OPTIONS",
    `\`defaultScopes\` of \`tokens\` of the gateway must be a list of at least one of ${known.join(", ")}, got ${JSON.stringify(unknown)}`,
  );
}

/** Returns all scopes that a token of a user can have. */
export function listTokenScopes(features: readonly GatewayFeature[]): string[] {
  return [...TOKEN_SCOPES, ...features.flatMap(({ name, scope }) => (scope === "tokens" ? [name] : []))];
}
