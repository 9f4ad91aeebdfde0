/**
 * `readSharedSession` returns what a share link shows: the session at the moment of sharing, page by page. `findShare`
 * verifies a link. Reads only.
 *
 * Invariant: it shows no later events, no authors, no submitted form values and no hidden content. Nothing in it waits
 * or runs, because a share gives no access to write, decide or pay. Pages don't overlap and have no gap.
 */
import { parseCursor, restoreTurn, Sequence, type SessionState } from "@turnstream/protocol";
import { omitHiddenTurn, redactForShare, turnSnapshot } from "@turnstream/protocol/writer";
import { closeSession } from "../../store/fork/close-session.ts";
import { isShareToken, readShareId, type Share } from "../../store/shares.ts";
import type { Store } from "../../store/store.ts";
import { type FoldArchivedOptions, foldArchivedEvents } from "./archived-state.ts";
import { countTurnsWithinLimit } from "./turn-pages.ts";
import { defined } from "../../util/defined.ts";

export interface SharedHistory {
  readonly share: Share;
  /** The session with the turns of one page. `earlier` counts the turns before them. */
  readonly state: SessionState;
  /** Pass it as `before` for the next page; null if there is none. */
  readonly next: number | null;
}

export interface SharedOptions extends Pick<FoldArchivedOptions, "run"> {
  /** The maximum number of turns. A page has fewer if they are long. @default 20 */
  readonly turns?: number;
  /** `next` of the previous page. Default: start with the newest turn. */
  readonly before?: number;
}

const DEFAULT_TURNS = 20;

/** Returns the share of a link, or null if the link is invalid, expired or revoked, or its session was erased. */
export async function findShare({ shares }: Pick<Store, "shares">, token: string): Promise<Share | null> {
  const id = readShareId(token);
  const share = id === null ? null : await shares.find(id);
  return share !== null && isShareToken(token, share) ? share : null;
}

/** @returns null if the link is invalid, expired or revoked, or its session was erased */
export async function readSharedSession(
  store: Store,
  token: string,
  options: SharedOptions = {},
): Promise<SharedHistory | null> {
  const share = await findShare(store, token);
  if (share === null) return null;
  const { turns: limit = DEFAULT_TURNS, before = Infinity, run } = options;
  const folded = await foldArchivedEvents(store, share, {
    end: parseCursor(share.upTo)?.seq ?? 0,
    shown: redactForShare,
    ...defined({ run }),
  });
  const piece = run ?? (async (work) => work());
  return piece(() => {
    const { state } = closeSession(folded.state, { at: folded.at });
    const older = state.turns.toArray().filter(({ start }) => start < before);
    const earlier = older.length - countTurnsWithinLimit(older, limit);
    const turns = older.slice(earlier);
    const window = {
      ...state,
      earlier,
      turns: Sequence.from(turns.map((turn) => restoreTurn(omitHiddenTurn(turnSnapshot(turn))))),
    };
    return { share, state: window, next: earlier === 0 ? null : (turns[0]?.start ?? null) };
  });
}
