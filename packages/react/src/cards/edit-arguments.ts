/**
 * Converts arguments to editable fields and back (`toEditFields`, `toInput`). Pure.
 * Invariant: each plain value is one field and keeps its type. Everything else is edited as JSON.
 */
import type { Json } from "@turnstream/protocol";

/** The text of a field while it is edited, and the type of its value. */
export interface EditField {
  readonly name: string;
  readonly type: "text" | "number" | "boolean" | "json";
  readonly text: string;
}

export type EditProblem = "not_a_number" | "not_json";

type JsonObject = { readonly [key: string]: Json };

/** Returns null if the input is not an object with a few fields. It is then edited as one JSON text. */
export function toEditFields(input: Json): readonly EditField[] | null {
  if (!isJsonObject(input)) return null;
  const entries = Object.entries(input);
  if (entries.length === 0 || entries.length > 30) return null;
  return entries.map(([name, value]): EditField => {
    if (typeof value === "string") return { name, type: "text", text: value };
    if (typeof value === "number") return { name, type: "number", text: String(value) };
    if (typeof value === "boolean") return { name, type: "boolean", text: String(value) };
    return { name, type: "json", text: JSON.stringify(value, null, 2) };
  });
}

/** Names are used as they are, because an argument can be called `__proto__`. */
export function toInput(fields: readonly EditField[]): Json {
  return Object.fromEntries(fields.map((field) => [field.name, valueOf(field)]));
}

function valueOf({ type, text }: EditField): Json {
  if (type === "text") return text;
  if (type === "number") return Number(text);
  return type === "boolean" ? text === "true" : (JSON.parse(text) as Json);
}

export function findFieldProblem({ type, text }: EditField): EditProblem | null {
  if (type === "number") return text.trim() !== "" && Number.isFinite(Number(text)) ? null : "not_a_number";
  return type === "json" && tryParse(text) === undefined ? "not_json" : null;
}

/** Parses JSON. Returns null unless it is an object. */
export function parseObject(text: string): JsonObject | null {
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
