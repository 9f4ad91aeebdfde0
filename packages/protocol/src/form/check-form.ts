/**
 * `checkForm` checks values against a form. The client that shows the form and the server that accepts it use the same
 * check.
 * Invariant: pure, without the schema library. It never changes a value and never throws for any input.
 */
import type { Json } from "../json.ts";
import type { FormField, FormSchema } from "../state.ts";
import { fieldProblem } from "./check-field.ts";
import type { FormProblem } from "./problems.ts";

/** How many unknown fields are reported. */
const MAX_UNKNOWN = 100;

/**
 * Returns all problems, in the order of the fields and then of the unknown fields. Empty if the form can be submitted.
 */
export function checkForm(schema: FormSchema, values: Json): FormProblem[] {
  return problemsOf(schema, values, true);
}

/** The same check for a draft: present values must be valid, but no value is required. */
export function checkPartialForm(schema: FormSchema, values: Json): FormProblem[] {
  return problemsOf(schema, values, false);
}

function problemsOf(schema: FormSchema, values: Json, isWhole: boolean): FormProblem[] {
  if (!isRecord(values)) return [{ field: "", problem: "not_an_object" }];
  const known = new Set(schema.fields.map(({ name }) => name));
  const unknown = Object.keys(values).filter((name) => !known.has(name));
  if (unknown.length > MAX_UNKNOWN) unknown.length = MAX_UNKNOWN;
  return [
    ...schema.fields.flatMap((field) => problemOf(field, valueOf(values, field.name), isWhole)),
    ...unknown.map((field) => ({ field, problem: "unknown_field" as const })),
  ];
}

function problemOf(field: FormField, value: Json, isWhole: boolean): FormProblem[] {
  const problem = isEmpty(value)
    ? isWhole && field.required
      ? "required"
      : null
    : fieldProblem(field, value, isWhole);
  return problem === null ? [] : [{ field: field.name, problem }];
}

/** A field can be called `__proto__` or `constructor`, so only own properties count. */
function valueOf(values: Readonly<Record<string, Json>>, name: string): Json {
  return Object.hasOwn(values, name) ? (values[name] ?? null) : null;
}

/** Returns true if the field is not filled in: absent, or the value of an untouched input. */
function isEmpty(value: Json): boolean {
  return value === null || value === "" || (Array.isArray(value) && value.length === 0);
}

function isRecord(value: Json): value is Readonly<Record<string, Json>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
