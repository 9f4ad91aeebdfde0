/**
 * Short-lived tokens of users, for browsers and apps that must not have a key: JWTs, HS256, signed with one of the
 * gateway's secrets. A team can sign its own with the same secret. Never reads a database; whether the key behind a token
 * is still good is asked in authenticate.ts.
 */
import { createSecretKey, type KeyObject } from "node:crypto";
import { errors, jwtVerify, SignJWT } from "jose";
import { z } from "zod";
import { isId } from "../../store/rules/arguments.ts";
import { type Scope, SCOPES } from "./access.ts";
import type { Caller } from "../caller.ts";
import { RequestError } from "../errors.ts";

/** What a token may be used for when it doesn't say. */
const DEFAULT_TOKEN_SCOPES: readonly Scope[] = ["read", "write", "decide", "share"];
/** The bearer of a token must not create tokens for other users. */
export const TOKEN_SCOPES: readonly Scope[] = SCOPES.filter((scope) => scope !== "tokens");
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
  /** Milliseconds since 1970; whole seconds count. */
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

/** Throws UNAUTHENTICATED, and says whether it is worth asking for a new one. */
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
      throw new RequestError(
        "UNAUTHENTICATED",
        "The token must have sub, tenant and exp, and scopes as a list.",
      );
    const { sub, tenant, exp, scopes = DEFAULT_TOKEN_SCOPES, key = null } = parsed.data;
    const allowed = scopes.filter((scope) => TOKEN_SCOPES.some((known) => known === scope));
    // Without any it would be allowed everything: see access.ts.
    if (allowed.length === 0)
      throw new RequestError("UNAUTHENTICATED", "The token has no scope that we know.");
    return { tenant, user: sub, scopes: allowed, key, expiresAt: exp * 1_000 };
  }
  throw new RequestError(
    "UNAUTHENTICATED",
    "The token was not signed by us, or was changed. Ask for a new one.",
  );
}

async function verifySignature(token: string, secret: string, now: number): Promise<unknown> {
  try {
    const options = { algorithms: [ALGORITHM], currentDate: new Date(now), requiredClaims: ["exp"] };
    const { payload } = await jwtVerify(token, toKeyObject(secret), options);
    return payload;
  } catch (error) {
    if (error instanceof errors.JWTExpired)
      throw new RequestError("UNAUTHENTICATED", "The token has expired. Ask for a new one.");
    if (error instanceof errors.JOSEError) return null;
    throw error;
  }
}

/** Created once: when thousands reconnect at once, each of them would import the same secret again. */
const keys = new Map<string, KeyObject>();

function toKeyObject(secret: string): KeyObject {
  const key = keys.get(secret) ?? createSecretKey(secret, "utf8");
  keys.set(secret, key);
  return key;
}
