/** Which turns of a session are other ones than before. Pure; compares references, as the fold shares what it keeps. */
import type { SessionState, Turn } from "@turnstream/protocol";

export interface TurnChanges {
  /** Whether turns came, went or moved. */
  readonly isListChanged: boolean;
  readonly turns: readonly string[];
}

const NONE: TurnChanges = { isListChanged: false, turns: [] };

export function changedTurns(before: SessionState, after: SessionState): TurnChanges {
  if (before.turns === after.turns) return NONE;
  const turns: string[] = [];
  if (before.turns.length === after.turns.length) {
    let isListChanged = false;
    const old = before.turns[Symbol.iterator]();
    for (const turn of after.turns) {
      const was = old.next().value as Turn;
      if (was === turn) continue;
      turns.push(turn.id);
      if (was.id === turn.id) continue;
      turns.push(was.id);
      isListChanged = true;
    }
    return { isListChanged, turns };
  }
  const known = new Map<string, Turn>();
  for (const turn of before.turns) known.set(turn.id, turn);
  for (const turn of after.turns) {
    if (known.get(turn.id) !== turn) turns.push(turn.id);
    known.delete(turn.id);
  }
  return { isListChanged: true, turns: [...turns, ...known.keys()] };
}
