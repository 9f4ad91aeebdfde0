/** Tests tool schemas: their JSON Schema for models, validation of inputs, and parsing of hostile arguments. */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";

import { toJsonSchema, parseArguments, parseInput, ToolSchemaError } from "../../src/models/tool-schema.ts";

const city = z.object({ city: z.string().describe("where"), days: z.number().int().max(7).default(1) });

describe("JSON Schema of a tool", () => {
  test("describes the input", () => {
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

  test("comes from any schema library that supports it", () => {
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
    ["a library without JSON Schema", mute],
    ["a type without JSON Schema", z.object({ at: z.date() })],
    ["a schema that is not an object", z.string()],
    ["a value that is not a schema", {} as StandardSchemaV1],
  ])("throws for %s and names the tool", (_, schema) => {
    expect(() => toJsonSchema(schema, "weather")).toThrow(ToolSchemaError);
    expect(() => toJsonSchema(schema, "weather")).toThrow(/the tool weather: .*z[.]object/s);
  });
});

describe("input of a tool", () => {
  test("is returned as the schema transforms it", async () => {
    expect(await parseInput(city, { city: "Oslo" })).toEqual({ ok: true, value: { city: "Oslo", days: 1 } });
  });

  test("reports to the model where and why it is invalid", async () => {
    const result = await parseInput(z.object({ list: z.array(city) }), { list: [{ city: 1 }, { days: 9 }] });
    expect(result).toMatchObject({
      ok: false,
      problem: expect.stringMatching(/^list[.]0[.]city: .*string/m),
    });
    expect(result).toMatchObject({ problem: expect.stringMatching(/^list[.]1[.]days: /m) });
  });

  test("reports many problems in a message of bounded length", async () => {
    const long = z.array(z.string().refine(() => false, "😀".repeat(900)));
    const result = await parseInput(z.object({ long }), { long: Array.from({ length: 500 }, () => "x") });
    if (result.ok) throw new Error("it is wrong");
    expect(result.problem.length).toBeLessThanOrEqual(2000);
    expect(encodeURIComponent(result.problem)).toBeTruthy();
  });

  test("can be validated asynchronously", async () => {
    const slow = z.object({ a: z.string().refine(async (text) => text === "x", "not x") });
    expect(await parseInput(slow, { a: "x" })).toEqual({ ok: true, value: { a: "x" } });
    expect(await parseInput(slow, { a: "y" })).toEqual({ ok: false, problem: "a: not x" });
  });
});

describe("arguments of a call", () => {
  test("are parsed as JSON", () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false }), fc.boolean(), (value, isSpaced) => {
        const text = JSON.stringify(value, null, isSpaced ? 2 : 0);
        if (/__proto__|constructor/.test(text)) return;
        expect(parseArguments(text)).toEqual({ ok: true, value: JSON.parse(text) });
      }),
    );
  });

  test.each(["", "  ", "\n"])("are an empty object if they are empty (%j)", (text) => {
    expect(parseArguments(text)).toEqual({ ok: true, value: {} });
  });

  test.each([
    ["__proto__", '{"a":{"__proto__":{"isAdmin":true}}}'],
    ["__proto__, escaped", '{"\\u005f_proto__":{"isAdmin":true}}'],
    ["constructor.prototype", '{"constructor":{"prototype":{"isAdmin":true}}}'],
    ["a duplicate key", '{"to":"me","to":"you"}'],
    ["a duplicate key, escaped", '{"to":"me","\\u0074o":"you"}'],
    ["a duplicate key in a nested object", '[{"a":[{"b":":","c":{"d":1,"d":2}}]}]'],
    ["a duplicate key whose first value is large", '{"a":{"x":1,"y":2},"a":0,"b":":"}'],
    ["invalid JSON", '{"a":'],
    ["two values", "{}{}"],
    ["deep nesting", `${"[".repeat(100_000)}${"]".repeat(100_000)}`],
  ])("are refused with a message: %s", (_, text) => {
    const result = parseArguments(text);
    expect(result).toMatchObject({ ok: false, problem: expect.stringContaining("arguments") });
    expect(result.ok ? "" : result.problem.length).toBeLessThanOrEqual(2000);
  });

  test("can contain colons, quotes and brackets in strings", () => {
    for (const value of [{ 'a"::': 1 }, { "a\\": ":", "\\": ["::", '"', "}]"] }])
      expect(parseArguments(JSON.stringify(value))).toEqual({ ok: true, value });
  });
});
