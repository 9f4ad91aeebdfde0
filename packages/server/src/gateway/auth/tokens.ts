/**
 * `signToken`, `issueToken` and `verifyToken` handle short-lived user tokens for browsers and apps, which must not have an API key.
 * Tokens are JWTs (HS256), signed with a secret of the gateway, so developers can also sign them themselves.
 * Invariant: a verified token has an expiry, at least one known scope, and never a scope of `KEY_SCOPES`. Unknown
 * scopes are dropped. All secrets verify, so that secrets can be rotated. Does not check the key behind a token:
 * authenticate.ts does.
 */
import { createSecretKey, type KeyObject } from "node:crypto";
import { errors, jwtVerify, SignJWT } from "jose";
import { z } from "zod";
import { isId } from "../../util/names.ts";
import { type Scope, SCOPES } from "./access.ts";
import type { Caller } from "../caller.ts";
import { SignInError } from "../security-events.ts";

/** Scopes of a token that lists none, and of a token whose request names none. */
export const DEFAULT_TOKEN_SCOPES: readonly Scope[] = ["read", "write", "decide", "share"];
/**
 * Scopes of API keys only: a user must not create tokens for other users, receive events of other users, see and
 * resolve their payments, see hidden content, or change limits.
 */
const KEY_SCOPES: readonly Scope[] = ["tokens", "webhooks", "payments", "debug", "admin"];
export const TOKEN_SCOPES: readonly Scope[] = SCOPES.filter((scope) => !KEY_SCOPES.includes(scope));
const ALGORITHM = "HS256";

const id = z.string().refine(isId);
const claimsSchema = z.object({
  sub: id,
  tenant: id,
  exp: z.number(),
  scopes: z.array(z.string()).optional(),
  key: id.optional(),
});

export interface TokenClaims extends Pick<Caller, "tenant" | "user" | "key"> {
  readonly scopes: readonly string[];
  /** Milliseconds since 1970, rounded down to seconds. */
  readonly expiresAt: number;
}

export function signToken(claims: TokenClaims, secret: string, now: number): Promise<string> {
  const { tenant, user, key, scopes, expiresAt } = claims;
  return new SignJWT({ tenant, scopes: [...scopes], ...(key === null ? {} : { key }) })
    .setProtectedHeader({ alg: ALGORITHM, typ: "JWT" })
    .setSubject(user)
    .setIssuedAt(Math.floor(now / 1_000))
    .setExpirationTime(Math.floor(expiresAt / 1_000))
    .sign(toKeyObject(secret));
}

interface TokenIssuer {
  readonly secrets: readonly [string, ...string[]];
  readonly env: { now(): number };
  readonly limits: { readonly tokenTtlMs: number };
}

/** Signs a token of the gateway. Tokens have a resolution of one second. @param ttlMs the gateway's limit by default */
export async function issueToken(
  { env, limits, secrets }: TokenIssuer,
  claims: Omit<TokenClaims, "expiresAt">,
  ttlMs = limits.tokenTtlMs,
): Promise<{ readonly token: string; readonly expires_at: number }> {
  const now = env.now();
  const expiresAt = Math.floor((now + ttlMs) / 1_000) * 1_000;
  return { token: await signToken({ ...claims, expiresAt }, secrets[0], now), expires_at: expiresAt };
}

/** @throws RequestError with code `UNAUTHENTICATED`. The message states whether to request a new token. */
export async function verifyToken(
  token: string,
  secrets: readonly string[],
  now: number,
): Promise<TokenClaims> {
  for (const secret of secrets) {
    const payload = await verifySignature(token, secret, now);
    if (payload === null) continue;
    const parsed = claimsSchema.safeParse(payload);
    if (!parsed.success)
      throw new SignInError(
        { type: "sign_in_refused", reason: "token_malformed" },
        "The token must contain sub, tenant and exp, and its scopes must be a list.",
      );
    const { sub, tenant, exp, scopes = DEFAULT_TOKEN_SCOPES, key = null } = parsed.data;
    const allowed = scopes.filter((scope) => TOKEN_SCOPES.some((known) => known === scope));
    // An empty list would allow everything: see `hasScope`.
    if (allowed.length === 0)
      throw new SignInError(
        { type: "sign_in_refused", reason: "token_malformed", tenant, user: sub },
        "The token has no known scope.",
      );
    return { tenant, user: sub, scopes: allowed, key, expiresAt: exp * 1_000 };
  }
  throw new SignInError(
    { type: "signature_invalid", reason: "token" },
    "The signature of the token is invalid: this gateway has another secret (TURNSTREAM_SECRET). Request a new token.",
  );
}

async function verifySignature(token: string, secret: string, now: number): Promise<unknown> {
  try {
    const options = { algorithms: [ALGORITHM], currentDate: new Date(now), requiredClaims: ["exp"] };
    const { payload } = await jwtVerify(token, toKeyObject(secret), options);
    return payload;
  } catch (error) {
    if (error instanceof errors.JWTExpired)
      throw new SignInError(
        { type: "sign_in_refused", reason: "token_expired", ...expiredSource(error.payload) },
        "The token has expired. Request a new token.",
      );
    if (error instanceof errors.JOSEError) return null;
    throw error;
  }
}

/** Returns whose token has expired. Its signature was verified before its expiry. */
function expiredSource(payload: unknown): { tenant?: string; user?: string; key?: string } {
  const parsed = claimsSchema.safeParse(payload);
  if (!parsed.success) return {};
  const { tenant, sub: user, key } = parsed.data;
  return { tenant, user, ...(key === undefined ? {} : { key }) };
}

/** Cached, because otherwise thousands of reconnecting clients would import the same secret again. */
const keys = new Map<string, KeyObject>();

function toKeyObject(secret: string): KeyObject {
  const key = keys.get(secret) ?? createSecretKey(secret, "utf8");
  keys.set(secret, key);
  return key;
}
