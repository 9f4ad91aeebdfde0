/** What a tool takes: described for models, checked, and what models must not get past us. */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";

import { toJsonSchema, parseArguments, parseInput, ToolSchemaError } from "../../src/models/tool-schema.ts";

const city = z.object({ city: z.string().describe("where"), days: z.number().int().max(7).default(1) });

describe("a description", () => {
  test("is JSON Schema for what goes in", () => {
    expect(toJsonSchema(city, "weather")).toEqual({
      type: "object",
      properties: {
        city: { type: "string", description: "where" },
        days: expect.objectContaining({ type: "integer", default: 1 }),
      },
      required: ["city"],
      additionalProperties: false,
    });
  });

  test("comes from any library that can describe itself", () => {
    const own = {
      "~standard": {
        version: 1,
        vendor: "own",
        validate: (value: unknown) => ({ value }),
        jsonSchema: { input: () => ({ type: "object", properties: {} }), output: () => ({}) },
      },
    } as const;
    expect(toJsonSchema(own, "t")).toMatchObject({ type: "object", properties: {} });
  });

  const mute: StandardSchemaV1 = {
    "~standard": { version: 1, vendor: "mute", validate: (value) => ({ value }) },
  };
  test.each<[string, StandardSchemaV1]>([
    ["a library that can't", mute],
    ["what JSON can't hold", z.object({ at: z.date() })],
    ["what is no object", z.string()],
    ["what is no schema", {} as StandardSchemaV1],
  ])("fails for %s, and says for which tool", (_, schema) => {
    expect(() => toJsonSchema(schema, "weather")).toThrow(ToolSchemaError);
    expect(() => toJsonSchema(schema, "weather")).toThrow(/the tool weather: .*z[.]object/s);
  });
});

describe("an input", () => {
  test("comes out as the schema makes it", async () => {
    expect(await parseInput(city, { city: "Oslo" })).toEqual({ ok: true, value: { city: "Oslo", days: 1 } });
  });

  test("that is wrong tells the model where and why", async () => {
    const result = await parseInput(z.object({ list: z.array(city) }), { list: [{ city: 1 }, { days: 9 }] });
    expect(result).toMatchObject({
      ok: false,
      problem: expect.stringMatching(/^list[.]0[.]city: .*string/m),
    });
    expect(result).toMatchObject({ problem: expect.stringMatching(/^list[.]1[.]days: /m) });
  });

  test("that is wrong in many ways has a problem of bounded length", async () => {
    const long = z.array(z.string().refine(() => false, "😀".repeat(900)));
    const result = await parseInput(z.object({ long }), { long: Array.from({ length: 500 }, () => "x") });
    if (result.ok) throw new Error("it is wrong");
    expect(result.problem.length).toBeLessThanOrEqual(2000);
    expect(encodeURIComponent(result.problem)).toBeTruthy();
  });

  test("is checked by code that takes its time, too", async () => {
    const slow = z.object({ a: z.string().refine(async (text) => text === "x", "not x") });
    expect(await parseInput(slow, { a: "x" })).toEqual({ ok: true, value: { a: "x" } });
    expect(await parseInput(slow, { a: "y" })).toEqual({ ok: false, problem: "a: not x" });
  });
});

describe("arguments", () => {
  test("are read as JSON reads them", () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false }), fc.boolean(), (value, isSpaced) => {
        const text = JSON.stringify(value, null, isSpaced ? 2 : 0);
        if (/__proto__|constructor/.test(text)) return;
        expect(parseArguments(text)).toEqual({ ok: true, value: JSON.parse(text) });
      }),
    );
  });

  test.each(["", "  ", "\n"])("that are empty (%j) are no arguments", (text) => {
    expect(parseArguments(text)).toEqual({ ok: true, value: {} });
  });

  test.each([
    ["__proto__", '{"a":{"__proto__":{"isAdmin":true}}}'],
    ["__proto__, escaped", '{"\\u005f_proto__":{"isAdmin":true}}'],
    ["constructor.prototype", '{"constructor":{"prototype":{"isAdmin":true}}}'],
    ["a key twice", '{"to":"me","to":"you"}'],
    ["a key twice, escaped", '{"to":"me","\\u0074o":"you"}'],
    ["a key twice, deep inside", '[{"a":[{"b":":","c":{"d":1,"d":2}}]}]'],
    ["a key twice, whose first value is large", '{"a":{"x":1,"y":2},"a":0,"b":":"}'],
    ["broken JSON", '{"a":'],
    ["two values", "{}{}"],
    ["deep nesting", `${"[".repeat(100_000)}${"]".repeat(100_000)}`],
  ])("are refused with words: %s", (_, text) => {
    const result = parseArguments(text);
    expect(result).toMatchObject({ ok: false, problem: expect.stringContaining("arguments") });
    expect(result.ok ? "" : result.problem.length).toBeLessThanOrEqual(2000);
  });

  test("may hold colons, quotes and brackets in their texts", () => {
    for (const value of [{ 'a"::': 1 }, { "a\\": ":", "\\": ["::", '"', "}]"] }])
      expect(parseArguments(JSON.stringify(value))).toEqual({ ok: true, value });
  });
});
