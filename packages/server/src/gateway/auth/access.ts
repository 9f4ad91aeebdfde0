/**
 * `requireScope` and `resolveSession` decide what a caller may do, for HTTP, event streams and sockets.
 * Invariant: all authorization checks belong here, and an empty list of scopes allows everything. `resolveSession`
 * returns only sessions of the caller's tenant and user. Missing sessions and those of other users give the same
 * error, so that callers can't probe for them.
 */
import { SESSION_ID_PATTERN } from "../../util/names.ts";
import type { Actor, SessionRef } from "../../util/refs.ts";
import type { Store } from "../../store/store.ts";
import { CallBatcher } from "../../util/call-batcher.ts";
import { runAs } from "../../util/work-owner.ts";
import type { Caller } from "../caller.ts";
import { RequestError } from "../errors.ts";

/**
 * The permissions of a caller, without those of features. In addition, every query restricts session data to the
 * session's owner.
 */
export const SCOPES = ["read", "write", "decide", "share", "webhooks", "tokens", "debug", "admin"] as const;

/** One of `SCOPES`, or a scope that a feature declares. */
export type Scope = (typeof SCOPES)[number] | (string & {});

/** A key without scopes has full access to its tenant. */
export function hasScope({ scopes }: Pick<Caller, "scopes">, scope: Scope): boolean {
  return scopes.length === 0 || scopes.includes(scope);
}

/** @throws RequestError with code `FORBIDDEN` */
export function requireScope(caller: Pick<Caller, "scopes">, scope: Scope): void {
  if (!hasScope(caller, scope))
    throw new RequestError(
      "FORBIDDEN",
      `This request needs the scope "${scope}", which the key or token does not have.`,
    );
}

const DIGITS = /^[0-9]+$/;

/** True if the segment is a session number. New sessions never get such ids here. */
export function isSessionNumber(segment: string): boolean {
  return DIGITS.test(segment);
}

/**
 * Finds a session of the caller by number or id.
 * @throws RequestError with code `NOT_FOUND`. The message is the same for missing and foreign sessions, so that callers
 * can't probe for them.
 */
export async function resolveSession(
  { store }: { readonly store: Store },
  caller: Caller,
  segment: string,
): Promise<SessionRef> {
  const id = isSessionNumber(segment)
    ? await findByNumber(store, caller, Number(segment))
    : SESSION_ID_PATTERN.test(segment) && (await isOwner(store, caller, segment))
      ? segment
      : null;
  if (id === null)
    throw new RequestError("NOT_FOUND", "The session does not exist, or belongs to another user.");
  return { tenant: caller.tenant, session: id };
}

interface SessionUse extends Actor {
  readonly id: string;
}

/**
 * Per store. Clients of a tenant reconnect together, and must not occupy the connection pool with one query each.
 */
const lookups = new WeakMap<Store, CallBatcher<SessionUse, boolean>>();
const MAX_LOOKUPS = 500;

function isOwner(store: Store, { tenant, user }: Caller, id: string): Promise<boolean> {
  const batcher = lookups.get(store) ?? new CallBatcher((uses) => areOwners(store, uses), MAX_LOOKUPS);
  lookups.set(store, batcher);
  return batcher.call(tenant, { tenant, user, id });
}

/** @param uses of one tenant */
async function areOwners(store: Store, uses: readonly SessionUse[]): Promise<boolean[]> {
  const [first] = uses as [SessionUse, ...SessionUse[]];
  const ids = [...new Set(uses.map(({ id }) => id))];
  const owners = await runAs(first, () => store.sessions.owners(first.tenant, ids));
  return uses.map(({ user, id }) => owners.get(id) === user);
}

async function findByNumber(store: Store, caller: Caller, number: number): Promise<string | null> {
  const session = Number.isSafeInteger(number) ? await store.sessions.byNumber(caller, number) : null;
  return session?.id ?? null;
}
