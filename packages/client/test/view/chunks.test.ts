/** Long lists in portions. */
import { expect, test } from "vitest";
import { isSameList, PORTION, portionsOf } from "../../src/view/chunks.ts";

const ids = (from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_, n) => String(from + n));

test("a list is all there, in order", () => {
  const portions = portionsOf(ids(5, 70), Number);
  expect(portions.flatMap((portion) => portion.ids)).toEqual(ids(5, 70));
  expect(Math.max(...portions.map((portion) => portion.ids.length))).toBe(PORTION);
});

test("what is put in front or behind leaves the portions between as they are", () => {
  const before = portionsOf(ids(21, 70), Number);
  const after = new Map(portionsOf(ids(1, 71), Number).map((portion) => [portion.key, portion.ids]));
  const isSame = before.map(({ key, ids: was }) => isSameList(was, after.get(key) ?? []));
  expect(isSame).toEqual([false, true, true, false]);
});

test("a turn that is far from the others stands by itself", () => {
  expect(portionsOf(["3", "90", "91"], Number)).toEqual([
    { key: 0, ids: ["3"] },
    { key: 5, ids: ["90", "91"] },
  ]);
});

test("lists of the same length are not the same list", () => {
  expect(isSameList(["a", "b"], ["a", "c"])).toBe(false);
});

test("no two portions have the same key, whatever the numbers are", () => {
  const portions = portionsOf(["0", "40", "1", "41"], Number);
  expect(portions.map(({ key }) => key)).toEqual([0, 2]);
  expect(portions.flatMap((portion) => portion.ids)).toEqual(["0", "40", "1", "41"]);
});
