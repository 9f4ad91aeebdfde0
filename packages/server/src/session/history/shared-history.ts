/**
 * `readSharedSession` returns what a share link shows: the session at the moment of sharing. Reads only.
 *
 * Invariant: it shows no later events, no authors and no submitted form values. A share gives no access to write,
 * decide or pay.
 */
import { parseCursor, type SessionState } from "@turnstream/protocol";
import { redactForShare } from "../../store/rules/redact-for-share.ts";
import { readShareToken } from "../../store/rules/share-token.ts";
import type { Share } from "../../store/ports/access.ts";
import type { Store } from "../../store/store.ts";
import { type FoldArchivedOptions, foldArchived } from "./archived-state.ts";

export interface SharedHistory {
  readonly share: Share;
  /** A window of the newest turns. */
  readonly state: SessionState;
}

export interface SharedOptions extends Pick<FoldArchivedOptions, "run"> {
  readonly turns?: number;
}

const DEFAULT_TURNS = 20;

/**
 * @param secrets accepted signing secrets, newest first
 * @returns null if the link is invalid or revoked, or its session was erased
 */
export async function readSharedSession(
  store: Store,
  token: string,
  secrets: readonly string[],
  options: SharedOptions = {},
): Promise<SharedHistory | null> {
  const id = readShareToken(token, secrets);
  const share = id === null ? null : await store.shares.find(id);
  if (share === null) return null;
  const end = parseCursor(share.upTo)?.seq ?? 0;
  const { turns = DEFAULT_TURNS, ...how } = options;
  return { share, state: await foldArchived(store, share, { end, turns, shown: redactForShare, ...how }) };
}
