/**
 * `Actor` and `SessionRef` identify users and sessions in calls to the store, and `sessionKey` makes one text of a
 * `SessionRef`. Pure.
 *
 * Invariant: a call on behalf of a user takes an `Actor`, and the store then returns only that user's sessions. A
 * `SessionRef` checks the tenant but not the owner, so only servers use it. Two tenants can have a session with the
 * same id, so an id alone identifies no session.
 */

/** The user on whose behalf a call is made. A user sees only their own sessions. */
export interface Actor {
  readonly tenant: string;
  readonly user: string;
}

/** A session of any user, within one tenant. For calls on behalf of servers. */
export interface SessionRef {
  readonly tenant: string;
  readonly session: string;
}

/**
 * Returns a different text for every session, for maps and log names. The encoded tenant has no `/`, so the
 * first one ends it. The text has no braces, so it can be the hash tag of a Redis key.
 */
export function sessionKey({ tenant, session }: SessionRef): string {
  return `${encodeURIComponent(tenant)}/${session}`;
}
