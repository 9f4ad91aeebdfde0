/** Older turns: joined in front of a window, kept over a new one where they still join, dropped where they don't. */
import {
  emptyState,
  type SessionEvent,
  foldAll,
  restore,
  type SessionState,
  snapshot,
} from "@turnstream/protocol";
import { describe, expect, test } from "vitest";
import { prependTurns, keepLoadedTurns, findMissingHistory } from "../../src/session/history.ts";
import { applyEvents } from "../../src/session/apply-events.ts";

/** A session of so many turns, one word each; the turns named in `forms` end with a form that waits. */
function talk(turns: number, forms: readonly number[] = []): SessionEvent[] {
  const events: object[] = [{ type: "session.start", session: "s", number: 1 }];
  for (let n = 1; n <= turns; n++) {
    const turn = `t${n}`;
    events.push(
      { type: "message.add", message: `m${n}`, text: `question ${n}` },
      {
        type: "turn.start",
        turn,
        number: n,
        message: `m${n}`,
        message_number: n,
        agent: "a",
        mode: "agent",
        from_share: false,
      },
      { type: "run.start", turn, run: "main", agent: "a" },
    );
    if (forms.includes(n))
      events.push({
        type: "form.request",
        turn,
        run: "main",
        block: `b${n}`,
        index: 0,
        form: `f${n}`,
        schema: { id: "x", title: "x", fields: [] },
      });
    events.push(
      { type: "run.end", turn, run: "main", status: "completed" },
      {
        type: "turn.end",
        turn,
        reason: forms.includes(n) ? "requires_interaction" : "end_turn",
        duration_ms: 1,
      },
    );
  }
  return events.map((event, n) => ({ v: 2, id: `1-${n + 1}`, at: n, ...event }) as unknown as SessionEvent);
}

const whole = (turns: number, forms: readonly number[] = []): SessionState => foldAll(talk(turns, forms));
const window = (state: SessionState, turns: number): SessionState => restore(snapshot(state, turns));

/** As the server pages: the newest before a place. */
function page(state: SessionState, before: number, limit: number) {
  const all = state.turns.toArray().filter(({ start }) => start < before);
  return { turns: all.slice(-limit), isAll: all.length <= limit };
}

function loadAll(from: SessionState, all: SessionState, limit: number): SessionState {
  let state = from;
  for (let n = 0; n < 100; n++) {
    const before = findMissingHistory(state);
    if (before === null) return state;
    const { turns, isAll } = page(all, before, limit);
    state = prependTurns(state, turns, isAll);
  }
  throw new Error("it never ends");
}

describe("older turns", () => {
  test.for([1, 3, 7, 20, 60])("joined %i at a time, are the whole", (limit) => {
    const all = whole(60);
    expect(loadAll(window(all, 20), all, limit)).toEqual(all);
  });

  test("fill the hole behind one that was kept because it waits", () => {
    const all = whole(60, [3]);
    const here = window(all, 20);
    expect(here.turns.length).toBe(21);
    expect(loadAll(here, all, 7)).toEqual(all);
  });

  test("are not asked for when there are none", () => {
    expect(findMissingHistory(whole(5))).toBeNull();
    expect(findMissingHistory(emptyState)).toBeNull();
  });

  test("stay when the window is given anew, and go on from there", () => {
    const all = whole(60);
    const here = prependTurns(
      window(all, 20),
      page(all, findMissingHistory(window(all, 20)) ?? 0, 15).turns,
      false,
    );
    const later = whole(63);
    const loaded = keepLoadedTurns(here, window(later, 20));
    expect(loaded.turns.length).toBe(38);
    expect(loaded.earlier).toBe(25);
    expect(loadAll(loaded, later, 10)).toEqual(later);
  });

  test("that were all there stay all there", () => {
    const all = whole(60);
    expect(keepLoadedTurns(all, window(whole(63), 20))).toEqual(whole(63));
  });

  test("that don't join any more are dropped", () => {
    const fresh = window(whole(90), 20);
    expect(keepLoadedTurns(whole(60), fresh)).toBe(fresh);
    expect(keepLoadedTurns({ ...whole(60), session: "other" }, window(whole(61), 20)).turns.length).toBe(20);
  });

  test("in which something waited that waits no longer are loaded anew, with those before", () => {
    const settled = foldAll(
      [
        {
          v: 2,
          id: `1-${talk(60, [10]).length + 1}`,
          at: 0,
          type: "form.update",
          turn: "t10",
          run: "main",
          block: "b10",
          index: 0,
          version: 1,
          status: "submitted",
          values: {},
        } as unknown as SessionEvent,
      ],
      whole(60, [10]),
    );
    const loaded = keepLoadedTurns(whole(60, [10]), window(settled, 20));
    expect(loaded.turns.get(0)?.id).toBe("t11");
    expect(loadAll(loaded, settled, 20)).toEqual(settled);
  });
});

describe("events", () => {
  const log = talk(3);

  test("are folded once, in order, whatever is known already", () => {
    const { state, outcome } = applyEvents(foldAll(log.slice(0, 5)), log.slice(2));
    expect(outcome).toBe("ok");
    expect(state).toEqual(foldAll(log));
  });

  test("after a gap are not taken; those before it are", () => {
    const { state, outcome } = applyEvents(emptyState, [...log.slice(0, 4), ...log.slice(5)]);
    expect([outcome, state.seq]).toEqual(["gap", 4]);
  });

  test("of another timeline are not taken", () => {
    const rebuilt = { ...log[2], id: "2-3" } as SessionEvent;
    expect(applyEvents(foldAll(log), [rebuilt])).toMatchObject({ outcome: "diverged" });
  });
});
