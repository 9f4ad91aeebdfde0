/**
 * `GatewayOptions` are the options of a gateway, and `resolveOptions` validates them and fills in their defaults.
 * Invariant: unknown limits, secrets below 32 bytes and malformed origins are refused at startup. Values can be missing
 * despite their types, for example if they come from environment variables.
 */
import { z } from "zod";
import type { Log } from "../log/log.ts";
import type { Signals } from "../signals/signals.ts";
import type { Store } from "../store/store.ts";
import { type Env, systemEnv } from "../util/env.ts";
import type { ErrorHandler } from "../util/error-handler.ts";
import {
  func,
  object,
  type OptionsInput,
  type OptionsOutput,
  parseOptions,
  SECRET,
} from "../util/parse-options.ts";
import { OptionsError } from "../util/options-error.ts";
import type { SecurityEventHandler } from "../util/security-event.ts";
import { SCOPES } from "./auth/access.ts";
import { callerLimits } from "./limits/resolve-limits.ts";
import { signInOptions } from "./auth/sign-in.ts";
import { TOKEN_SCOPES, tokenOptions } from "./auth/tokens.ts";
import type { GatewayFeature } from "./feature.ts";
import { gatewayLimits } from "./gateway-limits.ts";

const MIN_SECRET_BYTES = 32;

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
  /** [Features](features.md). Pass the same ones to the workers. @default [] */
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
  refuseOwnScopes(resolved.features);
  const known = listTokenScopes(resolved.features);
  const unknown = resolved.tokens.defaultScopes.find((scope) => !known.includes(scope));
  if (unknown === undefined) return resolved;
  throw new OptionsError(
    "BAD_OPTIONS",
    `\`defaultScopes\` of \`tokens\` of the gateway must be a list of at least one of ${known.join(", ")}, got ${JSON.stringify(unknown)}`,
  );
}

/** Otherwise a feature named `debug` would let tokens of users have that scope. */
function refuseOwnScopes(features: readonly GatewayFeature[]): void {
  const own: readonly string[] = SCOPES;
  const taken = features.find(({ name, scope }) => scope !== undefined && own.includes(name));
  if (taken !== undefined)
    throw new OptionsError(
      "BAD_OPTIONS",
      `\`features\` of the gateway must not be named like a scope of the server, got ${JSON.stringify(taken.name)}`,
    );
}

/** Returns all scopes that a token of a user can have. */
export function listTokenScopes(features: readonly GatewayFeature[]): string[] {
  return [...TOKEN_SCOPES, ...features.flatMap(({ name, scope }) => (scope === "tokens" ? [name] : []))];
}
