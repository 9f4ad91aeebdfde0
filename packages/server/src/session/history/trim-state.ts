/**
 * A state without what is over and done with: enough to fold and encode on exactly, however long the session is. Keeps the
 * turn that runs, turns in which a form or payment is open, and of the newest turn its frame. Pure; not for showing.
 */
import { listBlocks, isPending, Sequence, type SessionState, type Turn } from "@turnstream/protocol";
import { outlivesTurn } from "@turnstream/protocol/writer";

/** Whether a form or payment in it is still open, so that something may become of it. */
export function hasPendingInteractions(turn: Turn): boolean {
  return listBlocks(turn).some((block) => "version" in block && outlivesTurn(block) && isPending(block));
}

export function trimState(state: SessionState): SessionState {
  const all = state.turns.toArray();
  const last = all.at(-1);
  const turns = all.flatMap((turn) => {
    if (turn.status === "running" || hasPendingInteractions(turn)) return [turn];
    // A title is told under the newest turn, and the message that it answers is known by it.
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
