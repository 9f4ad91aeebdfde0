/** Tests that a decision is bound to the shown call: any change of the call or its arguments changes the digest. */
import { assertCases, type CaseCounts, leastSeen } from "@turnstream/conformance/support/cases.ts";
import type { Json } from "@turnstream/protocol";
import fc from "fast-check";
import { expect, test } from "vitest";
import { requestKey } from "../../../src/engine/interactions/await-decision.ts";
import { digestOf } from "../../../src/agent/interactions/approval.ts";

const CASES: CaseCounts = { push: 80, full: 3_000 };

const shown = (input: Json) => ({ session: "s", turn: "t", call: "c", name: "trade", input });
const json = fc.jsonValue({ maxDepth: 4 }) as fc.Arbitrary<Json>;
const object = fc.dictionary(fc.string({ maxLength: 6 }), json, { maxKeys: 6 });

/**
 * Returns every JSON value that differs from this one in one place: a leaf, a type, a field or an item more or less.
 */
function* changes(value: Json): Generator<Json> {
  if (Array.isArray(value)) {
    yield [...value, null];
    if (value.length > 0) yield value.slice(1);
    for (const [n, item] of value.entries())
      for (const changed of changes(item as Json)) yield value.with(n, changed) as Json;
  } else if (typeof value === "object" && value !== null) {
    const fields = Object.entries(value);
    yield Object.fromEntries([...fields, ["added field", null]]);
    for (const [n, [key, inner]] of fields.entries()) {
      yield Object.fromEntries(fields.filter((_, other) => other !== n));
      yield Object.fromEntries(fields.map((field, other) => (other === n ? [`${key}'`, inner] : field)));
      for (const changed of changes(inner))
        yield Object.fromEntries(fields.map((field, other) => (other === n ? [key, changed] : field)));
    }
  } else {
    // Values that look alike: 1 and "1", null and "null", true and "true".
    yield typeof value === "string" ? `${value} ` : String(value);
    yield [value];
    if (typeof value === "number") yield value === 0 ? 1 : -value;
    if (typeof value === "boolean") yield !value;
    if (value !== null) yield null;
  }
}

/** The same object with its keys in another order, on every level. */
function shuffled(value: Json): Json {
  if (Array.isArray(value)) return value.map((item) => shuffled(item as Json));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([key, inner]) => [key, shuffled(inner)]),
  );
}

test("W13 any change of the arguments changes the digest, and the order of keys does not", async () => {
  let changed = 0;
  await assertCases(
    fc.property(object, (input) => {
      const digest = digestOf(shown(input));
      expect(digestOf(shown(shuffled(input)))).toBe(digest);
      const text = JSON.stringify(shuffled(input));
      for (const other of changes(input)) {
        if (JSON.stringify(shuffled(other)) === text) continue;
        changed++;
        expect(digestOf(shown(other))).not.toBe(digest);
      }
    }),
    CASES,
  );

  expect(changed).toBeGreaterThan(leastSeen(20 / 3, CASES));
});

test("W13 another session, turn, call or tool changes the digest", () => {
  const of = { session: "s", turn: "t", call: "c", name: "trade", input: { a: 1 } };
  const digest = digestOf(of);
  for (const field of ["session", "turn", "call", "name"] as const)
    expect(digestOf({ ...of, [field]: `${of[field]}x` })).not.toBe(digest);
  // Text that moves from one field to another changes the digest too.
  expect(digestOf({ ...of, session: "st", turn: "" })).not.toBe(digestOf({ ...of, session: "s", turn: "t" }));
});

function keyAt(epoch: number, length: number): string {
  const attempt = { row: { session: "s" }, turn: { items: { length } }, epoch };
  return requestKey(attempt as Parameters<typeof requestKey>[0]);
}

test("W13 a block that another attempt writes again has another key", () => {
  const keys = [1, 2, 2 ** 32 - 1].flatMap((epoch) => [0, 1, 9_999, 10_001].map((at) => keyAt(epoch, at)));
  expect(new Set(keys).size).toBe(keys.length);
  for (const key of keys) expect(key).toMatch(/^s_\d{1,16}$/);
});
