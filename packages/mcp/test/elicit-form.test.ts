/** Tests how an elicitation of a server becomes a form, and how the form's values become the response. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Json, SCHEMA_VERSION } from "@turnstream/protocol";
import { eventSchema } from "@turnstream/protocol/schema";
import { type ElicitedForm, formFrom } from "../src/elicit-form.ts";

type Properties = Record<string, Json>;

function form(properties: Properties, required: string[] = []): ElicitedForm {
  const made = formFrom(
    { message: "Please\u0007 choose", requestedSchema: { type: "object", properties, required } },
    "Server",
  );
  if (made === null) throw new Error("no form");
  return made;
}
const fieldOf = (spec: Json, required = true) => form({ it: spec }, required ? ["it"] : []).schema.fields[0];

const asking = (fields: number) => {
  const options = Array.from({ length: 100 }, (_, n) => `option ${n} of those that there are`);
  const names = Array.from({ length: fields }, (_, n) => [`f${n}`, { type: "string", enum: options }]);
  const requestedSchema = { type: "object", properties: Object.fromEntries(names) as Properties };
  return formFrom({ message: "m", requestedSchema }, "Server");
};

describe("formFrom", () => {
  it.each<[Json, object]>([
    [
      { type: "string", title: "Name", description: "Yours" },
      { type: "text", label: "Name", help: "Yours" },
    ],
    [
      { type: "string", minLength: 2, maxLength: 9 },
      { type: "text", min: 2, max: 9 },
    ],
    [{ type: "string", format: "email" }, { type: "email" }],
    [{ type: "string", format: "date" }, { type: "date" }],
    [
      { type: "string", format: "uri" },
      { type: "text", help: "A URL, such as https://example.com." },
    ],
    [
      { type: "number", minimum: 0, maximum: 1.5 },
      { type: "number", min: 0, max: 1.5 },
    ],
    [{ type: "integer" }, { type: "number", help: "A whole number." }],
    [{ type: "boolean" }, { type: "checkbox", required: false }],
    [
      { type: "string", enum: ["a", "b"] },
      {
        type: "select",
        options: [
          { value: "a", label: "a" },
          { value: "b", label: "b" },
        ],
      },
    ],
    [
      { type: "string", enum: ["a"], enumNames: ["Ah"] },
      { type: "select", options: [{ value: "a", label: "Ah" }] },
    ],
    [
      { type: "string", oneOf: [{ const: "a", title: "Ah" }] },
      { type: "select", options: [{ value: "a", label: "Ah" }] },
    ],
    [
      { type: "array", minItems: 1, maxItems: 2, items: { type: "string", enum: ["a"] } },
      { type: "multiSelect", min: 1, max: 2, options: [{ value: "a", label: "a" }] },
    ],
    [
      { type: "array", items: { anyOf: [{ const: "a", title: "Ah" }] } },
      { type: "multiSelect", options: [{ value: "a", label: "Ah" }] },
    ],
    [
      { type: "string", default: "dark" },
      { type: "text", required: false, help: "When left empty: dark." },
    ],
  ])("has a field for %j", (spec, field) => {
    expect(fieldOf(spec)).toMatchObject({ name: "it", required: true, ...field });
  });

  it.each<Json>([
    { type: "object", properties: {} },
    { type: "array", items: { type: "string" } },
    { type: "string", enum: [] },
    { type: "string", oneOf: [{ const: 1 }] },
    { type: "null" },
    {},
    null,
  ])("returns null for %j", (spec) => {
    expect(
      formFrom({ message: "", requestedSchema: { type: "object", properties: { it: spec } } }, "S"),
    ).toBeNull();
  });

  it("has the server as title and a description without invisible characters", () => {
    expect(form({}).schema).toEqual({
      id: "elicitation",
      title: "Server",
      description: "Please choose",
      fields: [],
    });
  });

  it("returns the values under the server's own property names, whatever they are", () => {
    const names = ["plain", "with space", "__proto__", "constructor"];
    const made = form(Object.fromEntries(names.map((name) => [name, { type: "string" }])));
    expect(made.schema.fields.map(({ name }) => name)).toEqual([
      "plain",
      "field#2",
      "field#3",
      "constructor",
    ]);
    const read = made.read({ plain: "1", "field#2": "2", "field#3": "3" });
    expect(read).toHaveProperty("content");
    expect(Object.entries("content" in read ? read.content : {})).toEqual([
      ["plain", "1"],
      ["with space", "2"],
      ["__proto__", "3"],
    ]);
  });

  it("uses defaults for empty fields, and false for an unchecked checkbox", () => {
    const made = form(
      { a: { type: "string", default: "x" }, b: { type: "boolean", default: true }, c: { type: "string" } },
      ["b"],
    );
    expect(made.read({ a: "" })).toEqual({ content: { a: "x", b: false } });
  });

  it.each<[Json, Json]>([
    [{ type: "integer" }, 1.5],
    [{ type: "string", format: "uri" }, "not an address"],
    [{ type: "string", enum: ["a"] }, "b"],
  ])("refuses for %j a value that the form accepts: %j", (spec, value) => {
    expect(form({ it: spec }, ["it"]).read({ it: value })).toHaveProperty("problem");
  });

  it("returns null if the form exceeds the size of an event", () => {
    expect(asking(5)?.schema.fields).toHaveLength(5);
    expect(asking(20)).toBeNull();
  });

  it("fits into an event, whatever the server sends", () => {
    // A few fields with so many options exceed the size of an event.
    const many = fc
      .integer({ min: 100, max: 600 })
      .map((length) => Array.from({ length }, (_, n) => `option ${n}`));
    const spec = fc.record(
      {
        type: fc.constantFrom("string", "number", "integer", "boolean", "array"),
        title: fc.string({ unit: "binary", maxLength: 600 }),
        description: fc.string({ maxLength: 900 }),
        format: fc.constantFrom("email", "uri", "date", "date-time", "odd"),
        enum: fc.oneof(fc.array(fc.string({ minLength: 1 }), { maxLength: 3 }), many),
        items: fc.record({ enum: fc.oneof(fc.array(fc.string(), { minLength: 1, maxLength: 3 }), many) }),
        minimum: fc.integer(),
        default: fc.oneof(fc.string(), fc.integer(), fc.boolean()),
      },
      { requiredKeys: ["type"] },
    );
    fc.assert(
      fc.property(
        fc.dictionary(fc.string({ maxLength: 300 }), spec, { maxKeys: 8 }),
        fc.string(),
        (properties, message) => {
          const made = formFrom(
            { message, requestedSchema: { type: "object", properties: properties as Json } },
            "S",
          );
          if (made === null) return;
          const place = { turn: "t", run: "main", block: "b", index: 0 };
          const event = {
            v: SCHEMA_VERSION,
            id: "1-1",
            at: 1,
            type: "form.request",
            ...place,
            form: "f",
            schema: made.schema,
          };
          expect(eventSchema.safeParse(event).error).toBeUndefined();
          expect(new Set(made.schema.fields.map(({ name }) => name)).size).toBe(
            Object.keys(properties).length,
          );
          expect(Buffer.byteLength(JSON.stringify(event))).toBeLessThan(64_000);
        },
      ),
    );
  });
});
