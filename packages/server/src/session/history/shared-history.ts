/**
 * What somebody with a share link sees: the session as it was when it was shared, and nothing that came later; not who
 * wrote what, and not what was filled into forms.
 * Read only: a share gives no way to write, decide or pay. Never follows the log.
 */
import { parseCursor, type SessionState } from "@turnstream/protocol";
import { redactForShare } from "../../store/rules/redact-for-share.ts";
import { readShareToken } from "../../store/rules/share-token.ts";
import type { Share } from "../../store/ports/access.ts";
import type { Store } from "../../store/store.ts";
import { type FoldArchivedOptions, foldArchived } from "./archived-state.ts";

export interface SharedHistory {
  readonly share: Share;
  /** A window on the newest turns. */
  readonly state: SessionState;
}

export interface SharedOptions extends Pick<FoldArchivedOptions, "run"> {
  readonly turns?: number;
}

const DEFAULT_TURNS = 20;

/**
 * @param secrets those that links were signed with, the newest first
 * @returns null when the link is not ours, was revoked, or its session is gone
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
