/** Decides what a caller may do, for HTTP, streams and sockets alike. Roles, quotas and rate limits will be added here. */
import { SESSION_ID_PATTERN } from "../../util/names.ts";
import type { SessionRef } from "../../store/refs.ts";
import type { Store } from "../../store/store.ts";
import type { Session } from "../../store/ports/sessions.ts";
import { SingleFlight } from "../../util/single-flight.ts";
import type { Caller } from "../caller.ts";
import { RequestError } from "../errors.ts";

/** What a caller may do. A session's own things are also restricted to its owner, by every query. */
export const SCOPES = ["read", "write", "decide", "share", "knowledge", "tokens"] as const;

export type Scope = (typeof SCOPES)[number];

/** A key without scopes may do everything of its tenant. */
export function hasScope({ scopes }: Pick<Caller, "scopes">, scope: Scope): boolean {
  return scopes.length === 0 || scopes.includes(scope);
}

/** Throws FORBIDDEN. */
export function requireScope(caller: Pick<Caller, "scopes">, scope: Scope): void {
  if (!hasScope(caller, scope))
    throw new RequestError("FORBIDDEN", `This key or token may not do this: it lacks the scope "${scope}".`);
}

const DIGITS = /^[0-9]+$/;

/** Whether a session could be meant by its number: such ids are not given to new sessions here. */
export function isSessionNumber(segment: string): boolean {
  return DIGITS.test(segment);
}

/**
 * The session that a caller names, by number or by id. Throws NOT_FOUND, in the same words whether it isn't there or isn't
 * theirs.
 */
export async function resolveSession(
  { store }: { readonly store: Store },
  caller: Caller,
  segment: string,
): Promise<SessionRef> {
  const session = isSessionNumber(segment)
    ? await findByNumber(store, caller, Number(segment))
    : SESSION_ID_PATTERN.test(segment) && (await findById(store, caller, segment));
  if (!session) throw new RequestError("NOT_FOUND", "There is no such session, or it is not yours.");
  return { tenant: session.tenant, session: session.id };
}

/** By store: clients of one session reconnect together, and must not fill the connection pool with one query. */
const lookups = new WeakMap<Store, SingleFlight<Session | null>>();

function findById(store: Store, { tenant, user }: Caller, id: string): Promise<Session | null> {
  const flight = lookups.get(store) ?? new SingleFlight();
  lookups.set(store, flight);
  return flight.run(JSON.stringify([tenant, user, id]), () => store.sessions.get({ tenant, user }, id));
}

async function findByNumber(store: Store, caller: Caller, number: number) {
  return Number.isSafeInteger(number) ? store.sessions.byNumber(caller, number) : null;
}
