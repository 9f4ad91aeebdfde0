/**
 * Tests that every event validates and folds, and that unknown events do no harm.
 */
import { emptyState, type SessionEvent, fold, SCHEMA_VERSION } from "@turnstream/protocol";
import { checkEvent } from "@turnstream/protocol/writer";
import { parseEvent } from "../support/parse-event.ts";
import { eventSchemas } from "../../../packages/protocol/src/events/index.ts";
import { describe, expect, test } from "vitest";
import { LogWriter } from "../support/log-writer.ts";
import { statesOf } from "../support/replay.ts";
import { everyEvent } from "./every-event.ts";
import { blocksIn, turnOf } from "./frames.ts";

const { events } = everyEvent();
const states = statesOf(events);

describe("every type of event", () => {
  test("is in the log of all event types", () => {
    expect(new Set(events.map((event) => event.type))).toEqual(new Set(Object.keys(eventSchemas)));
  });

  test.each(Object.keys(eventSchemas))(
    "%s matches its schema, follows the rules, and changes the state",
    (type) => {
      for (const [k, event] of events.entries()) {
        if (event.type !== type) continue;
        const before = states[k] ?? emptyState;
        const after = states[k + 1] ?? emptyState;
        expect(parseEvent(JSON.parse(JSON.stringify(event)))).toEqual({ ok: true, value: event });
        expect(checkEvent(before, event)).toBeNull();
        expect(after.seq).toBe(before.seq + 1);
        expect({ ...before, epoch: after.epoch, seq: after.seq }).not.toEqual(after);
      }
    },
  );

  test.each(Object.keys(eventSchemas))(
    "%s is rejected with an additional field, a missing field or another version",
    (type) => {
      const event = events.find((e) => e.type === type) as SessionEvent;
      const { at: _, ...missing } = event;
      expect(parseEvent({ ...event, extra: 1 })).toMatchObject({ ok: false });
      expect(parseEvent(missing)).toMatchObject({ ok: false });
      expect(parseEvent({ ...event, v: SCHEMA_VERSION - 1 })).toMatchObject({ ok: false });
    },
  );

  test("is rejected if it is no event", () => {
    for (const value of [null, undefined, 7, "x", [], {}, { type: "toString" }, { type: "text.delta" }]) {
      expect(parseEvent(value)).toMatchObject({ ok: false });
    }
  });

  test("H03 is folded once: repeated, late or of an older epoch it changes nothing", () => {
    const last = states.at(-1) ?? emptyState;
    for (const event of events) expect(fold(last, event)).toBe(last);
  });
});

describe("events that the fold can't use", () => {
  const log = new LogWriter().session().begin("x").text(["One."], { part: true });
  const next = `1-${log.state.seq + 1}`;

  test("an event of a future type advances the position and changes nothing else", () => {
    const future = {
      v: SCHEMA_VERSION + 1,
      id: next,
      at: 1,
      type: "hologram.start",
      turn: log.turn,
      block: "b",
      index: 9,
    };
    const { seq, ...rest } = fold(log.state, future);
    const { seq: before, ...same } = log.state;
    expect(seq).toBe(before + 1);
    expect(rest).toEqual(same);
    expect(rest.turns).toBe(log.state.turns);
  });

  test.each(["", "x", "1", "-1-9", "1-9\n", "1-9007199254740993", "9-"])(
    "an event without a position is ignored: %j",
    (id) => {
      const event = { v: SCHEMA_VERSION, id, at: 1, type: "session.update", title: "t" } as const;
      expect(fold(log.state, event)).toBe(log.state);
    },
  );

  test("an event for an unknown turn, block or index only advances the position", () => {
    const stamp = { v: SCHEMA_VERSION, id: next, at: 1 } as const;
    const on = { turn: log.turn, run: log.main, block: "blk_none", index: 0 };
    const strays: SessionEvent[] = [
      { ...stamp, type: "text.delta", ...on, text: "!" },
      { ...stamp, type: "text.delta", ...on, turn: "no turn", text: "!" },
      { ...stamp, type: "text.start", ...on, index: 1_000_000_000, part: false },
      { ...stamp, type: "run.end", turn: log.turn, run: "no run", status: "failed" },
      { ...stamp, type: "payment.update", ...on, version: 1, status: "succeeded" },
      { ...stamp, type: "turn.end", turn: "no turn", reason: "error", duration_ms: 1 },
    ];
    for (const event of strays) {
      expect(fold(log.state, event)).toEqual({ ...log.state, seq: log.state.seq + 1 });
      expect(checkEvent(log.state, event)).not.toBeNull();
    }
  });

  test("late events don't reopen an ended turn", () => {
    const ended = new LogWriter().session().begin("x").text(["One."], { final: true }).end();
    const stamp = { v: SCHEMA_VERSION, id: `1-${ended.state.seq + 1}`, at: 1 } as const;
    const [block] = blocksIn(ended.state);
    const on = { turn: ended.turn, run: ended.main, block: block?.id ?? "", index: 0 };
    for (const late of [
      { ...stamp, type: "text.delta", ...on, text: "more" },
      { ...stamp, type: "text.start", ...on, block: "b2", index: 1, part: false },
      { ...stamp, type: "group.start", turn: ended.turn, run: ended.main, group: "g", index: 1 },
    ] as const) {
      expect(turnOf(fold(ended.state, late))).toBe(turnOf(ended.state));
    }
  });
});
