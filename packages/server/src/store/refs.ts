/**
 * `Actor` and `SessionRef` identify users and sessions in calls to the store. Types only.
 *
 * Invariant: a call on behalf of a user takes an `Actor`, and the store then returns only that user's sessions. A
 * `SessionRef` checks the tenant but not the owner, so only servers use it.
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
