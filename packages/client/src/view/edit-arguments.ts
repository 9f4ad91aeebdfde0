/**
 * Converts arguments to editable fields and back (`toEditFields`, `toArguments`). Pure.
 * Invariant: each plain value is one field and keeps its type, whatever the schema of the tool states. Everything else is
 * edited as JSON.
 */
import { type ArgumentField, checkForm, type FormProblem, type Json } from "@turnstream/protocol";

/** The text of a field while it is edited, and the type of its value. */
export interface EditField {
  readonly name: string;
  readonly type: "text" | "number" | "boolean" | "date" | "select" | "json";
  /** A boolean is `true` or `false`. */
  readonly text: string;
  /** What the schema of the tool states about it. */
  readonly about?: ArgumentField | undefined;
}

export type EditProblem = FormProblem["problem"] | "not_a_number" | "not_json";

type JsonObject = { readonly [key: string]: Json };

/** Returns null if the input is not an object with a few fields. It is then edited as one JSON text. */
export function toEditFields(
  input: Json,
  fields: readonly ArgumentField[] = [],
): readonly EditField[] | null {
  if (!isJsonObject(input)) return null;
  const entries = Object.entries(input);
  if (entries.length === 0 || entries.length > 30) return null;
  return entries.map(([name, value]): EditField => {
    const about = fields.find((field) => field.name === name);
    if (typeof value === "string") return { name, type: textType(value, about), text: value, about };
    if (typeof value === "number") return { name, type: "number", text: String(value), about };
    if (typeof value === "boolean") return { name, type: "boolean", text: String(value), about };
    return { name, type: "json", text: JSON.stringify(value, null, 2), about };
  });
}

/** A text that is no date or no option is edited as text, because the input of a date or option could not show it. */
function textType(value: string, about: ArgumentField | undefined): "text" | "date" | "select" {
  if (about?.type === "date" && checkDate(value) === null) return "date";
  const isOption = about?.options?.some((option) => option.value === value) ?? false;
  return about?.type === "select" && isOption ? "select" : "text";
}

/** Names are used as they are, because an argument can be called `__proto__`. */
export function toArguments(fields: readonly EditField[]): Json {
  return Object.fromEntries(fields.map((field) => [field.name, valueOf(field)]));
}

function valueOf({ type, text }: EditField): Json {
  if (type === "number") return Number(text);
  if (type === "boolean") return text === "true";
  return type === "json" ? (JSON.parse(text) as Json) : text;
}

export function findEditProblem({ type, text }: EditField): EditProblem | null {
  switch (type) {
    case "number":
      return text.trim() !== "" && Number.isFinite(Number(text)) ? null : "not_a_number";
    case "boolean":
      return text === "true" || text === "false" ? null : "wrong_type";
    case "json":
      return tryParse(text) === undefined ? "not_json" : null;
    case "date":
      return checkDate(text);
    case "select":
      return text === "" ? "required" : null;
    default:
      return null;
  }
}

/** Returns the problem of a date, with the same check as for a form. */
export function checkDate(text: string): FormProblem["problem"] | null {
  const field = { name: "date", label: "", type: "date", required: true } as const;
  return checkForm({ id: "", title: "", fields: [field] }, { date: text })[0]?.problem ?? null;
}

/** Parses JSON. Returns null unless it is an object. */
export function parseArguments(text: string): JsonObject | null {
  const value = tryParse(text);
  return value !== undefined && isJsonObject(value) ? value : null;
}

function tryParse(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

function isJsonObject(value: Json): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
