/**
 * The one place that says who may do what, for HTTP, streams and sockets alike. Roles, quotas and rate limits will grow here.
 */
import { SESSION_ID_PATTERN } from "../../util/names.ts";
import type { SessionRef } from "../../store/refs.ts";
import type { Store } from "../../store/store.ts";
import type { Session } from "../../store/ports/sessions.ts";
import { SingleFlight } from "../../util/single-flight.ts";
import type { Caller } from "../caller.ts";
import { RequestError } from "../errors.ts";

/** What can be asked for. A session's own things are also held to its owner, by every query. */
export const SCOPES = ["read", "write", "decide", "share", "knowledge", "tokens"] as const;

export type Scope = (typeof SCOPES)[number];

/** A key without scopes may do everything of its tenant. */
export function hasScope({ scopes }: Pick<Caller, "scopes">, action: Scope): boolean {
  return scopes.length === 0 || scopes.includes(action);
}

/** Throws FORBIDDEN. */
export function requireScope(caller: Pick<Caller, "scopes">, action: Scope): void {
  if (!hasScope(caller, action))
    throw new RequestError("FORBIDDEN", `This key or token may not do this: it lacks the scope "${action}".`);
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
    ? await byNumber(store, caller, Number(segment))
    : SESSION_ID_PATTERN.test(segment) && (await byId(store, caller, segment));
  if (!session) throw new RequestError("NOT_FOUND", "There is no such session, or it is not yours.");
  return { tenant: session.tenant, session: session.id };
}

/** By store: viewers of one session come back together, and must not fill the pool of connections with one question. */
const asked = new WeakMap<Store, SingleFlight<Session | null>>();

function byId(store: Store, { tenant, user }: Caller, id: string): Promise<Session | null> {
  const once = asked.get(store) ?? new SingleFlight();
  asked.set(store, once);
  return once.run(JSON.stringify([tenant, user, id]), () => store.sessions.get({ tenant, user }, id));
}

async function byNumber(store: Store, caller: Caller, number: number) {
  return Number.isSafeInteger(number) ? store.sessions.byNumber(caller, number) : null;
}
