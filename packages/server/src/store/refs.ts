/** How callers say whom and what they mean. Types only. */

/** The person who asks. They see their own sessions, nobody else's. */
export interface Actor {
  readonly tenant: string;
  readonly user: string;
}

/** A session as servers name it: any user's, within one tenant. */
export interface SessionRef {
  readonly tenant: string;
  readonly session: string;
}
