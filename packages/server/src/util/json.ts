/**
 * `asJsonObject` and `stringField` read JSON that is not guaranteed to be an object, and `isJsonLongerThan` measures
 * it. Pure. Invariant: they never throw: another value counts as an empty object, and a field that is not a non-empty
 * string is null. Arrays and null are not objects.
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
export function asJsonObject(value: Json | undefined): JsonObject {
  return value !== undefined && isJsonObject(value) ? value : {};
}

/** Returns the field if it is a non-empty string, otherwise null. */
export function stringField(value: Json, field: string): string | null {
  const text = asJsonObject(value)[field];
  return typeof text === "string" && text !== "" ? text : null;
}

/**
 * Returns true if the value has more bytes as JSON. A text that is far too long is not converted, because that takes
 * long for megabytes.
 */
export function isJsonLongerThan(value: object | Json, bytes: number): boolean {
  return countChars(value, bytes) > bytes || Buffer.byteLength(JSON.stringify(value)) > bytes;
}

/** Counts the characters of all strings, and stops at `most`. UTF-8 never has fewer bytes. */
function countChars(value: unknown, most: number): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 0;
  let count = 0;
  for (const [key, inner] of Object.entries(value)) {
    if (!Array.isArray(value)) count += key.length;
    count += countChars(inner, most);
    if (count > most) break;
  }
  return count;
}
