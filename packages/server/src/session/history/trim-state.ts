/**
 * `trimState` drops finished turns from a state and keeps enough to fold and encode further events exactly. Pure.
 *
 * Invariant: it keeps the running turn, turns with an open request, and the newest turn without its blocks.
 * `earlier` counts the dropped turns. Don't display the result.
 */
import { Sequence, type SessionState } from "@turnstream/protocol";
import { hasPendingInteractions } from "../../store/archive.ts";

export function trimState(state: SessionState): SessionState {
  const all = state.turns.toArray();
  const last = all.at(-1);
  const turns = all.flatMap((turn) => {
    if (turn.status === "running" || hasPendingInteractions(turn)) return [turn];
    // Later events refer to the newest turn: the title is written under it, and it identifies the answered message.
    if (turn === last) return [turn.items.length === 0 ? turn : { ...turn, items: Sequence.empty<never>() }];
    return [];
  });
  if (turns.length === all.length && turns.every((turn, n) => turn === all[n])) return state;
  return {
    ...state,
    earlier: state.earlier + all.length - turns.length,
    turns: Sequence.from(turns),
  };
}
