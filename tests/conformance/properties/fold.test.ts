/** Properties of the fold and of the native handoff. They are true at every cut of any valid log. */
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
import { atEveryCut, atThreeCuts, EVERY_CUT, partOf } from "../support/property-runs.ts";

function snapshotAndTail(events: SessionEvent[], cuts: number[]): void {
  const states = statesOf(events);
  const expectWhole = sameAs(snapshot(states.at(-1) ?? emptyState));
  for (const k of cuts) {
    const wire = JSON.parse(JSON.stringify(snapshot(states[k] ?? emptyState))) as ReturnType<typeof snapshot>;
    const tail = events.slice(k);
    expectWhole(snapshot(foldAll(tail, restore(wire))));
    // A replay is coalesced, and a client can receive events twice.
    const overlap = events.slice(Math.max(0, k - 3));
    expectWhole(snapshot(foldAll([...overlap, ...coalesce(tail)], restore(wire))));
  }
}

/**
 * Proof by induction: `fold` is pure, so from equal states it produces equal states. If the restored state equals the
 * state, the restored state and the tail fold to the complete state. The tail need not be folded for each position.
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

describe("H03 snapshot(k) and the events after k fold to the complete state", () => {
  test("at every position of generated logs, because the restored state equals the state", () =>
    atEveryCut(restoresEveryState));
  test("at three positions of many more logs", () => atThreeCuts(snapshotAndTail));
});

test("a window of the newest turns folds like the complete state, for the turns that it contains", () => {
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
  }, partOf(1_000));
});

test("X04 frames don't depend on the number of turns in the window", () => {
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
  }, partOf(1_000));
});

test("an event that changes nothing returns the same state, and a change shares all unchanged parts", () => {
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

test("H05 at the end of a turn nothing stays open, and late events don't reopen it", () => {
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
      // Repeat every block event at positions after the end, like a writer that has not noticed the end.
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

test("turn.end closes everything that a crashed writer left open", () => {
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
  }, partOf(2_000));
});

test("generated events match their schemas", () => {
  atEveryCut((events) => {
    for (const event of events) {
      const result = eventSchema.safeParse(event);
      if (!result.success) expect(result.error.issues).toEqual([]);
    }
  });
});

test("an event of an earlier epoch changes nothing, at any position", () => {
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

test("a rebuilt log is never mistaken for the log that was read", () => {
  atEveryCut(
    (events) => {
      const state = foldAll(events);
      for (const event of events) {
        // The new epoch reuses positions that this reader already has, and then continues beyond them.
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

test("an event repeated at a later position changes only the position", () => {
  atEveryCut(
    (events) => {
      const state = foldAll(events);
      const { seq: _, epoch: __, ...before } = snapshot(state);
      const expectBefore = sameAs(before);
      for (const event of events) {
        // More text for an open block, or another title, is a new change and not a repetition.
        if (event.type.endsWith(".delta") || event.type === "session.update") continue;
        const again = fold(state, { ...event, id: `${state.epoch}-${state.seq + 1}` });
        const { seq: ___, epoch: ____, ...after } = snapshot(again);
        expectBefore(after);
      }
    },
    { ...EVERY_CUT, full: 200 },
  );
});
