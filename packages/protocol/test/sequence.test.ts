/** Compares `Sequence` with arrays: same results, old versions unchanged, and equal contents have the same shape. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Sequence } from "../src/sequence.ts";

interface Box {
  readonly n: number;
}

// Includes lengths around 1,056: a longer sequence needs another level of blocks.
const length = fc.oneof(fc.nat(100), fc.integer({ min: 990, max: 1100 }));
const boxes = (n: number): Box[] => Array.from({ length: n }, (_, i) => ({ n: i }));

type Step = { readonly push: number } | { readonly at: number; readonly value: number };
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ push: fc.nat() }),
  fc.record({ at: fc.nat(), value: fc.nat() }),
);

describe("Sequence", () => {
  test("returns the same as an array, and leaves old versions unchanged", () => {
    fc.assert(
      fc.property(length, fc.array(step, { maxLength: 60 }), (n, steps) => {
        let model = boxes(n);
        let sequence = Sequence.from(model);
        const versions: [Sequence<Box>, Box[]][] = [[sequence, model]];
        for (const change of steps) {
          if ("push" in change) {
            const box = { n: change.push };
            model = [...model, box];
            sequence = sequence.push(box);
          } else if (model.length > 0) {
            const index = change.at % model.length;
            const box = { n: change.value };
            model = model.with(index, box);
            sequence = sequence.with(index, box);
          }
          versions.push([sequence, model]);
        }
        for (const [version, expected] of versions) {
          const items = version.toArray();
          expect(version.length).toBe(expected.length);
          expect(items.length === expected.length && items.every((item, i) => item === expected[i])).toBe(
            true,
          );
        }
      }),
    );
  });

  test("returns the same elements by index, by iteration and from the end", () => {
    fc.assert(
      fc.property(length, fc.nat(1200), (n, wanted) => {
        const model = boxes(n);
        const sequence = Sequence.from(model);
        expect([...sequence].every((item, i) => item === model[i])).toBe(true);
        expect(model.every((item, i) => item === sequence.get(i))).toBe(true);
        expect(sequence.last()).toBe(model.at(-1));
        expect(sequence.findLast((box) => box.n <= wanted)).toBe(model.findLast((box) => box.n <= wanted));
        expect(sequence.findLast(() => false)).toBeUndefined();
      }),
    );
  });

  test("has the common read methods of an array, with the same results", () => {
    fc.assert(
      fc.property(length, fc.integer({ min: -1200, max: 1200 }), fc.integer(), (n, from, to) => {
        const model = boxes(n);
        const sequence = Sequence.from(model);
        expect(sequence.at(from)).toBe(model.at(from));
        expect(sequence.at(-1)).toBe(model.at(-1));
        expect(sequence.slice(from, to)).toEqual(model.slice(from, to));
        expect(sequence.map((box, i) => box.n + i)).toEqual(model.map((box, i) => box.n + i));
        expect(sequence.find((box) => box.n === from)).toBe(model.find((box) => box.n === from));
        expect(sequence.some((box) => box.n === from)).toBe(model.some((box) => box.n === from));
      }),
    );
  });

  test("has the same shape for the same content, whatever its history", () => {
    fc.assert(
      fc.property(length, fc.nat(), (n, at) => {
        let pushed = Sequence.empty<Box | null>();
        for (const box of boxes(n)) pushed = pushed.push(box);
        expect(pushed).toStrictEqual(Sequence.from<Box | null>(boxes(n)));
        if (n === 0) return;
        const changed = pushed.with(at % n, null);
        expect(changed).not.toEqual(pushed);
        expect(changed.with(at % n, { n: at % n })).toStrictEqual(pushed);
      }),
    );
  });

  test("returns itself when nothing changes", () => {
    const sequence = Sequence.from([Number.NaN, ...Array.from({ length: 99 }, (_, i) => i)]);
    expect(sequence.with(0, Number.NaN)).toBe(sequence);
    expect(sequence.with(99, 98)).toBe(sequence);
    expect(sequence.with(1, -0)).not.toBe(sequence);
  });

  test.each([0, 1, 32, 33, 1024, 1056, 1057, 33_000])(
    "get returns undefined and with throws outside a length of %i",
    (n) => {
      const sequence = Sequence.from(boxes(n));
      for (const index of [-1, -(2 ** 32), n, n + 1, 2 ** 32, Number.NaN]) {
        expect(sequence.get(index)).toBeUndefined();
        expect(() => sequence.with(index, { n: 0 })).toThrow(RangeError);
      }
      expect(sequence.toArray()).toHaveLength(n);
      expect(sequence.get(n - 1)).toBe(sequence.last());
    },
  );

  test("becomes an array in JSON, and supports leaving an iteration early", () => {
    const sequence = Sequence.from([1, 2, 3]);
    expect(JSON.stringify({ sequence, none: Sequence.empty() })).toBe('{"sequence":[1,2,3],"none":[]}');
    const seen: number[] = [];
    for (const value of Sequence.from(Array.from({ length: 100 }, (_, i) => i))) {
      if (value === 40) break;
      seen.push(value);
    }
    expect(seen).toHaveLength(40);
  });

  test("stores undefined and null like other values", () => {
    const sequence = Sequence.from([undefined, null, ...Array.from({ length: 40 }, () => undefined)]);
    expect([...sequence]).toHaveLength(42);
    expect(sequence.push(undefined)).toHaveLength(43);
    expect(sequence.get(1)).toBeNull();
  });
});
