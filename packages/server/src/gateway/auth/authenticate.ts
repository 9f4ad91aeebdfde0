/**
 * Who is asking: an API key in `x-api-key`, or a token in `authorization`. Nothing else lets anybody in, and nothing of it
 * is ever taken from an address. Tickets of sockets are in tickets.ts.
 */
import { isId } from "../../store/rules/arguments.ts";
import type { Store } from "../../store/store.ts";
import type { Caller } from "../caller.ts";
import { Refused } from "../errors.ts";
import { readToken } from "./tokens.ts";

export interface AuthenticateParts {
  readonly store: Store;
  readonly secrets: readonly string[];
  readonly env: { now(): number };
}

const BEARER = /^bearer ([\w.~+/-]+=*)$/i;

/**
 * @param headers names in lower case
 * @param from the address they come from. Throws UNAUTHENTICATED.
 */
export async function authenticate(
  parts: AuthenticateParts,
  headers: ReadonlyMap<string, string>,
  from: string,
): Promise<Caller> {
  const key = headers.get("x-api-key");
  const authorization = headers.get("authorization");
  if (key !== undefined && authorization !== undefined)
    throw new Refused("UNAUTHENTICATED", "Send x-api-key or authorization, not both.");
  if (key !== undefined) return byKey(parts, key, headers.get("x-user-id"), from);
  const token = BEARER.exec(authorization ?? "")?.[1];
  if (token === undefined)
    throw new Refused(
      "UNAUTHENTICATED",
      "Send an API key in x-api-key, or a token in authorization: Bearer.",
    );
  return byToken(parts, token, from);
}

async function byKey(
  { store }: AuthenticateParts,
  secret: string,
  named: string | undefined,
  from: string,
): Promise<Caller> {
  const key = await store.keys.verify(secret);
  if (key === null)
    throw new Refused("UNAUTHENTICATED", "The API key is not one of ours, was revoked or has expired.");
  const user = named ?? `key:${key.id}`;
  if (!isId(user)) throw new Refused("BAD_REQUEST", "x-user-id must have 1 to 256 characters.");
  return { tenant: key.tenant, user, scopes: key.scopes, key: key.id, expiresAt: null, from };
}

async function byToken(
  { store, secrets, env }: AuthenticateParts,
  token: string,
  from: string,
): Promise<Caller> {
  const grant = await readToken(token, secrets, env.now());
  await requireLive(store, grant.key);
  return { ...grant, from };
}

/** What a key has made ends with it. */
export async function requireLive(store: Store, key: string | null): Promise<void> {
  if (key !== null && !(await store.keys.live([key])).has(key))
    throw new Refused("UNAUTHENTICATED", "The API key behind this was revoked or has expired.");
}
