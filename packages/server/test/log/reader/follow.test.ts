/** Tests single steps of `reduceFollow`, for cases that rarely occur in the randomized tests. */
import { expect, test } from "vitest";
import type { PublishedBatch } from "../../../src/log/engine.ts";
import { LogEntry } from "../../../src/log/entry.ts";
import {
  reduceFollow,
  type FollowEffect,
  type FollowInput,
  initialFollowState,
} from "../../../src/log/reader/follow.ts";

const at = (cursor: string) => {
  const [epoch, seq] = cursor.split("-").map(Number);
  return { epoch: epoch ?? 0, seq: seq ?? 0 };
};
const entry = (cursor: string) => new LogEntry(at(cursor).epoch, at(cursor).seq, "w:1 {}");
const page = (...cursors: string[]): FollowInput => ({
  type: "page",
  entries: cursors.map(entry),
  more: false,
});
const written = (before: string | null, ...cursors: string[]): FollowInput => {
  const batch: PublishedBatch = { before: before === null ? null : at(before), entries: cursors.map(entry) };
  return { type: "written", batch };
};
const possibleGap: FollowInput = { type: "possible-gap" };

function describeEffect(effect: FollowEffect): string[] {
  if (effect.type === "deliver") return effect.entries.map(({ cursor }) => cursor);
  return [effect.type === "read" ? `read ${effect.after.epoch}-${effect.after.seq}` : `end ${effect.reason}`];
}

/** Returns the effects after each input, for a reader that starts after `after`. */
function play(after: string, ...inputs: FollowInput[]): string[][] {
  let state = initialFollowState(at(after));
  return inputs.map((input) => {
    const step = reduceFollow(state, input);
    state = step.state;
    return step.effects.flatMap(describeEffect);
  });
}

test("delivers entries that were published during a read after the page, each once", () => {
  const steps = play(
    "1-1",
    written(null, "1-2", "1-3"),
    written(null, "1-4"),
    page("1-2"),
    written(null, "1-5"),
  );
  expect(steps).toEqual([[], [], ["1-2", "1-3", "1-4"], ["1-5"]]);
});

test("accepts a claim only if it follows the current position", () => {
  expect(play("1-5", page(), written("1-5", "2-6"))).toEqual([[], ["2-6"]]);
  // The same seq, but in a log that was lost and rewritten.
  expect(play("1-5", page(), written("2-5", "3-6"))).toEqual([[], ["read 1-5"]]);
  expect(play("1-5", page(), written("1-3", "2-4"))).toEqual([[], ["read 1-5"]]);
  expect(play("1-5", page(), written(null, "2-6"))).toEqual([[], ["read 1-5"]]);
});

test("reads again after a gap between published entries, live or buffered", () => {
  expect(play("1-1", page(), written(null, "1-3"), page("1-2", "1-3"), written(null, "1-4"))).toEqual([
    [],
    ["read 1-1"],
    ["1-2", "1-3"],
    ["1-4"],
  ]);
  expect(play("1-1", written(null, "1-3"), page(), page("1-2", "1-3"))).toEqual([
    [],
    ["read 1-1"],
    ["1-2", "1-3"],
  ]);
});

test("drops entries that were already delivered, in part or completely", () => {
  expect(play("1-3", page(), written(null, "1-2", "1-3"), written(null, "1-3", "1-4"))).toEqual([
    [],
    [],
    ["1-4"],
  ]);
  expect(play("2-3", page(), written(null, "1-4"))).toEqual([[], []]);
});

test("reads again after a possible gap and drops the entries that it buffered before", () => {
  expect(play("1-1", page(), possibleGap, page("1-2"))).toEqual([[], ["read 1-1"], ["1-2"]]);
  expect(play("1-1", written(null, "1-2"), possibleGap, page(), page())).toEqual([[], [], ["read 1-1"], []]);
});

test("drops the buffer and reads again when more entries are published than it can buffer", () => {
  const many = Array.from({ length: 6_000 }, (_, n) => written(null, `1-${n + 2}`));
  const [effects] = play("1-1", ...many, page("1-2")).slice(-1);
  expect(effects).toEqual(["1-2", "read 1-2"]);
});

test("ignores every input after the end", () => {
  expect(
    play("1-1", { type: "over", reason: "lost" }, page("1-2"), possibleGap, written(null, "1-2")),
  ).toEqual([["end lost"], [], [], []]);
});
