/** Tests `checkForm` and `checkPartialForm`: every field type, every problem code, and hostile values. */
import { expect, test } from "vitest";
import { checkForm, checkPartialForm, type FormField, type FormSchema, type Json } from "../src/index.ts";
import { FORM_PROBLEMS } from "../src/writer.ts";

const options = [
  { value: "a", label: "A" },
  { value: "b", label: "B" },
  { value: "c", label: "C" },
];

function form(...fields: (Partial<FormField> & Pick<FormField, "type">)[]): FormSchema {
  const whole = fields.map((field, n) => ({ name: `f${n}`, label: "F", required: false, ...field }));
  return { id: "x", title: "X", fields: whole };
}

const seenCodes = new Set<string>();
function wordFor(field: Partial<FormField> & Pick<FormField, "type">, value: Json): string | null {
  const problems = checkForm(form(field), { f0: value });
  expect(problems.length).toBeLessThan(2);
  const word = problems[0]?.problem ?? null;
  if (word !== null) seenCodes.add(word);
  return word;
}

const file = { upload: "u1", name: "cv.pdf" };

test.each<
  [Partial<FormField> & Pick<FormField, "type">, readonly Json[], readonly (readonly [Json, string])[]]
>([
  [
    { type: "text" },
    ["x", "", "two\nlines"],
    [
      [1, "wrong_type"],
      [true, "wrong_type"],
      [["x"], "wrong_type"],
      [{}, "wrong_type"],
    ],
  ],
  [
    { type: "shortText", required: true, max: 3 },
    ["abc"],
    [
      ["", "required"],
      [null, "required"],
      ["abcd", "too_long"],
    ],
  ],
  [{ type: "longText", min: 3 }, ["abc", ""], [["ab", "too_short"]]],
  [
    { type: "number", min: 0, max: 10 },
    [0, 10, 0.5, null],
    [
      [-1, "too_small"],
      [11, "too_large"],
      ["5", "wrong_type"],
    ],
  ],
  [{ type: "number", required: true }, [0], [[null, "required"]]],
  [
    { type: "email" },
    ["an@example.org", "a+b@x.y.z", "việt@example.vn"],
    [
      ["an", "not_an_email"],
      ["a@b", "not_an_email"],
      ["a b@c.d", "not_an_email"],
      ["a@b..c", "not_an_email"],
      [`${"a".repeat(250)}@b.cd`, "not_an_email"],
      [5, "wrong_type"],
    ],
  ],
  [
    { type: "phone" },
    ["+84 91 234 5678", "(02) 1234-5678", "0912345678"],
    [
      ["call me", "not_a_phone"],
      ["123", "not_a_phone"],
      ["1".repeat(16), "not_a_phone"],
      ["+", "not_a_phone"],
      [912345678, "wrong_type"],
    ],
  ],
  [
    { type: "date" },
    ["2026-02-28", "2024-02-29", "2000-02-29"],
    [
      ["2026-02-29", "not_a_date"],
      ["1900-02-29", "not_a_date"],
      ["2026-13-01", "not_a_date"],
      ["2026-04-31", "not_a_date"],
      ["2026-4-1", "not_a_date"],
      ["01/02/2026", "not_a_date"],
      [20260101, "wrong_type"],
    ],
  ],
  [
    { type: "select", options },
    ["a", ""],
    [
      ["d", "not_an_option"],
      [["a"], "wrong_type"],
      ["toString", "not_an_option"],
    ],
  ],
  [
    { type: "multiSelect", options, min: 2, max: 2, required: true },
    [["a", "b"]],
    [
      [["a"], "too_few"],
      [["a", "b", "c"], "too_many"],
      [["a", "a"], "chosen_twice"],
      [["a", "d"], "not_an_option"],
      ["a", "wrong_type"],
      [[1, 2], "wrong_type"],
      [[], "required"],
    ],
  ],
  [{ type: "checkbox" }, [true, false, null], [["on", "wrong_type"]]],
  [{ type: "checkbox", required: true }, [true], [[false, "required"]]],
  [
    { type: "file" },
    [file, { ...file, media_type: "application/pdf", size: 9 }],
    [
      ["u1", "wrong_type"],
      [{ upload: "u1" }, "wrong_type"],
      [{ ...file, upload: "" }, "wrong_type"],
      [{ ...file, size: -1 }, "wrong_type"],
      [{ ...file, path: "/etc" }, "wrong_type"],
    ],
  ],
])("S07 %o accepts valid values, and names the problem of others", (field, good, bad) => {
  for (const value of good) expect(wordFor(field, value), JSON.stringify(value)).toBeNull();
  for (const [value, word] of bad) expect(wordFor(field, value), JSON.stringify(value)).toBe(word);
});

test("S07 refuses fields that the form doesn't have, whatever their names", () => {
  const schema = form({ type: "text" }, { type: "text", name: "constructor", required: true });
  const values = JSON.parse('{"f0":"x","constructor":"y","__proto__":{"f0":1},"toString":"z"}') as Json;
  expect(checkForm(schema, values)).toEqual([
    { field: "__proto__", problem: "unknown_field" },
    { field: "toString", problem: "unknown_field" },
  ]);
  expect(checkForm(schema, {})).toEqual([{ field: "constructor", problem: "required" }]);
  seenCodes.add("unknown_field");
});

test.each([null, "x", 1, ["f0"]])("S07 refuses values that are not an object: %j", (values) => {
  expect(checkForm(form({ type: "text" }), values)).toEqual([{ field: "", problem: "not_an_object" }]);
  seenCodes.add("not_an_object");
});

test("S07 checkPartialForm accepts an incomplete draft, but no wrong types, options or fields", () => {
  const schema = form(
    { type: "email", required: true },
    { type: "text", min: 5 },
    { type: "multiSelect", options, min: 2 },
    { type: "date" },
    { type: "checkbox", required: true },
  );
  expect(checkPartialForm(schema, { f0: "an@", f1: "ab", f2: ["a"], f3: "2026-", f4: false })).toEqual([]);
  expect(checkPartialForm(schema, {})).toEqual([]);
  expect(checkPartialForm(schema, { f0: 1, f2: ["d"], x: 1 })).toEqual([
    { field: "f0", problem: "wrong_type" },
    { field: "f2", problem: "not_an_option" },
    { field: "x", problem: "unknown_field" },
  ]);
});

test("the tests above cover every problem code", () => {
  // Only the server reports `not_uploaded`, because it knows the uploads.
  expect([...seenCodes, "not_uploaded"].toSorted()).toEqual(Object.keys(FORM_PROBLEMS).toSorted());
});
