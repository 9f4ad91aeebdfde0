/**
 * Whether values fit a form: the same check for the client that shows it and the server that takes it. Pure, without
 * the schema library. Never changes a value, and never throws, whatever it is given.
 */
import type { Json } from "../json.ts";
import type { FormField, FormSchema } from "../state.ts";
import { fieldProblem } from "./check-field.ts";
import type { FormProblem } from "./problems.ts";

/** Everything that is wrong, fields in the form's order and unknown ones after them; empty when it can be submitted. */
export function checkForm(schema: FormSchema, values: Json): FormProblem[] {
  return problemsOf(schema, values, true);
}

/** The same for a draft: what is there has to fit, and nothing has to be there. */
export function checkPartialForm(schema: FormSchema, values: Json): FormProblem[] {
  return problemsOf(schema, values, false);
}

function problemsOf(schema: FormSchema, values: Json, isWhole: boolean): FormProblem[] {
  if (!isRecord(values)) return [{ field: "", problem: "not_an_object" }];
  const known = new Set(schema.fields.map(({ name }) => name));
  const unknown = Object.keys(values).filter((name) => !known.has(name));
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

/** A field may be called `__proto__` or `constructor`: only what was given counts. */
function valueOf(values: Readonly<Record<string, Json>>, name: string): Json {
  return Object.hasOwn(values, name) ? (values[name] ?? null) : null;
}

/** Not filled in: absent, or what an untouched input gives. */
function isEmpty(value: Json): boolean {
  return value === null || value === "" || (Array.isArray(value) && value.length === 0);
}

function isRecord(value: Json): value is Readonly<Record<string, Json>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
