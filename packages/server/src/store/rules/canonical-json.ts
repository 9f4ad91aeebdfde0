/**
 * `canonicalJson` returns the same text for equal JSON values, whatever the order of their keys. Pure.
 *
 * Invariant: stored hashes are computed from this text: those of audit rows, approvals and knowledge objects. With
 * another format, equal values would no longer have the same hash.
 */
import type { Json } from "@turnstream/protocol";

export function canonicalJson(value: Json): string {
  if (Array.isArray(value)) return `[${(value as readonly Json[]).map(canonicalJson).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const fields = Object.entries(value)
    .toSorted(([a], [b]) => (a < b ? -1 : Number(a > b)))
    .map(([key, field]) => `${JSON.stringify(key)}:${canonicalJson(field)}`);
  return `{${fields.join(",")}}`;
}
