/**
 * `authenticate` identifies the caller by an API key in `x-api-key` or a token in `authorization`. Sockets and
 * event streams of pages use tickets; see tickets.ts.
 * Invariant: keys and tokens are never read from the URL, and a request with both kinds is refused. A token or ticket is
 * valid only while the API key that issued it is active. Only an API key may choose the user, with `x-user-id`. The
 * client address is trusted from proxy headers only as far as `trustProxy` allows.
 */
import proxyAddr from "@fastify/proxy-addr";
import type { IncomingMessage } from "node:http";
import { keyIdOf } from "../../store/rules/api-key.ts";
import { ID_RULE, isId } from "../../util/names.ts";
import type { Store } from "../../store/store.ts";
import { CallBatcher } from "../../util/call-batcher.ts";
import { defined } from "../../util/defined.ts";
import type { Owner } from "../../util/fair-queue.ts";
import { runAs } from "../../util/work-owner.ts";
import type { Caller } from "../caller.ts";
import { RequestError, SignInError } from "../errors.ts";
import type { TrustProxy } from "../options.ts";
import { type TokenVerifier, verifyToken } from "./tokens.ts";

export interface AuthContext extends TokenVerifier {
  readonly store: Store;
  readonly env: { now(): number; id(): string };
}

const BEARER = /^bearer ([\w.~+/-]+=*)$/i;

/**
 * @param headers with names in lower case
 * @param from the client's network address
 * @throws RequestError with code `UNAUTHENTICATED`
 */
export async function authenticate(
  context: AuthContext,
  headers: ReadonlyMap<string, string>,
  from: string,
): Promise<Caller> {
  const key = headers.get("x-api-key");
  const authorization = headers.get("authorization");
  if (key !== undefined && authorization !== undefined)
    throw new SignInError(
      { type: "sign_in_refused", reason: "several_credentials" },
      "Send x-api-key or authorization, not both.",
    );
  if (key !== undefined) return authenticateByKey(context, key, headers.get("x-user-id"), from);
  const token = BEARER.exec(authorization ?? "")?.[1];
  if (token === undefined)
    throw new RequestError(
      "UNAUTHENTICATED",
      "Send an API key in x-api-key, or a token in authorization: Bearer.",
    );
  return authenticateByToken(context, token, from);
}

async function authenticateByKey(
  { store, env }: AuthContext,
  secret: string,
  userId: string | undefined,
  from: string,
): Promise<Caller> {
  const id = keyIdOf(secret);
  // The tenant is unknown yet, so that keys take turns.
  const key = await runAs({ tenant: "", user: id ?? from }, () => store.keys.verify(secret));
  if (key === null)
    throw new SignInError(
      { type: "sign_in_refused", reason: "key_invalid", ...defined({ key: id ?? undefined }) },
      "The API key is unknown, revoked or expired.",
    );
  const user = userId ?? `key:${key.id}`;
  if (!isId(user)) throw new RequestError("BAD_REQUEST", `x-user-id must have ${ID_RULE}.`);
  return {
    tenant: key.tenant,
    user,
    scopes: key.scopes,
    key: key.id,
    expiresAt: null,
    from,
    clientId: env.id(),
  };
}

async function authenticateByToken(context: AuthContext, token: string, from: string): Promise<Caller> {
  const { store, env } = context;
  const claims = await verifyToken(token, context);
  await runAs(claims, () => requireActiveKey(store, claims));
  return { ...claims, from, clientId: env.id() };
}

/** Tokens and tickets become invalid with the key that issued them. */
export async function requireActiveKey(
  store: Store,
  { tenant, user, key }: Pick<Caller, "tenant" | "user" | "key">,
): Promise<void> {
  if (key !== null && !(await isLive(store, { tenant, user, key })))
    throw new SignInError(
      { type: "sign_in_refused", reason: "key_ended", tenant, user, key },
      "The API key that issued this token or ticket was revoked or has expired.",
    );
}

interface KeyUse extends Owner {
  readonly key: string;
}

/** Per store. Clients reconnect together, and must not occupy the connection pool with one query each. */
const keyChecks = new WeakMap<Store, CallBatcher<KeyUse, boolean>>();
const MAX_KEYS = 500;

function isLive(store: Store, use: KeyUse): Promise<boolean> {
  const checks = keyChecks.get(store) ?? new CallBatcher((uses) => areLive(store, uses), MAX_KEYS);
  keyChecks.set(store, checks);
  return checks.call(use.tenant, use);
}

/** @param uses of one tenant */
async function areLive(store: Store, uses: readonly KeyUse[]): Promise<boolean[]> {
  const keys = [...new Set(uses.map(({ key }) => key))];
  const live = await runAs(uses[0] as KeyUse, () => store.keys.live(keys));
  return uses.map(({ key }) => live.has(key));
}

/**
 * Creates the function that finds a client's address for limits and security events: as reported by trusted proxies, otherwise the
 * socket's address.
 */
export function createAddressResolver(trust: TrustProxy): (incoming: IncomingMessage) => string {
  if (trust === false) return ({ socket }) => socket.remoteAddress ?? "";
  const isTrusted =
    trust === true ? () => true : proxyAddr.compile(typeof trust === "string" ? trust : [...trust]);
  return (incoming) => proxyAddr(incoming, isTrusted);
}
