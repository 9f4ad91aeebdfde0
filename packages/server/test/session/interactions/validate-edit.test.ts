/** Tests the validation of edited arguments before they are committed. */
import type { Json } from "@turnstream/protocol";
import { describe, expect, test } from "vitest";
import { validateEditedInput } from "../../../src/session/interactions/validate-edit.ts";

const withPattern = (pattern: string) => ({ properties: { a: { pattern }, n: { type: "number" } } });

const SCHEMA = {
  type: "object",
  properties: {
    symbol: { type: "string", maxLength: 5 },
    count: { type: "integer", minimum: 1 },
    legs: { type: "array", items: { type: "object", properties: { price: { type: "number" } } } },
  },
  required: ["symbol"],
  additionalProperties: false,
};
const json = (text: string) => JSON.parse(text) as Json;

describe("edited arguments", () => {
  test("are accepted if they match the schema", () => {
    expect(validateEditedInput({ symbol: "FPT", count: 2, legs: [{ price: 1.5 }] }, SCHEMA)).toBeNull();
    expect(validateEditedInput({ anything: 1 }, { type: "object" })).toBeNull();
    expect(validateEditedInput({ anything: 1 }, null)).toBeNull();
  });

  test.each([
    [{ symbol: "FPT", count: "2" }, "count: "],
    [{ symbol: "FPT", count: 0 }, "count: "],
    [{ symbol: "TOO LONG" }, "symbol: "],
    [{ symbol: "FPT", legs: [{ price: 1 }, { price: "x" }] }, "legs.1.price: "],
    [{ symbol: "FPT", more: 1 }, "more: "],
    [{ count: 1 }, "the arguments: "],
  ])("W13 15 are refused with the path of the mismatch: %j", (input, place) => {
    expect(validateEditedInput(input, SCHEMA)).toContain(place);
  });

  test.each([
    [0, "count: 0 is not more than 0"],
    [-1, "count: -1 is not more than 0"],
    [9, "count: 9 is greater than or equal to 9"],
  ])("W13 exclusive bounds are reported as exclusive: %j", (count, problem) => {
    const schema = { properties: { count: { exclusiveMinimum: 0, exclusiveMaximum: 9 } } };
    expect(validateEditedInput({ count }, schema)).toBe(problem);
  });

  test.each([
    ["[1]", "an object"],
    ["null", "an object"],
    ['"FPT"', "an object"],
    ['{"__proto__":{"admin":true}}', "__proto__"],
    ['{"a":[{"b":{"constructor":1}}]}', "a.0.b.constructor"],
    ['{"a":{"prototype":1}}', "a.prototype"],
    [`{"a":${"[".repeat(150)}${"]".repeat(150)}}`, "100 levels"],
    [JSON.stringify({ a: "x".repeat(40_000) }), "32768 bytes"],
  ])("W13 are refused whatever the schema allows: %.40s", (text, problem) => {
    expect(validateEditedInput(json(text), {})).toContain(problem);
    expect(validateEditedInput(json(text), null)).toContain(problem);
  });

  const doubling = Object.fromEntries(
    Array.from({ length: 40 }, (_, n) => [
      `d${n}`,
      { allOf: [{ $ref: `#/$defs/d${n + 1}` }, { $ref: `#/$defs/d${n + 1}` }] },
    ]),
  );
  test("are checked against patterns, unless one is invalid or takes too long", () => {
    expect(validateEditedInput({ a: "12-34" }, withPattern("^\\d+-\\d+$"))).toBeNull();
    expect(validateEditedInput({ a: "12" }, withPattern("^\\d+-\\d+$"))).toContain("a: ");
    for (const pattern of ["^(x+x+)+y$", "("]) {
      // The worker checks the pattern when it runs the tool.
      expect(validateEditedInput({ a: "x".repeat(40) }, withPattern(pattern))).toBeNull();
      expect(validateEditedInput({ a: "x".repeat(40), n: "1" }, withPattern(pattern))).toContain("n: ");
    }
  });

  test.each([
    ["a catastrophic pattern", { properties: { a: { pattern: "^(x+x+)+y$" } } }, null],
    ["a pattern inside `not`", { properties: { a: { not: { pattern: "^(x+x+)+y$" } } } }, null],
    ["exponential references", { $ref: "#/$defs/d0", $defs: { ...doubling, d40: {} } }, "can't be checked"],
    ["a recursive reference", { $ref: "#" }, "can't be checked"],
    ["a reference to a missing definition", { $ref: "#/$defs/missing" }, "can't be checked"],
    ["an external reference", { $ref: "https://schemas.example/a.json" }, "can't be checked"],
  ])("are checked in few steps if the schema is hostile or broken: %s", (_, schema, problem) => {
    // Without limits, the hostile ones would take years.
    const found = validateEditedInput({ a: "x".repeat(40) }, schema);
    if (problem === null) expect(found).toBeNull();
    else expect(found).toContain(problem);
  });
});
