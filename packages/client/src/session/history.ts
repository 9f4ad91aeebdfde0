/**
 * Turns that are older than the window which the server gave: joined in front of it, and kept when the window is given
 * anew, as long as they still join. Pure.
 */
import { listPendingInteractions, Sequence, type SessionState, type Turn } from "@turnstream/protocol";

/** Turns before which a page is missing, by where they start; null when nothing is missing. */
export function findMissingHistory(state: SessionState): number | null {
  if (state.earlier === 0) return null;
  return newestTurns(state.turns.toArray())[0]?.start ?? null;
}

/**
 * The newest turns without a hole: a window may also have older ones, in which something still waits for a person.
 * Turns are numbered without gaps.
 */
function newestTurns(turns: readonly Turn[]): readonly Turn[] {
  let from = turns.length - 1;
  while (from > 0 && (turns[from]?.number ?? 0) - (turns[from - 1]?.number ?? 0) === 1) from--;
  return turns.slice(Math.max(0, from));
}

/** @param isAll whether nothing is before the page */
export function prependTurns(state: SessionState, page: readonly Turn[], isComplete: boolean): SessionState {
  const knownIds = new Set(state.turns.toArray().map(({ id }) => id));
  const added = page.filter(({ id }) => !knownIds.has(id));
  const earlier = isComplete ? 0 : Math.max(1, state.earlier - added.length);
  if (added.length === 0) return earlier === state.earlier ? state : { ...state, earlier };
  return { ...state, earlier, turns: sortTurns([...added, ...state.turns.toArray()]) };
}

/** What of `old` still joins a window that takes its place. */
export function keepLoadedTurns(old: SessionState, fresh: SessionState): SessionState {
  if (fresh.earlier === 0 || old.session !== fresh.session) return fresh;
  const all = fresh.turns.toArray();
  const oldest = newestTurns(all)[0];
  const before = newestTurns(old.turns.toArray());
  const at = before.findIndex(({ id }) => id === oldest?.id);
  if (oldest === undefined || at <= 0) return fresh;
  const knownIds = new Set(all.map(({ id }) => id));
  const older = before.slice(0, at).filter(({ id }) => !knownIds.has(id));
  // What waited in one of them, and does no longer, was decided meanwhile: that turn and those before are loaded anew.
  const loaded = older.slice(older.findLastIndex((turn) => listPendingInteractions(turn).length > 0) + 1);
  if (loaded.length === 0) return fresh;
  return {
    ...fresh,
    earlier: Math.max(0, fresh.earlier - loaded.length),
    turns: sortTurns([...loaded, ...all]),
  };
}

function sortTurns(turns: readonly Turn[]): Sequence<Turn> {
  return Sequence.from(turns.toSorted((a, b) => a.start - b.start));
}
