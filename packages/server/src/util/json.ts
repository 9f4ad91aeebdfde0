/** Reads JSON of which nobody has promised that it is an object. Pure. */
import type { Json } from "@turnstream/protocol";

export type JsonObject = { readonly [field: string]: Json };

export function isJsonObject(value: Json): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The object itself, or an empty one: providers take nothing else as the arguments of a call. */
export function asJsonObject(value: Json): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** A text that is not empty, or null. */
export function stringField(value: Json, field: string): string | null {
  const text = asJsonObject(value)[field];
  return typeof text === "string" && text !== "" ? text : null;
}
