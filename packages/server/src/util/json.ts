/**
 * `asJsonObject` and `stringField` read JSON that is not guaranteed to be an object. Pure.
 * Invariant: they never throw: another value counts as an empty object, and a field that is not a non-empty string is
 * null. Arrays and null are not objects.
 */
import type { Json } from "@turnstream/protocol";

export type JsonObject = { readonly [field: string]: Json };

export function isJsonObject(value: Json): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Returns the object, or an empty one for any other value. Providers accept only objects as the arguments of a tool
 * call.
 */
export function asJsonObject(value: Json): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** Returns the field if it is a non-empty string, otherwise null. */
export function stringField(value: Json, field: string): string | null {
  const text = asJsonObject(value)[field];
  return typeof text === "string" && text !== "" ? text : null;
}
