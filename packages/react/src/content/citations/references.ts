/**
 * `useReference` finds the part of a tool result that a citation refers to, in its turn or in the turns that it
 * retries. `numberReferences` numbers the references of a text.
 * Invariant: it scans each state of a turn once. It returns the same object while the part is unchanged, so a delta
 * does not re-render citations. The chain of retries is bounded.
 */
import { createContext } from "react";
import type { Annotation, ResultPart, Turn } from "@turnstream/protocol";
import { useStoreSelector } from "../../hooks/stores.ts";

/** Bounds the chain of retries, in case it contains a loop. */
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
 * Returns the part from the turn or from the turn that it retries. Returns the same object while the part is unchanged.
 * @param getTurn returns the current turn of an id
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

/** Returns the part that a citation of a turn refers to, or null if it is not available. */
export function useReference(turnId: string, reference: number): ResultPart | null {
  return useStoreSelector(`turn:${turnId}`, (store) =>
    findReference((id) => store.getTurn(id), turnId, reference),
  );
}

/** The citations of one text. The context is per text, so that a new citation re-renders only the chips. */
export interface Citations {
  readonly turnId: string;
  readonly annotations: readonly Annotation[];
  /** The shown number of each reference. */
  readonly numbers: ReadonlyMap<number, number>;
}

export const CitationContext = createContext<Citations | null>(null);

/** Returns the shown number of each reference: from 1, in the order of first citation. */
export function numberReferences(annotations: readonly Annotation[]): ReadonlyMap<number, number> {
  const numbers = new Map<number, number>();
  for (const { reference } of annotations)
    if (!numbers.has(reference)) numbers.set(reference, numbers.size + 1);
  return numbers;
}
