/** Tests loading older turns before a window, and that they survive a new window only if they still connect to it. */
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

/** Returns the log of a session with `turns` turns. The turns in `forms` end with a pending form. */
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
  return events.map((event, n) => ({ v: 1, id: `1-${n + 1}`, at: n, ...event }) as unknown as SessionEvent);
}

const whole = (turns: number, forms: readonly number[] = []): SessionState => foldAll(talk(turns, forms));
const window = (state: SessionState, turns: number): SessionState => restore(snapshot(state, turns));

/** Returns a page like the server's: the newest turns before a position. */
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
  throw new Error("history is still missing after 100 pages");
}

describe("older turns", () => {
  test.for([1, 3, 7, 20, 60])("older turns, loaded %i at a time, make the whole session", (limit) => {
    const all = whole(60);
    expect(loadAll(window(all, 20), all, limit)).toEqual(all);
  });

  test("older turns fill the hole after a turn that is in the window because its form is pending", () => {
    const all = whole(60, [3]);
    const here = window(all, 20);
    expect(here.turns.length).toBe(21);
    expect(loadAll(here, all, 7)).toEqual(all);
  });

  test("a complete or empty session has no missing history", () => {
    expect(findMissingHistory(whole(5))).toBeNull();
    expect(findMissingHistory(emptyState)).toBeNull();
  });

  test("loaded turns stay when a new window arrives, and loading continues from there", () => {
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

  test("a fully loaded session stays complete when a new window arrives", () => {
    const all = whole(60);
    expect(keepLoadedTurns(all, window(whole(63), 20))).toEqual(whole(63));
  });

  test("loaded turns are dropped if they no longer connect to the new window", () => {
    const fresh = window(whole(90), 20);
    expect(keepLoadedTurns(whole(60), fresh)).toBe(fresh);
    expect(keepLoadedTurns({ ...whole(60), session: "other" }, window(whole(61), 20)).turns.length).toBe(20);
  });

  test("a turn whose form was decided in the meantime is loaded again, together with the turns before it", () => {
    const settled = foldAll(
      [
        {
          v: 1,
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

describe("applyEvents", () => {
  const log = talk(3);

  test("folds events once and in order, and skips known ones", () => {
    const { state, outcome } = applyEvents(foldAll(log.slice(0, 5)), log.slice(2));
    expect(outcome).toBe("ok");
    expect(state).toEqual(foldAll(log));
  });

  test("folds the events before a gap and none after it", () => {
    const { state, outcome } = applyEvents(emptyState, [...log.slice(0, 4), ...log.slice(5)]);
    expect([outcome, state.seq]).toEqual(["gap", 4]);
  });

  test("ignores events of a rebuilt log", () => {
    const rebuilt = { ...log[2], id: "2-3" } as SessionEvent;
    expect(applyEvents(foldAll(log), [rebuilt])).toMatchObject({ outcome: "diverged" });
  });
});
