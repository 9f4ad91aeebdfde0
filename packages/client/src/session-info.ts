/**
 * `SessionInfo` describes a session in lists, and `toSessionInfo` reads it from a response of the server. Pure.
 * Invariant: it has no content of the session. Times are by the server's clock.
 */

export interface SessionInfo {
  readonly id: string;
  readonly number: number;
  readonly title: string | null;
  /** Whether the session was created from a share. */
  readonly forkedFromShare: boolean;
  /** Milliseconds since 1970, by the server's clock. */
  readonly createdAt: number;
  readonly updatedAt: number;
}

export function toSessionInfo(json: unknown): SessionInfo {
  const { session_id, chat_id, title, forked_from_share, created_at, updated_at } = json as {
    readonly session_id: string;
    readonly chat_id: number;
    readonly title: string | null;
    readonly forked_from_share: boolean;
    readonly created_at: number;
    readonly updated_at: number;
  };
  return {
    id: session_id,
    number: chat_id,
    title,
    forkedFromShare: forked_from_share,
    createdAt: created_at,
    updatedAt: updated_at,
  };
}
