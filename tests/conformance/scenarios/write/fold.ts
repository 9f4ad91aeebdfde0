/** Writes the state of a log after every event, as patches. */
import { emptyState, type SessionEvent, type Json, snapshot } from "@turnstream/protocol";
import { statesOf } from "../../support/replay.ts";
import type { FoldVector } from "../vector-types.ts";
import { diff } from "./diff.ts";

export function foldVector(description: string, events: readonly SessionEvent[]): FoldVector {
  const states = statesOf(events).map((state) => JSON.parse(JSON.stringify(snapshot(state))) as Json);
  const patches = states.slice(1).map((state, n) => diff(states[n] as Json, state));
  return {
    description,
    events,
    empty: snapshot(emptyState),
    patches,
    state: states.at(-1) as unknown as FoldVector["state"],
  };
}
