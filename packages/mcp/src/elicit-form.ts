/**
 * `formFrom` converts a server's elicitation to a form, and the submitted values to its answer. Pure.
 * Invariant: if a form can't express one of the fields, the whole elicitation is refused, so that users never fill in
 * an incomplete form. All texts of the server are cleaned and bounded. Field names are unique: `field#n` replaces
 * names that a form can't have. The answer matches the server's schema (except patterns), or `read` returns the
 * problem.
 */
import type { FormSchema, Json } from "@turnstream/protocol";
import { asJsonObject, defined, isTooLarge, stringField } from "@turnstream/server/internal";
import { cleanLine, cleanLines } from "./clean-text.ts";
import { createValidator } from "./input-schema.ts";

type Field = FormSchema["fields"][number];
type Values = Readonly<Record<string, Json>>;
type Spec = Readonly<Record<string, Json>>;

export interface ElicitedForm {
  readonly schema: FormSchema;
  /** Returns the content of the answer, or the reason why the values are invalid. */
  read(values: Values): { readonly content: Record<string, Json> } | { readonly problem: string };
}

const MAX_FIELDS = 100;
const MAX_OPTIONS = 500;
const MAX_LABEL = 200;
const MAX_HELP = 500;
const MAX_MESSAGE = 4_000;
const PLAIN_NAME = /^[A-Za-z][\w.-]{0,63}$/;

/** Returns null if a form can't express the schema, or the schema exceeds the limits of a form. */
export function formFrom(
  asked: { readonly message: string; readonly requestedSchema: Json },
  title: string,
): ElicitedForm | null {
  const schema = asJsonObject(asked.requestedSchema);
  const properties = Object.entries(asJsonObject(schema["properties"]));
  if (properties.length > MAX_FIELDS) return null;
  const required = listOf(schema["required"]);
  const fields = properties.map(([name, spec], n) =>
    fieldFrom(name, asJsonObject(spec), n, required.includes(name)),
  );
  if (!fields.every((field) => field !== null)) return null;
  const form: FormSchema = {
    id: "elicitation",
    title: cleanLine(title, MAX_LABEL),
    description: cleanLines(asked.message, MAX_MESSAGE),
    fields,
  };
  if (isTooLarge(form)) return null;
  return {
    schema: form,
    read(values) {
      const content = Object.fromEntries(
        properties.flatMap(([name, spec], n) => {
          const value = answerFor(asJsonObject(spec), valueIn(values, fields[n]?.name ?? ""));
          return value === undefined ? [] : [[name, value] as const];
        }),
      );
      const problem = createValidator(asked.requestedSchema)(content);
      return problem === null ? { content } : { problem };
    },
  };
}

function fieldFrom(name: string, spec: Spec, n: number, isRequired: boolean): Field | null {
  const kind = kindOf(spec);
  if (kind === null) return null;
  const label = cleanLine(stringField(spec, "title") ?? name, MAX_LABEL);
  const help = [stringField(spec, "description") ?? "", hintOf(spec)].filter((text) => text !== "").join(" ");
  // An unchecked checkbox is a valid answer, so a required boolean does not have to be checked. A field with a default
  // can stay empty.
  const required = isRequired && spec["type"] !== "boolean" && spec["default"] === undefined;
  return {
    name: PLAIN_NAME.test(name) ? name : `field#${n + 1}`,
    label: label === "" ? `Field ${n + 1}` : label,
    required,
    ...(help === "" ? {} : { help: cleanLine(help, MAX_HELP) }),
    ...kind,
  };
}

type Kind = Pick<Field, "type"> & Partial<Pick<Field, "options" | "min" | "max">>;

function kindOf(spec: Spec): Kind | null {
  switch (spec["type"]) {
    case "boolean":
      return { type: "checkbox" };
    case "number":
    case "integer":
      return { type: "number", ...bounds(spec, "minimum", "maximum") };
    case "array": {
      const options = optionsOf(asJsonObject(spec["items"]));
      return options === null
        ? null
        : { type: "multiSelect", options, ...bounds(spec, "minItems", "maxItems") };
    }
    case "string":
      return textKind(spec);
    default:
      return null;
  }
}

const FORMATS: Readonly<Record<string, Field["type"]>> = { email: "email", date: "date" };

function textKind(spec: Spec): Kind | null {
  if ("enum" in spec || "oneOf" in spec || "anyOf" in spec) {
    const options = optionsOf(spec);
    return options === null ? null : { type: "select", options };
  }
  const type = FORMATS[stringField(spec, "format") ?? ""] ?? "text";
  return type === "date" ? { type } : { type, ...bounds(spec, "minLength", "maxLength") };
}

/** Reads options and their titles in every notation that the protocol has defined. */
function optionsOf(spec: Spec): { value: string; label: string }[] | null {
  const titled = Array.isArray(spec["oneOf"]) ? spec["oneOf"] : spec["anyOf"];
  const names = listOf(spec["enumNames"]);
  const pairs = Array.isArray(titled)
    ? titled.map((option: Json) => [stringField(option, "const"), stringField(option, "title")] as const)
    : listOf(spec["enum"]).map((value, n) => [value, names[n]] as const);
  if (pairs.length === 0 || pairs.length > MAX_OPTIONS) return null;
  const options = pairs.map(([value, name]) => {
    if (typeof value !== "string") return null;
    const label = cleanLine(typeof name === "string" ? name : value, MAX_LABEL);
    return { value, label: label === "" ? value.slice(0, MAX_LABEL) : label };
  });
  return options.every((option) => option !== null) ? options : null;
}

/** Describes the constraints that form fields can't express. */
function hintOf(spec: Spec): string {
  const { format } = spec;
  const hints = [
    spec["type"] === "integer" ? "A whole number." : "",
    format === "uri" ? "A URL, such as https://example.com." : "",
    format === "date-time" ? "Date and time, such as 2026-01-31T09:30:00Z." : "",
    defaultIn(spec),
  ];
  return hints.filter((hint) => hint !== "").join(" ");
}

function defaultIn(spec: Spec): string {
  const { default: value } = spec;
  if (Array.isArray(value)) return `When left empty: ${value.join(", ")}.`;
  return typeof value === "string" || typeof value === "number" ? `When left empty: ${value}.` : "";
}

function answerFor(spec: Spec, value: Json | undefined): Json | undefined {
  const isEmpty =
    value === undefined || value === null || value === "" || (Array.isArray(value) && value.length === 0);
  if (!isEmpty) return value;
  // An untouched checkbox is unchecked, even if the server's default is true.
  if (spec["type"] === "boolean") return false;
  return spec["default"];
}

function bounds(spec: Spec, low: string, high: string): { min?: number; max?: number } {
  const numberIn = (key: string) => (typeof spec[key] === "number" ? spec[key] : undefined);
  return defined({ min: numberIn(low), max: numberIn(high) });
}

/** Reads own properties only, because a field can have a name such as `constructor`. */
function valueIn(values: Values, name: string): Json | undefined {
  return Object.hasOwn(values, name) ? values[name] : undefined;
}

function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? (value as readonly Json[]) : [];
}
