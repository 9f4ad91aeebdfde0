/** Tests cursors, the states of payments, and merged deltas. */
import {
  compareCursors,
  comparePositions,
  emptyState,
  foldAll,
  formatCursor,
  parseCursor,
  START_CURSOR,
} from "@turnstream/protocol";
import { coalesce, TRANSITIONS } from "@turnstream/protocol/writer";
import { describe, expect, test } from "vitest";
import { LogWriter } from "../support/log-writer.ts";
import { everyEvent } from "./every-event.ts";

describe("a cursor", () => {
  test.each([
    ["0-0", { epoch: 0, seq: 0 }],
    ["1-42", { epoch: 1, seq: 42 }],
    ["12-999999999999999", { epoch: 12, seq: 999_999_999_999_999 }],
    ["999999999999999-0", { epoch: 999_999_999_999_999, seq: 0 }],
  ])("H02 H03 is parsed and formatted: %s", (text, position) => {
    expect(parseCursor(text)).toEqual(position);
    expect(formatCursor(position)).toBe(text);
  });

  test.each([
    ["empty", ""],
    ["no dash", "14"],
    ["half", "1-"],
    ["the other half", "-4"],
    ["negative", "-1-4"],
    ["a negative seq", "1--4"],
    ["a sign", "1-+4"],
    ["2^53", "1-9007199254740992"],
    ["2^64", "18446744073709551616-1"],
    ["leading zeros", "1-004"],
    ["a fraction", "1-4.5"],
    ["an exponent", "1e3-4"],
    ["hexadecimal", "0xF-4"],
    ["CR LF", "1-4\r\n"],
    ["a line break inside", "1-\n4"],
    ["NUL", "1-4\u0000"],
    ["spaces", " 1-4"],
    ["full-width digits", "１-４"],
    ["Arabic digits", "١-٤"],
    ["another dash", "1–4"],
    ["three parts", "1-4-1"],
    ["1 MB of digits", `1-${"9".repeat(1_000_000)}`],
    ["1 MB of dashes", "-".repeat(1_000_000)],
    ["a number", 14],
    ["null", null],
    ["undefined", undefined],
    ["an object that looks like one", { toString: () => "1-4" }],
    ["a list", ["1-4"]],
  ])("H03 that is malformed is rejected: %s", (_, text) => {
    expect(parseCursor(text)).toBeNull();
  });

  test("H03 sorts in the order of the log: by epoch, then by seq, as numbers", () => {
    const cursors = [START_CURSOR, "0-1", "1-2", "1-9", "1-10", "2-1", "2-11", "10-0"];
    for (const [a, first] of cursors.entries()) {
      for (const [b, second] of cursors.entries()) {
        expect(Math.sign(compareCursors(first, second))).toBe(Math.sign(a - b));
      }
    }
    expect(comparePositions({ epoch: 1, seq: 2 }, { epoch: 1, seq: 2 })).toBe(0);
  });

  test("H03 that is malformed sorts before all others", () => {
    expect(compareCursors("nonsense", START_CURSOR)).toBeLessThan(0);
    expect(compareCursors("1-1", "1-01")).toBeGreaterThan(0);
  });
});

describe("merged deltas", () => {
  test("H03 fold to the same state, and end at positions of the log", () => {
    const { events, state } = everyEvent();
    const merged = coalesce(events);
    expect(merged.length).toBeLessThan(events.length);
    expect(foldAll(merged)).toEqual(state);
    const positions = new Set(events.map((event) => event.id));
    expect(merged.every((event) => positions.has(event.id))).toBe(true);
  });

  test("H03 are ignored by a fold that has their first part, so that no text is repeated", () => {
    const log = new LogWriter().session().begin("x");
    const on = log.place();
    log.add({ type: "text.start", ...on, part: false });
    for (const text of ["one ", "two ", "three"]) log.add({ type: "text.delta", ...on, text });
    const merged = coalesce(log.events).at(-1);
    expect(merged).toMatchObject({ type: "text.delta", text: "one two three", first: log.state.seq - 2 });
    const half = foldAll(log.events.slice(0, -1));
    expect(foldAll(merged === undefined ? [] : [merged], half)).toBe(half);
    expect(foldAll(coalesce(log.events), emptyState)).toEqual(log.state);
  });
});

const order = {
  payment: "p",
  order_no: "O",
  amount: 1,
  currency: "TWD",
  description: "",
  checkout_url: "u",
};

/** A payment that a turn requested before it ended. */
function requested() {
  const log = new LogWriter().session().begin("x");
  const on = log.place();
  log.add({ type: "payment.request", ...on, ...order });
  return { log: log.end("requires_interaction"), on };
}

describe("the states of a payment", () => {
  const all = ["pending", "processing", "succeeded", "failed", "cancelled", "expired"] as const;
  const allowed = [
    "pending processing",
    "pending cancelled",
    "pending expired",
    "processing succeeded",
    "processing failed",
    "processing expired",
  ];

  test.each(all.flatMap((from) => all.map((to) => [from, to] as const)))(
    "S08 %s to %s is allowed as documented",
    (from, to) => {
      expect((TRANSITIONS.payment[from] ?? []).includes(to)).toBe(allowed.includes(`${from} ${to}`));
    },
  );

  test("S08 a payment settles after its turn, is cancelled only while pending, and never leaves a final state", () => {
    const paid = requested();
    paid.log.add({ type: "payment.update", ...paid.on, version: 1, status: "processing" });
    const cancel = { type: "payment.update", ...paid.on, version: 2, status: "cancelled" } as const;
    expect(() => paid.log.add(cancel)).toThrow("L20");
    paid.log.add({ type: "payment.update", ...paid.on, version: 2, status: "succeeded" });
    const again = { type: "payment.update", ...paid.on, version: 3, status: "processing" } as const;
    expect(() => paid.log.add(again)).toThrow("L20");
    const left = requested();
    left.log.add({ type: "payment.update", ...left.on, version: 1, status: "cancelled" });
    expect(() =>
      left.log.add({ type: "payment.update", ...left.on, version: 2, status: "processing" }),
    ).toThrow("L20");
  });

  test("S08 W13 an update applies only if its version is higher, in any order of arrival", () => {
    const log = new LogWriter({ check: false }).session().begin("x");
    const on = log.place();
    log.add({ type: "payment.request", ...on, ...order });
    log.end("requires_interaction");
    log.add({ type: "payment.update", ...on, version: 2, status: "succeeded" });
    log.add({ type: "payment.update", ...on, version: 1, status: "processing" });
    log.add({ type: "payment.update", ...on, version: 3, status: "processing" });
    expect(log.state.turns.last()?.items.get(0)).toMatchObject({ status: "succeeded", version: 2 });
  });
});
