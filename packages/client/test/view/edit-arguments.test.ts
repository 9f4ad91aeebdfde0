/** Tests how arguments become editable fields, and fields become arguments again. */
import type { ArgumentField, Json } from "@turnstream/protocol";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { findEditProblem, parseArguments, toArguments, toEditFields } from "../../src/view/edit-arguments.ts";

const ARGUMENTS: readonly ArgumentField[] = [
  { name: "until", type: "date" },
  { name: "side", type: "select", options: [{ value: "buy", label: "Buy" }] },
  { name: "price", type: "number", unit: "VND" },
];
const typesOf = (input: Json) => toEditFields(input, ARGUMENTS)?.map(({ type }) => type);

describe("U05: edited arguments", () => {
  test("stay the same if the user changes nothing, whatever their values", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue(), { minKeys: 1, maxKeys: 10 }), (value) => {
        const input = JSON.parse(JSON.stringify(value)) as Record<string, never>;
        const fields = toEditFields(input);
        expect(fields?.every((one) => findEditProblem(one) === null)).toBe(true);
        expect(JSON.stringify(toArguments(fields ?? []))).toBe(JSON.stringify(input));
      }),
    );
  });

  test("keep their type, and report text that doesn't fit it", () => {
    const number = { name: "n", type: "number", text: "1.5" } as const;
    expect(toArguments([number])).toEqual({ n: 1.5 });
    expect(findEditProblem({ ...number, text: "1,5" })).toBe("not_a_number");
    expect(findEditProblem({ ...number, text: " " })).toBe("not_a_number");
    expect(findEditProblem({ name: "j", type: "json", text: "[1," })).toBe("not_json");
    for (const text of ["True", "yes", "true ", ""])
      expect(findEditProblem({ name: "b", type: "boolean", text })).toBe("wrong_type");
    expect(toEditFields([1])).toBe(null);
    expect(parseArguments("[1]")).toBe(null);
    expect(parseArguments('{"a":1}')).toEqual({ a: 1 });
  });

  test("have the input that the schema of the tool states, if it can show the value", () => {
    expect(typesOf({ until: "2026-04-30", side: "buy", price: 1 })).toEqual(["date", "select", "number"]);
    expect(typesOf({ until: "soon", side: "hold", price: "1" })).toEqual(["text", "text", "text"]);
    expect(typesOf({ until: null, side: ["buy"], price: true })).toEqual(["json", "json", "boolean"]);
  });

  test("stay the same if the user changes nothing, whatever the schema states", () => {
    const types = fc.constantFrom("text", "number", "boolean", "date", "select");
    fc.assert(
      fc.property(fc.jsonValue(), types, (value, type) => {
        const input = { a: JSON.parse(JSON.stringify(value)) as Json };
        const fields = toEditFields(input, [{ name: "a", type, options: [{ value: "", label: "None" }] }]);
        expect(JSON.stringify(toArguments(fields ?? []))).toBe(JSON.stringify(input));
      }),
    );
  });

  test("report a date that doesn't exist, and a missing choice", () => {
    const date = { name: "d", type: "date", text: "2026-02-30" } as const;
    expect(findEditProblem(date)).toBe("not_a_date");
    expect(findEditProblem({ ...date, text: "" })).toBe("required");
    expect(findEditProblem({ ...date, text: "2026-02-28" })).toBe(null);
    expect(findEditProblem({ name: "s", type: "select", text: "" })).toBe("required");
  });
});
