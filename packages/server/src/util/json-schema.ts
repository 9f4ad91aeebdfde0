/**
 * `withoutPatterns` removes the regular expressions of a JSON Schema. Pure. Gateway and worker use the same rule.
 * Invariant: a schema may come from an untrusted server, and a regular expression can take years. So patterns are left
 * to the tool or server that declared them. Keywords that would refuse more without a pattern inside them are relaxed
 * too.
 */
import type { Json } from "@turnstream/protocol";

const NAMED: ReadonlySet<string> = new Set(["properties", "$defs", "definitions", "dependentSchemas"]);
const DATA: ReadonlySet<string> = new Set(["enum", "const", "default", "examples"]);
/** A schema that accepts more in one of these makes the outer schema accept less. */
const INVERTED: ReadonlySet<string> = new Set(["not", "if", "then", "else", "oneOf", "maxContains"]);

export function withoutPatterns(schema: Json): Json {
  return strip(schema, false);
}

/** @param isNamed true if the keys are property names and not keywords */
function strip(value: Json, isNamed: boolean): Json {
  if (Array.isArray(value)) return value.map((item) => strip(item as Json, false));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value as Readonly<Record<string, Json>>);
  // Without its patterns, a schema would refuse the properties that only a pattern allows.
  const isOpen = !isNamed && Object.hasOwn(value, "patternProperties");
  return Object.fromEntries(
    entries.flatMap(([key, inner]) => {
      if (isNamed) return [[key, strip(inner, false)]];
      if (key === "pattern" || key === "patternProperties") return [];
      if (isOpen && (key === "additionalProperties" || key === "unevaluatedProperties")) return [];
      if (INVERTED.has(key) && hasPattern(value)) return [];
      return [[key, DATA.has(key) ? inner : strip(inner, NAMED.has(key))]];
    }),
  );
}

function hasPattern(value: Json): boolean {
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(
    ([key, inner]) => key === "pattern" || key === "patternProperties" || hasPattern(inner),
  );
}
