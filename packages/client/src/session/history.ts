/**
 * Reads pages of older turns (`restoreTurns`), and joins them to the state (`prependTurns`, `keepLoadedTurns`). Pure.
 * Invariant: loaded turns survive a new window only if they still connect to it without a hole.
 */
import {
  listPendingInteractions,
  restoreTurn,
  Sequence,
  type SessionState,
  type Turn,
  type TurnSnapshot,
  upgradeTurn,
} from "@turnstream/protocol";
import { otherVersionError } from "../errors.ts";

/** Returns the start of the oldest turn before which a page is missing; null if nothing is missing. */
export function findMissingHistory(state: SessionState): number | null {
  if (state.earlier === 0) return null;
  return newestTurns(state.turns.toArray())[0]?.start ?? null;
}

/**
 * Returns the newest turns without a hole. A window can also contain older turns with a pending interaction. Turn
 * numbers have no gaps.
 */
function newestTurns(turns: readonly Turn[]): readonly Turn[] {
  let from = turns.length - 1;
  while (from > 0 && (turns[from]?.number ?? 0) - (turns[from - 1]?.number ?? 0) === 1) from--;
  return turns.slice(Math.max(0, from));
}

/** @throws ClientError if the version of the server can't be read */
export function restoreTurns(turns: readonly object[], v: number): Turn[] {
  return turns.map((turn) => {
    const upgraded = upgradeTurn(turn as TurnSnapshot, v);
    if (upgraded) return restoreTurn(upgraded);
    throw otherVersionError();
  });
}

/** @param isComplete whether there are no turns before the page */
export function prependTurns(state: SessionState, page: readonly Turn[], isComplete: boolean): SessionState {
  const knownIds = new Set(state.turns.toArray().map(({ id }) => id));
  const added = page.filter(({ id }) => !knownIds.has(id));
  const earlier = isComplete ? 0 : Math.max(1, state.earlier - added.length);
  if (added.length === 0) return earlier === state.earlier ? state : { ...state, earlier };
  return { ...state, earlier, turns: sortTurns([...added, ...state.turns.toArray()]) };
}

/** Returns `fresh` with the turns of `old` that still connect to it. */
export function keepLoadedTurns(old: SessionState, fresh: SessionState): SessionState {
  if (fresh.earlier === 0 || old.session !== fresh.session) return fresh;
  const all = fresh.turns.toArray();
  const oldest = newestTurns(all)[0];
  const before = newestTurns(old.turns.toArray());
  const at = before.findIndex(({ id }) => id === oldest?.id);
  if (oldest === undefined || at <= 0) return fresh;
  const knownIds = new Set(all.map(({ id }) => id));
  const older = before.slice(0, at).filter(({ id }) => !knownIds.has(id));
  // A turn of them with a pending interaction is not in the new window, so the interaction was decided in the meantime.
  // That turn and those before it are loaded again.
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
