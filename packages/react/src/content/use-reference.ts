/** What a citation of a turn refers to; null while, or when, it isn't there. */
import type { ResultPart } from "@turnstream/protocol";
import { useStore } from "../hooks/use-session-selector.ts";
import { findReference } from "./citations/references.ts";

export function useReference(turn: string, reference: number): ResultPart | null {
  return useStore(`turn:${turn}`, (store) => findReference((id) => store.turn(id), turn, reference));
}
