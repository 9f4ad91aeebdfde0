/**
 * The one place that says who may do what, for HTTP, streams and sockets alike. Roles, quotas and rate limits will grow here.
 */
import { SESSION_NAME } from "../names.ts";
import type { Ref } from "../store/refs.ts";
import type { Store } from "../store/store.ts";
import type { Caller } from "./caller.ts";
import { Refused } from "./refused.ts";

/** What can be asked for. A session's own things are also held to its owner, by every query. */
export const ACTIONS = ["read", "write", "decide", "share", "knowledge", "tokens"] as const;

export type Action = (typeof ACTIONS)[number];

/** A key without scopes may do everything of its tenant. */
export function isAllowed({ scopes }: Pick<Caller, "scopes">, action: Action): boolean {
  return scopes.length === 0 || scopes.includes(action);
}

/** Throws FORBIDDEN. */
export function requireAction(caller: Pick<Caller, "scopes">, action: Action): void {
  if (!isAllowed(caller, action))
    throw new Refused("FORBIDDEN", `This key or token may not do this: it lacks the scope "${action}".`);
}

const DIGITS = /^[0-9]+$/;

/** Whether a session could be meant by its number: such ids are not given to new sessions here. */
export function isNumber(segment: string): boolean {
  return DIGITS.test(segment);
}

/**
 * The session that a caller names, by number or by id. Throws NOT_FOUND, in the same words whether it isn't there or isn't
 * theirs.
 */
export async function refOf(
  { store }: { readonly store: Store },
  caller: Caller,
  segment: string,
): Promise<Ref> {
  const session = isNumber(segment)
    ? await byNumber(store, caller, Number(segment))
    : SESSION_NAME.test(segment) && (await store.sessions.get(caller, segment));
  if (!session) throw new Refused("NOT_FOUND", "There is no such session, or it is not yours.");
  return { tenant: session.tenant, session: session.id };
}

async function byNumber(store: Store, caller: Caller, number: number) {
  return Number.isSafeInteger(number) ? store.sessions.byNumber(caller, number) : null;
}
