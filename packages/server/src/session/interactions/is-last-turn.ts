/**
 * `isLastTurn` returns true if nothing followed a turn: no later turn and no queued message. Reads only.
 *
 * Invariant: an interaction that expires starts the next turn only then. Otherwise the user has moved on, and a later
 * turn reads that it expired.
 */
import type { SessionRef } from "../../util/refs.ts";
import type { Store } from "../../store/store.ts";

export async function isLastTurn(store: Store, ref: SessionRef, turn: string): Promise<boolean> {
  const running = await store.running.get(ref);
  const [newest] = await store.turns.list(ref, { limit: 1 });
  const isNewest = (running?.turn ?? newest?.id) === turn;
  return isNewest && (await store.queuedMessages.list(ref)).length === 0;
}
