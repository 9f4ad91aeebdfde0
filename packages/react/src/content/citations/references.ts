/** What a citation refers to: the part of a tool's result that it names. Looked through once for each state of a turn. */
import { createContext } from "react";
import type { Annotation, ResultPart, Turn } from "@turnstream/protocol";
import { useStore } from "../../hooks/use-session-selector.ts";

/** More often nobody tries again; a loop would have no end. */
const MAX_TRIES = 20;

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

/**
 * The part, the same object for as long as it is the same; of the turn, or of the one that it tries again.
 * @param turnOf the turn of that id, as it is now
 */
export function findReference(
  turnOf: (id: string) => Turn | null,
  turn: string,
  reference: number,
): ResultPart | null {
  let looked = turnOf(turn);
  for (let tries = 0; looked !== null && tries < MAX_TRIES; tries++) {
    const part = referencesOf(looked).get(reference);
    if (part !== undefined) return part;
    looked = looked.retries === null ? null : turnOf(looked.retries);
  }
  return null;
}

/** What a citation of a turn refers to; null while, or when, it isn't there. */
export function useReference(turn: string, reference: number): ResultPart | null {
  return useStore(`turn:${turn}`, (store) => findReference((id) => store.getTurn(id), turn, reference));
}

/** What the citations of a text refer to. Of one text, so that a new citation draws the chips and nothing else. */
export interface Citations {
  readonly turn: string;
  readonly annotations: readonly Annotation[];
  /** What is shown for each reference. */
  readonly numbers: ReadonlyMap<number, number>;
}

export const CitationContext = createContext<Citations | null>(null);
