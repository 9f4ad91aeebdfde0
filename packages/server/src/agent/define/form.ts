/**
 * `parseForm` validates a form from a developer or a model and returns its schema, or a description of the problem.
 * Pure.
 *
 * Invariant: invalid input never throws. A returned schema fits into one event and has 1 to 200 fields with unique
 * names. A choice has 1 to 500 options. Labels are truncated.
 */
import type { FormField, FormSchema, Json } from "@turnstream/protocol";
import { MAX_LABEL } from "@turnstream/protocol/writer";
import { FIELD_TYPES } from "@turnstream/protocol/schema";
import { isJsonObject, type JsonObject, stringField } from "../../util/json.ts";

/** The fields to fill in. `id` names the kind of form. Default: made from the title. */
export interface FormSpec {
  readonly id?: string;
  readonly title: string;
  readonly description?: string;
  readonly fields: readonly (Omit<FormField, "required"> & { readonly required?: boolean })[];
}

export type ParsedForm =
  | { readonly ok: true; readonly schema: FormSchema }
  | { readonly ok: false; readonly problem: string };

const TYPES: ReadonlySet<string> = new Set(FIELD_TYPES);
const NAME = /^[A-Za-z][\w.-]{0,63}$/;
export const MAX_FIELDS = 200;
export const MAX_OPTIONS = 500;
/** A form and its other fields must fit into one event. */
const MAX_BYTES = 48_000;

class Problem extends Error {}

export function parseForm(value: Json): ParsedForm {
  try {
    const schema = schemaFrom(value);
    if (isTooLarge(schema)) throw new Problem("the form is too large");
    return { ok: true, schema };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return { ok: false, problem: error.message };
  }
}

/** Returns true if the form doesn't fit into an event. */
export function isTooLarge(schema: FormSchema): boolean {
  return Buffer.byteLength(JSON.stringify(schema)) > MAX_BYTES;
}

function schemaFrom(value: Json): FormSchema {
  const title = label(value, "title", "the form");
  const { fields, description, id } = value as JsonObject;
  if (!Array.isArray(fields) || fields.length === 0 || fields.length > MAX_FIELDS)
    throw new Problem(`\`fields\` must be a list of 1 to ${MAX_FIELDS} fields`);
  const read = (fields as readonly Json[]).map(fieldFrom);
  const names = new Set<string>();
  for (const { name } of read) {
    if (names.has(name)) throw new Problem(`two fields are called ${name}`);
    names.add(name);
  }
  return {
    id: typeof id === "string" && NAME.test(id) ? id : idFrom(title),
    title,
    ...(typeof description === "string" && description !== "" ? { description } : {}),
    fields: read,
  };
}

function idFrom(title: string): string {
  const plain = title
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "_")
    .replaceAll(/^_+|_+$/g, "")
    .slice(0, 64);
  return plain === "" ? "form" : plain;
}

function fieldFrom(value: Json, n: number): FormField {
  const of = `field ${n + 1}`;
  if (!isJsonObject(value)) throw new Problem(`${of} must be an object`);
  const { name, type, required, help, options, min, max } = value;
  if (typeof name !== "string" || !NAME.test(name))
    throw new Problem(`the \`name\` of ${of} must be a letter followed by up to 63 of A-Z a-z 0-9 _ . -`);
  if (typeof type !== "string" || !TYPES.has(type))
    throw new Problem(`the \`type\` of the field ${name} must be one of ${[...TYPES].join(", ")}`);
  const isChoice = type === "select" || type === "multiSelect";
  const choices = isChoice ? optionsFrom(options ?? null, name) : [];
  for (const limit of [min, max])
    if (limit !== undefined && (typeof limit !== "number" || !Number.isFinite(limit)))
      throw new Problem(`\`min\` and \`max\` of the field ${name} must be numbers`);
  if (typeof min === "number" && typeof max === "number" && min > max)
    throw new Problem(`the \`min\` of the field ${name} must not be above its \`max\``);
  return {
    name,
    label: label(value, "label", `the field ${name}`),
    type: type as FormField["type"],
    required: required === true,
    ...(typeof help === "string" && help !== "" ? { help: help.slice(0, MAX_LABEL) } : {}),
    ...(isChoice ? { options: choices } : {}),
    ...(typeof min === "number" ? { min } : {}),
    ...(typeof max === "number" ? { max } : {}),
  };
}

/** An option is a value with a label, or a text that is both. */
function optionsFrom(value: Json, name: string): NonNullable<FormField["options"]> {
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_OPTIONS)
    throw new Problem(`the field ${name} must have 1 to ${MAX_OPTIONS} \`options\``);
  return (value as readonly Json[]).map((option) => {
    if (typeof option === "string") return { value: option, label: option.slice(0, MAX_LABEL) };
    const text = isJsonObject(option) ? option["value"] : null;
    if (typeof text !== "string") throw new Problem(`an option of the field ${name} has no \`value\``);
    return {
      value: text,
      label: stringField(option, "label")?.slice(0, MAX_LABEL) ?? text.slice(0, MAX_LABEL),
    };
  });
}

function label(value: Json, field: string, of: string): string {
  const text = stringField(value, field);
  if (text === null) throw new Problem(`${of} has no \`${field}\``);
  return text.slice(0, MAX_LABEL);
}
