/** What a citation refers to: the part of a tool's result that it names. Looked through once for each state of a turn. */
import { findTurn, type ResultPart, type SessionState, type Turn } from "@turnstream/protocol";

const found = new WeakMap<Turn, ReadonlyMap<number, ResultPart>>();

function referencesOf(turn: Turn): ReadonlyMap<number, ResultPart> {
  const known = found.get(turn);
  if (known !== undefined) return known;
  const parts = new Map<number, ResultPart>();
  for (const item of turn.items) {
    if (item?.kind !== "tool_result") continue;
    for (const part of item.parts)
      if (part.reference !== null && !parts.has(part.reference.id)) parts.set(part.reference.id, part);
  }
  found.set(turn, parts);
  return parts;
}

/** The part, the same object for as long as it is the same; of the turn, or of the one that it tries again. */
export function findReference(state: SessionState, turn: string, reference: number): ResultPart | null {
  let looked: Turn | undefined = findTurn(state, turn);
  for (let tries = 0; looked !== undefined && tries < 20; tries++) {
    const part = referencesOf(looked).get(reference);
    if (part !== undefined) return part;
    looked = looked.retries === null ? undefined : findTurn(state, looked.retries);
  }
  return null;
}
