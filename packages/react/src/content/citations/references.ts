/** What a citation refers to: the part of a tool's result that it names. Looked through once for each state of a turn. */
import { createContext } from "react";
import type { Annotation, ResultPart, Turn } from "@turnstream/protocol";
import { useStoreSelector } from "../../hooks/use-session-selector.ts";

/** Bounds the chain of retries: a loop would have no end. */
const MAX_TRIES = 20;

const cache = new WeakMap<Turn, ReadonlyMap<number, ResultPart>>();

function listReferences(turn: Turn): ReadonlyMap<number, ResultPart> {
  const known = cache.get(turn);
  if (known !== undefined) return known;
  const parts = new Map<number, ResultPart>();
  for (const item of turn.items) {
    if (item?.kind !== "tool_result") continue;
    for (const part of item.parts)
      if (part.reference !== null && !parts.has(part.reference.id)) parts.set(part.reference.id, part);
  }
  cache.set(turn, parts);
  return parts;
}

/**
 * The part, the same object for as long as it is the same; of the turn, or of the one that it tries again.
 * @param getTurn the turn of that id, as it is now
 */
function findReference(
  getTurn: (id: string) => Turn | null,
  turnId: string,
  reference: number,
): ResultPart | null {
  let turn = getTurn(turnId);
  for (let tries = 0; turn !== null && tries < MAX_TRIES; tries++) {
    const part = listReferences(turn).get(reference);
    if (part !== undefined) return part;
    turn = turn.retries === null ? null : getTurn(turn.retries);
  }
  return null;
}

/** What a citation of a turn refers to; null while, or when, it isn't there. */
export function useReference(turnId: string, reference: number): ResultPart | null {
  return useStoreSelector(`turn:${turnId}`, (store) =>
    findReference((id) => store.getTurn(id), turnId, reference),
  );
}

/** What the citations of a text refer to. Of one text, so that a new citation draws the chips and nothing else. */
export interface Citations {
  readonly turnId: string;
  readonly annotations: readonly Annotation[];
  /** What is shown for each reference. */
  readonly numbers: ReadonlyMap<number, number>;
}

export const CitationContext = createContext<Citations | null>(null);
