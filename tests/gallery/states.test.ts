/** Tests that the log of every state is legal and contains the position of the state. */
import { emptyState, foldAll } from "@turnstream/protocol";
import { expect, test } from "vitest";
import { STATES } from "./states/index.ts";
import { positionOf } from "./states/state.ts";

test("every state has a log that contains its position", () => {
  const names = STATES.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  for (const state of STATES) {
    const events = state.log();
    const at = positionOf(state, events);
    const { seq, turns } = foldAll(events.slice(0, at), emptyState);
    expect([state.name, seq]).toEqual([state.name, at]);
    if (state.at !== "session.start") expect([state.name, turns.length]).not.toEqual([state.name, 0]);
  }
});
