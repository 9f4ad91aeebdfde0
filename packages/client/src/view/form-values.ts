/**
 * `FormState` is the state of a form while the user fills it in: its values, visited fields and problems. Pure.
 * Invariant: a draft never overwrites a field that the user changed. Empty fields are not sent. `checkValues` uses the
 * same check as the server.
 *
 *   empty ──set──▶ changed ──(debounced)──▶ saved     a draft on the server
 *     └──restore: the saved draft, for fields that were not changed meanwhile
 *   submit: shows all problems and sends nothing, or sends the values
 */
import {
  checkForm,
  checkPartialForm,
  type FormProblem,
  type FormSchema,
  type Json,
} from "@turnstream/protocol";

export type Values = Readonly<Record<string, Json>>;

export interface FormState {
  readonly values: ReadonlyMap<string, Json>;
  /** Fields that the user has left, or that a submit rejected. Problems are shown only for these. */
  readonly seen: ReadonlySet<string>;
  /** Fields that the user has changed. A draft that loads late doesn't overwrite them. */
  readonly touched: ReadonlySet<string>;
}

export const EMPTY_FORM: FormState = { values: new Map(), seen: new Set(), touched: new Set() };

export function setValue(form: FormState, field: string, value: Json): FormState {
  const { values, touched } = form;
  return { ...form, values: new Map(values).set(field, value), touched: new Set(touched).add(field) };
}

export function leaveField(form: FormState, field: string): FormState {
  return form.seen.has(field) ? form : { ...form, seen: new Set(form.seen).add(field) };
}

/** Shows the problems of all fields from now on. */
export function markAllSeen(form: FormState, { fields }: FormSchema): FormState {
  return { ...form, seen: new Set(fields.map(({ name }) => name)) };
}

/** Applies the values of a draft that are valid for the form and whose fields were not changed since. */
export function restoreDraft(form: FormState, schema: FormSchema, draft: Values): FormState {
  const bad = new Set(checkPartialForm(schema, draft).map(({ field }) => field));
  const values = new Map(form.values);
  for (const { name } of schema.fields) {
    if (!Object.hasOwn(draft, name) || bad.has(name) || form.touched.has(name)) continue;
    values.set(name, draft[name] ?? null);
  }
  return { ...form, values };
}

/** Returns the values to send: without empty fields, and with numbers parsed. */
export function toValues({ values }: FormState, { fields }: FormSchema): Values {
  const numbers = new Set(fields.filter(({ type }) => type === "number").map(({ name }) => name));
  const typed = [...values].map(([name, value]): [string, Json] => [
    name,
    numbers.has(name) && typeof value === "string" ? numberValue(value) : value,
  ]);
  return Object.fromEntries(typed.filter(([, value]) => !isEmpty(value)));
}

/** Returns the values that can be saved as a draft. */
export function toDraft(form: FormState, schema: FormSchema): Values {
  const values = toValues(form, schema);
  const bad = new Set(checkPartialForm(schema, values).map(({ field }) => field));
  return Object.fromEntries(Object.entries(values).filter(([name]) => !bad.has(name)));
}

export function checkValues(form: FormState, schema: FormSchema): readonly FormProblem[] {
  return checkForm(schema, toValues(form, schema));
}

/** Parses a number. Any other text stays text and is reported as a problem. */
function numberValue(text: string): Json {
  if (text.trim() === "") return null;
  const value = Number(text);
  return Number.isFinite(value) ? value : text;
}

function isEmpty(value: Json): boolean {
  return value === null || value === "" || (Array.isArray(value) && value.length === 0);
}
