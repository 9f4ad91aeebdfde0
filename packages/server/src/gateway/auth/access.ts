/**
 * `requireScope` and `resolveSession` decide what a caller may do, for HTTP, event streams and sockets.
 * Invariant: all authorization checks belong here, and an empty list of scopes allows everything. `resolveSession`
 * returns only sessions of the caller's tenant and user. Missing sessions and those of other users give the same
 * error, so that callers can't probe for them.
 */
import { SESSION_ID_PATTERN } from "../../util/names.ts";
import type { SessionRef } from "../../util/refs.ts";
import type { Store } from "../../store/store.ts";
import type { Session } from "../../store/ports/sessions.ts";
import { SingleFlight } from "../../util/single-flight.ts";
import type { Caller } from "../caller.ts";
import { RequestError } from "../errors.ts";

/** The permissions of a caller. In addition, every query restricts session data to the session's owner. */
export const SCOPES = [
  "read",
  "write",
  "decide",
  "share",
  "knowledge",
  "webhooks",
  "payments",
  "tokens",
  "debug",
  "admin",
] as const;

export type Scope = (typeof SCOPES)[number];

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
  const session = isSessionNumber(segment)
    ? await findByNumber(store, caller, Number(segment))
    : SESSION_ID_PATTERN.test(segment) && (await findById(store, caller, segment));
  if (!session)
    throw new RequestError("NOT_FOUND", "The session does not exist, or belongs to another user.");
  return { tenant: session.tenant, session: session.id };
}

/**
 * Per store. Clients of one session reconnect together, and must not occupy the connection pool with identical queries.
 */
const lookups = new WeakMap<Store, SingleFlight<Session | null>>();

function findById(store: Store, { tenant, user }: Caller, id: string): Promise<Session | null> {
  const flight = lookups.get(store) ?? new SingleFlight();
  lookups.set(store, flight);
  return flight.run(JSON.stringify([tenant, user, id]), () => store.sessions.get({ tenant, user }, id));
}

async function findByNumber(store: Store, caller: Caller, number: number) {
  return Number.isSafeInteger(number) ? store.sessions.byNumber(caller, number) : null;
}
