/** `Actor` and `SessionRef` identify users and sessions in calls to the store. */

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
