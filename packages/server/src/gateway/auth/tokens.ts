/**
 * `signToken`, `issueToken` and `verifyToken` handle short-lived user tokens for browsers and apps, which must not have an API key.
 * Tokens are JWTs (HS256), signed with a secret of the gateway, so developers can also sign them themselves.
 * Invariant: a verified token has an expiry that is not too far away, at least one known scope, and never one of
 * API keys only. Unknown scopes are dropped. A JWT of another type, issuer or audience is refused. All secrets verify, so
 * that secrets can be rotated. A verified token is remembered until it expires, only as a hash and at most 10,000 of
 * them. Does not check the key behind a token: authenticate.ts does.
 */
import { hash, type webcrypto } from "node:crypto";
import { errors, jwtVerify, SignJWT } from "jose";
import { z } from "zod";
import { isId } from "../../util/names.ts";
import type { OptionsInput, OptionsOutput } from "../../util/parse-options.ts";
import { type Scope, SCOPES } from "./access.ts";
import type { Caller } from "../caller.ts";
import { SignInError } from "../errors.ts";
import { defined } from "../../util/defined.ts";

const DEFAULT_TOKEN_SCOPES: readonly Scope[] = ["read", "write", "decide", "share"];
/**
 * Scopes of API keys only: a user must not create tokens for other users, receive events of other users, see hidden
 * content, or change limits.
 */
const KEY_SCOPES: readonly Scope[] = ["tokens", "webhooks", "debug", "admin"];
/** What a token can have, without the scopes of features. */
export const TOKEN_SCOPES: readonly Scope[] = SCOPES.filter((scope) => !KEY_SCOPES.includes(scope));
const TOKEN_TTL_MS = 15 * 60_000;
const ALGORITHM = "HS256";
const TYPE = "JWT";

const id = z.string().refine(isId);
const claimsSchema = z.object({
  sub: id,
  tenant: id,
  exp: z.number(),
  iat: z.number().optional(),
  scopes: z.array(z.string()).optional(),
  key: id.optional(),
});

export interface TokenClaims extends Pick<Caller, "tenant" | "user" | "key"> {
  readonly scopes: readonly string[];
  /** Milliseconds since 1970, rounded down to seconds. */
  readonly expiresAt: number;
}

const text = z.string().min(1, "a text that is not empty");

const tokenShape = {
  /** The claim `iss` of issued tokens. Tokens with another value are refused. @default none: not checked */
  issuer: text.optional(),
  /** The claim `aud` of issued tokens. Tokens with another value are refused. @default none: not checked */
  audience: text.optional(),
  /**
   * Scopes of a token that lists none, and of a token whose request names none. Leave out `share` to switch sharing off
   * for users.
   * @default ["read", "write", "decide", "share"]
   */
  // An empty list of scopes would allow everything: see `hasScope`.
  defaultScopes: z
    .custom<readonly Scope[]>((list) => Array.isArray(list) && list.length > 0, "a list of scopes")
    .default(DEFAULT_TOKEN_SCOPES),
};

/** The gateway's options for the tokens that it accepts and issues. */
export interface TokenOptions extends OptionsInput<typeof tokenShape> {}
export interface TokenRules extends OptionsOutput<typeof tokenShape> {
  /** All scopes that a token can have. */
  readonly scopes: readonly Scope[];
}

export const tokenOptions: z.ZodType<Omit<TokenRules, "scopes">, TokenOptions> = z.strictObject(tokenShape);

type TokenParties = Pick<TokenOptions, "issuer" | "audience">;

export async function signToken(
  claims: TokenClaims & TokenParties,
  secret: string,
  now: number,
): Promise<string> {
  const { tenant, user, key, scopes, expiresAt, issuer, audience } = claims;
  const optional = defined({ key: key ?? undefined, iss: issuer, aud: audience });
  return new SignJWT({ tenant, scopes: [...scopes], ...optional })
    .setProtectedHeader({ alg: ALGORITHM, typ: TYPE })
    .setSubject(user)
    .setIssuedAt(Math.floor(now / 1_000))
    .setExpirationTime(Math.floor(expiresAt / 1_000))
    .sign(await importSecret(secret));
}

export interface TokenVerifier {
  readonly secrets: readonly string[];
  readonly env: { now(): number };
  readonly limits: { readonly maxTokenTtlMs: number };
  readonly tokenRules: TokenRules;
}

export interface TokenIssuer extends TokenVerifier {
  readonly secrets: readonly [string, ...string[]];
}

/**
 * Signs a token of the gateway. Tokens have a resolution of one second.
 * @param ttlMs by default 15 minutes, or the gateway's limit if it is shorter
 */
export async function issueToken(
  { env, limits, secrets, tokenRules: { issuer, audience } }: TokenIssuer,
  claims: Omit<TokenClaims, "expiresAt">,
  ttlMs = Math.min(TOKEN_TTL_MS, limits.maxTokenTtlMs),
): Promise<{ readonly token: string; readonly expires_at: number }> {
  const now = env.now();
  const expiresAt = Math.floor((now + ttlMs) / 1_000) * 1_000;
  const signed = { ...claims, expiresAt, ...defined({ issuer, audience }) };
  return { token: await signToken(signed, secrets[0], now), expires_at: expiresAt };
}

/** By verifier, because they depend on its secrets and rules. By hash, so that a memory dump contains no token. */
const verified = new WeakMap<TokenVerifier, Map<string, TokenClaims>>();
const MAX_VERIFIED = 10_000;

/** @throws RequestError with code `UNAUTHENTICATED`. The message states whether to request a new token. */
export async function verifyToken(token: string, verifier: TokenVerifier): Promise<TokenClaims> {
  const known = verified.get(verifier) ?? new Map<string, TokenClaims>();
  verified.set(verifier, known);
  const key = hash("sha256", token, "base64");
  const before = known.get(key);
  if (before !== undefined && before.expiresAt > verifier.env.now()) return before;
  known.delete(key);
  const claims = await verifyUnknownToken(token, verifier);
  const [oldest] = known.keys();
  if (known.size >= MAX_VERIFIED && oldest !== undefined) known.delete(oldest);
  known.set(key, claims);
  return claims;
}

async function verifyUnknownToken(token: string, verifier: TokenVerifier): Promise<TokenClaims> {
  const { secrets, env, limits, tokenRules } = verifier;
  const now = env.now();
  for (const secret of secrets) {
    const payload = await verifySignature(token, secret, now, tokenRules);
    if (payload === null) continue;
    const parsed = claimsSchema.safeParse(payload);
    if (!parsed.success)
      throw malformed("The token must contain sub, tenant and exp, and its scopes must be a list.");
    const { sub, tenant, exp, iat = Infinity, scopes = tokenRules.defaultScopes, key = null } = parsed.data;
    if (exp * 1_000 - Math.min(iat * 1_000, now) > limits.maxTokenTtlMs)
      throw malformed(
        `The token is valid for too long: this gateway accepts at most ${limits.maxTokenTtlMs / 1_000} seconds.`,
        { tenant, user: sub },
      );
    const allowed = scopes.filter((scope) => tokenRules.scopes.includes(scope));
    // An empty list would allow everything: see `hasScope`.
    if (allowed.length === 0) throw malformed("The token has no known scope.", { tenant, user: sub });
    return { tenant, user: sub, scopes: allowed, key, expiresAt: exp * 1_000 };
  }
  throw new SignInError(
    { type: "signature_invalid", reason: "token" },
    "The signature of the token is invalid: this gateway has another secret (TURNSTREAM_SECRET). Request a new token.",
  );
}

/** Returns null if another secret signed the token. */
async function verifySignature(
  token: string,
  secret: string,
  now: number,
  { issuer, audience }: TokenParties,
): Promise<unknown> {
  try {
    const options = {
      algorithms: [ALGORITHM],
      currentDate: new Date(now),
      requiredClaims: ["exp"],
      ...defined({ issuer, audience }),
    };
    const { payload, protectedHeader } = await jwtVerify(token, await importSecret(secret), options);
    // A JWT of another type was signed for something else, such as a logout.
    if ((protectedHeader.typ ?? TYPE).toUpperCase() !== TYPE) throw claimRefused("typ");
    return payload;
  } catch (error) {
    if (error instanceof errors.JWTExpired)
      throw new SignInError(
        { type: "sign_in_refused", reason: "token_expired", ...expiredSource(error.payload) },
        "The token has expired. Request a new token.",
      );
    if (error instanceof errors.JWTClaimValidationFailed) throw claimRefused(error.claim);
    if (error instanceof errors.JOSEError) return null;
    throw error;
  }
}

/** Returns whose token has expired. Its signature was verified before its expiry. */
function expiredSource(payload: unknown): { tenant?: string; user?: string; key?: string } {
  const parsed = claimsSchema.safeParse(payload);
  if (!parsed.success) return {};
  const { tenant, sub: user, key } = parsed.data;
  return { tenant, user, ...defined({ key }) };
}

function claimRefused(claim: string): SignInError {
  return malformed(
    `The token has no "${claim}" that this gateway accepts. Compare it with the options of the gateway.`,
  );
}

function malformed(message: string, source: { tenant?: string; user?: string } = {}): SignInError {
  return new SignInError({ type: "sign_in_refused", reason: "token_malformed", ...source }, message);
}

/** Imported secrets. Without this, jose would import the secret again for every token. */
const keys = new Map<string, Promise<webcrypto.CryptoKey>>();

function importSecret(secret: string): Promise<webcrypto.CryptoKey> {
  const known = keys.get(secret);
  if (known !== undefined) return known;
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = crypto.subtle.importKey("raw", Buffer.from(secret), algorithm, false, ["sign", "verify"]);
  keys.set(secret, key);
  return key;
}
