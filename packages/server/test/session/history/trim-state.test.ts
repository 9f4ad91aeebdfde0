/** Tests that a trimmed state continues like the whole state: the same frames in every dialect, from every position. */
import { atEveryCut } from "@turnstream/conformance/support/property-runs.ts";
import { expectSame, framesFrom, statesOf } from "@turnstream/conformance/support/replay.ts";
import { emptyState, type SessionEvent } from "@turnstream/protocol";
import { blocks } from "@turnstream/protocol/blocks";
import { responses } from "@turnstream/protocol/responses";
import { tasks } from "@turnstream/protocol/tasks";
import { expect, test } from "vitest";
import { trimState } from "../../../src/session/history/trim-state.ts";

test("each dialect continues from a trimmed state as from the whole state at every position of generated logs", () => {
  let dropped = 0;
  atEveryCut(
    (events: SessionEvent[], cuts: number[]) => {
      const states = statesOf(events);
      for (const k of cuts) {
        const whole = states[k] ?? emptyState;
        const slim = trimState(whole);
        dropped += whole.turns.length - slim.turns.length;
        const rest = events.slice(k);
        expectSame(framesFrom(blocks, slim, rest), framesFrom(blocks, whole, rest));
        expectSame(framesFrom(tasks, slim, rest), framesFrom(tasks, whole, rest));
        expectSame(framesFrom(responses, slim, rest), framesFrom(responses, whole, rest));
        expect(trimState(slim)).toBe(slim);
      }
    },
    { push: 5, full: 20 },
  );
  expect(dropped).toBeGreaterThan(0);
});
