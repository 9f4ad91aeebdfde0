/** Tests what a request for approval states about the arguments of a call, and what of the schema stays on the server. */
import type { Json } from "@turnstream/protocol";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { describeArguments } from "../../../src/agent/interactions/describe-arguments.ts";

const schemaOf = (schema: z.ZodType): Json => z.toJSONSchema(schema) as unknown as Json;
const editable = { isEditable: true, isTrusted: true };

const order = schemaOf(
  z.object({
    symbol: z.string().meta({ title: "Stock", description: "Ask the desk before you use HNX." }),
    side: z.union([
      z.literal("buy").meta({ title: "Buy" }),
      z.literal("sell").meta({ title: "Sell" }),
      z.literal("short").meta({ title: "Sell short" }),
    ]),
    venue: z.enum(["HOSE", "HNX"]),
    price: z.number().default(83_000).meta({ title: "Limit price", unit: "VND" }),
    until: z.iso.date().nullable(),
    whole: z.boolean(),
    note: z.string(),
    tags: z.array(z.string()).meta({ title: "Tags" }),
    internal_account: z.string().meta({ title: "Account of the broker" }),
  }),
);
const input = {
  symbol: "VNM",
  side: "buy",
  venue: "HOSE",
  price: 83_000,
  until: "2026-04-30",
  whole: true,
  note: "",
  tags: ["dividend"],
};

describe("U05: what a request states about its arguments", () => {
  test("labels, types, units and options come from the schema", () => {
    expect(describeArguments(order, input, editable)).toEqual([
      { name: "symbol", label: "Stock", type: "text" },
      {
        name: "side",
        type: "select",
        options: [
          { value: "buy", label: "Buy" },
          { value: "sell", label: "Sell" },
          { value: "short", label: "Sell short" },
        ],
      },
      {
        name: "venue",
        type: "select",
        options: [
          { value: "HOSE", label: "HOSE" },
          { value: "HNX", label: "HNX" },
        ],
      },
      { name: "price", label: "Limit price", type: "number", unit: "VND" },
      { name: "until", type: "date" },
      { name: "whole", type: "boolean" },
      { name: "tags", label: "Tags" },
    ]);
  });

  test("arguments that the call doesn't have, descriptions and defaults stay on the server", () => {
    const text = JSON.stringify(describeArguments(order, input, editable));
    expect(text).not.toMatch(/internal|broker|desk|83/);
  });

  test("options that were not chosen stay on the server if the arguments can't be edited", () => {
    const fields = describeArguments(order, input, { ...editable, isEditable: false });
    expect(fields?.find(({ name }) => name === "side")?.options).toEqual([{ value: "buy", label: "Buy" }]);
    expect(JSON.stringify(fields)).not.toMatch(/sell|HNX/);
  });

  test("texts of an MCP server are left out, its types and values are not", () => {
    const fields = describeArguments(order, input, { ...editable, isTrusted: false });
    expect(JSON.stringify(fields)).not.toMatch(/Stock|Buy|Limit|VND|Tags/);
    expect(fields).toContainEqual({ name: "price", type: "number" });
    expect(fields?.find(({ name }) => name === "side")?.options?.[2]).toEqual({
      value: "short",
      label: "short",
    });
  });

  test("a long list of options is left out, so that the event stays small", () => {
    const many = Array.from({ length: 50 }, (_, n) => `${n}${"x".repeat(400)}`);
    const long = schemaOf(z.object({ a: z.enum(many).meta({ title: "A" }) }));
    expect(describeArguments(long, { a: many[0] ?? "" }, editable)).toEqual([
      { name: "a", label: "A", type: "text" },
    ]);
  });

  test("any schema and any arguments are safe, and the result is bounded", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), fc.boolean(), (property, value, isTrusted) => {
        for (const name of ["a", "__proto__", "toString"]) {
          const schema = JSON.parse(
            `{"properties":{${JSON.stringify(name)}:${JSON.stringify(property)}}}`,
          ) as Json;
          const given = JSON.parse(`{${JSON.stringify(name)}:${JSON.stringify(value)}}`) as Json;
          const fields = describeArguments(schema, given, { isEditable: true, isTrusted });
          expect(Buffer.byteLength(JSON.stringify(fields))).toBeLessThanOrEqual(8_000);
        }
        expect(describeArguments(property as Json, value as Json, editable) ?? []).toBeInstanceOf(Array);
      }),
    );
    expect(describeArguments(undefined, input, editable)).toBe(null);
    expect(describeArguments({ properties: {} }, { toString: "x" }, editable)).toBe(null);
  });
});
