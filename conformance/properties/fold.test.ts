/** Properties of the fold and the native hand-off: exact at every cut, whatever the log. */
import { isDeepStrictEqual } from "node:util";
import {
  listBlocks,
  emptyState,
  type SessionEvent,
  fold,
  foldAll,
  isPending,
  classifyEvent,
  restore,
  snapshot,
} from "@turnstream/protocol";
import { coalesce, outlivesTurn } from "@turnstream/protocol/writer";
import { eventSchema } from "@turnstream/protocol/schema";
import { blocks } from "@turnstream/protocol/blocks";
import { responses } from "@turnstream/protocol/responses";
import { tasks } from "@turnstream/protocol/tasks";
import { describe, expect, test } from "vitest";
import { crashed } from "../support/crash.ts";
import { expectSame, framesFrom, sameAs, statesOf } from "../support/replay.ts";
import { atEveryCut, atThreeCuts, EVERY_CUT, tenthOf } from "../support/property-runs.ts";

function snapshotAndTail(events: SessionEvent[], cuts: number[]): void {
  const states = statesOf(events);
  const expectWhole = sameAs(snapshot(states.at(-1) ?? emptyState));
  for (const k of cuts) {
    const wire = JSON.parse(JSON.stringify(snapshot(states[k] ?? emptyState))) as ReturnType<typeof snapshot>;
    const tail = events.slice(k);
    expectWhole(snapshot(foldAll(tail, restore(wire))));
    // What a replay sends is coalesced, and a client may get events twice.
    const overlap = events.slice(Math.max(0, k - 3));
    expectWhole(snapshot(foldAll([...overlap, ...coalesce(tail)], restore(wire))));
  }
}

/**
 * The proof by induction: where the restored state equals the state, `fold`, which is pure, makes the same of every
 * event after it. So the restored state and the tail fold to the whole, without folding the tail for each position.
 */
function restoresEveryState(events: SessionEvent[]): void {
  for (const state of statesOf(events)) {
    const wire = JSON.parse(JSON.stringify(snapshot(state))) as ReturnType<typeof snapshot>;
    const restored = restore(wire);
    if (isDeepStrictEqual(restored, state)) continue;
    expect(restored).toStrictEqual(state);
    throw new Error(`the snapshot at ${state.epoch}-${state.seq} restores another state`);
  }
}

describe("H03 snapshot(k) and the events after k fold to the whole", () => {
  test("at every position of generated logs, because what is restored equals the state", () =>
    atEveryCut(restoresEveryState));
  test("at three positions of many more logs", () => atThreeCuts(snapshotAndTail));
});

test("a window on the newest turns folds on like the whole, for the turns it has", () => {
  atThreeCuts((events, cuts) => {
    const states = statesOf(events);
    const whole = snapshot(states.at(-1) ?? emptyState);
    for (const k of cuts) {
      const folded = snapshot(foldAll(events.slice(k), restore(snapshot(states[k] ?? emptyState, 1))));
      expect(folded.earlier + folded.turns.length).toBe(whole.turns.length);
      for (const turn of folded.turns)
        expectSame(
          turn,
          whole.turns.find(({ id }) => id === turn.id),
        );
    }
  }, tenthOf(1_000));
});

test("X04 frames don't depend on how much of the past is in the window", () => {
  atThreeCuts((events, cuts) => {
    const states = statesOf(events);
    for (const k of cuts) {
      const state = states[k] ?? emptyState;
      const window = restore(snapshot(state, 1));
      const after = events.slice(k);
      expectSame(framesFrom(blocks, window, after), framesFrom(blocks, state, after));
      expectSame(framesFrom(tasks, window, after), framesFrom(tasks, state, after));
      expectSame(framesFrom(responses, window, after), framesFrom(responses, state, after));
    }
  }, tenthOf(1_000));
});

test("an event that changes nothing shares everything, and one that does shares the rest", () => {
  atEveryCut(
    (events) => {
      let state = emptyState;
      for (const event of events) {
        const next = fold(state, event);
        expect(fold(next, event)).toBe(next);
        const turn = "turn" in event ? event.turn : null;
        for (const [slot, before] of state.turns.toArray().entries()) {
          if (before.id !== turn && event.type !== "turn.start") expect(next.turns.get(slot)).toBe(before);
        }
        if ("block" in event && state.turns.length === next.turns.length) {
          const items = state.turns.last()?.items.toArray() ?? [];
          const after = next.turns.last()?.items.toArray() ?? [];
          for (const [index, item] of items.entries()) {
            if (index !== event.index && state.turns.last()?.id === turn) expect(after[index]).toBe(item);
          }
        }
        state = next;
      }
    },
    { ...EVERY_CUT, full: 200 },
  );
});

test("H05 at the end of a turn nothing stays open, and nothing late revives it", () => {
  atEveryCut(
    (events) => {
      let state = emptyState;
      const ended = new Map<string, unknown>();
      for (const event of events) {
        state = fold(state, event);
        const turn = state.turns.last();
        if (turn === undefined || turn.status === "running") continue;
        expect([turn.open, turn.half_shown, turn.group]).toEqual([0, 0, null]);
        expect(turn.runs.filter((run) => run.status === "running")).toEqual([]);
        const waiting = listBlocks(turn).filter((b) => "version" in b && isPending(b) && !outlivesTurn(b));
        expect(waiting).toEqual([]);
        if (event.type === "turn.end") ended.set(turn.id, turn);
      }
      // Every block event again, at positions after the end: a late writer that knows no better.
      for (const event of events) {
        if (!("block" in event) || event.type === "form.update" || event.type === "payment.update") continue;
        const decided = "version" in event ? { version: event.version + 10 } : {};
        const late = { ...event, ...decided, id: `99-${state.seq + 1}` } as SessionEvent;
        const next = fold(state, late);
        for (const turn of next.turns) {
          if (ended.has(turn.id)) expect(turn).toBe(state.turns.toArray().find((t) => t.id === turn.id));
        }
      }
    },
    { ...EVERY_CUT, full: 200 },
  );
});

test("turn.end closes whatever a crashed writer left open", () => {
  atThreeCuts((events, cuts) => {
    for (const k of cuts) {
      if (foldAll(events.slice(0, k)).turns.last()?.status !== "running") continue;
      const closed = foldAll(crashed(events.slice(0, k))).turns.last();
      expect([closed?.status, closed?.open, closed?.half_shown, closed?.group]).toEqual([
        "error",
        0,
        0,
        null,
      ]);
      expect(
        closed?.items.toArray().filter((item) => item !== null && "end" in item && item.end === null),
      ).toEqual([]);
    }
  }, tenthOf(2_000));
});

test("generated events validate by their schemas", () => {
  atEveryCut((events) => {
    for (const event of events) {
      const result = eventSchema.safeParse(event);
      if (!result.success) expect(result.error.issues).toEqual([]);
    }
  });
});

test("a writer of an earlier epoch changes nothing, whatever position it claims", () => {
  atEveryCut(
    (events) => {
      const state = foldAll(events);
      if (state.epoch === 1) return;
      for (const event of events) {
        const zombie = { ...event, id: `${state.epoch - 1}-${state.seq + 1}` };
        expect(fold(state, zombie)).toBe(state);
      }
    },
    { ...EVERY_CUT, full: 100 },
  );
});

test("a log that was rebuilt is never taken for the one that was read", () => {
  atEveryCut(
    (events) => {
      const state = foldAll(events);
      for (const event of events) {
        // The new epoch gives out positions that this reader already has, and then goes on past them.
        const rebuilt = { ...event, id: `${state.epoch + 1}-${state.seq}` };
        const beyond = { ...event, id: `${state.epoch + 1}-${state.seq + 1}` };
        expect(classifyEvent(state, rebuilt)).toBe("diverged");
        expect(fold(state, rebuilt)).toBe(state);
        if (["session.start", "turn.start", "turn.takeover"].includes(event.type)) continue;
        expect(classifyEvent(state, beyond)).toBe("diverged");
        expect(fold(state, beyond)).toBe(state);
      }
    },
    { ...EVERY_CUT, full: 100 },
  );
});

test("an event told again at a later position changes nothing but the position", () => {
  atEveryCut(
    (events) => {
      const state = foldAll(events);
      const { seq: _, epoch: __, ...before } = snapshot(state);
      const expectBefore = sameAs(before);
      for (const event of events) {
        // More text for an open block, or another title, is news and not a repeat.
        if (event.type.endsWith(".delta") || event.type === "session.update") continue;
        const again = fold(state, { ...event, id: `${state.epoch}-${state.seq + 1}` });
        const { seq: ___, epoch: ____, ...after } = snapshot(again);
        expectBefore(after);
      }
    },
    { ...EVERY_CUT, full: 200 },
  );
});
