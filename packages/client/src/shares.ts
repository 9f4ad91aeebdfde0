/**
 * `SharingClient` are the calls of a client that create, list, revoke, open and fork links to sessions. Types only.
 * Invariant: every call rejects only with a `ClientError`. NOT_FOUND means that the link was revoked, has expired or
 * never existed. The server does not distinguish them, so that a closed link reveals nothing.
 */
import type { SessionInfo } from "./session-info.ts";
import type { Session } from "./session/session.ts";

/** A link to a session as it was when the link was created. */
export interface ShareInfo {
  readonly id: string;
  readonly sessionId: string;
  /** The secret part of the link. Everyone who has it can read the session and continue from it. */
  readonly token: string;
  /** Milliseconds since 1970, by the server's clock. */
  readonly createdAt: number;
  /** When the link stops working, or null if it does not expire. */
  readonly expiresAt: number | null;
}

export interface ListedShare extends ShareInfo {
  /** The current title of the session. */
  readonly title: string | null;
}

export interface SharePage {
  /** Newest first. Links that were revoked or have expired are not listed. */
  readonly shares: readonly ListedShare[];
  /** Pass it as `before` to get the next page; null if there is none. */
  readonly nextBefore: string | null;
}

export interface ShareOptions {
  /** How long the link works, from 1 to 31,622,400 seconds. @default until it is revoked */
  readonly expiresInSeconds?: number;
}

interface ListSharesOptions {
  /** Lists only links to this session. */
  readonly sessionId?: string;
  readonly before?: string;
  /** The size of a page, at most 100. @default 20 */
  readonly limit?: number;
}

/** A session that was opened with a link. */
export interface SharedSession {
  readonly title: string | null;
  /** When the link was created: the session is shown as it was then. */
  readonly createdAt: number;
  readonly expiresAt: number | null;
  /** The shared state. `loadMore` loads earlier turns. All commands reject with FORBIDDEN. */
  readonly session: Session;
}

export interface SharingClient {
  /** Creates a link to a session as it is now. Later messages are not part of it. */
  share(sessionId: string, options?: ShareOptions): Promise<ShareInfo>;
  /** Lists the user's links. */
  listShares(options?: ListSharesOptions): Promise<SharePage>;
  /** Closes a link. It stops working at once. */
  revokeShare(share: Pick<ShareInfo, "id" | "sessionId">): Promise<void>;
  /** Opens a link. It needs no credentials, so it also works for readers who are not signed in. */
  openShare(token: string): Promise<SharedSession>;
  /** Creates a session of the user with the shared turns, to continue it. */
  fork(token: string): Promise<SessionInfo>;
}
