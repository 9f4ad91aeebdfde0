/**
 * `validateEditedInput` checks edited arguments before they reach the log and the tool: an object, bounded, without
 * prototype keys, valid for the tool's schema.
 *
 * Invariant: the schema may come from an untrusted server, so an interpreter evaluates it without generating code and
 * with a time limit. Patterns that exceed the limit are not evaluated: the worker checks them when it runs the tool.
 * The tool's own code is not called.
 */
import { type OutputUnit, type Schema, Validator } from "@cfworker/json-schema";
import type { Json } from "@turnstream/protocol";
import { isJsonLongerThan } from "../../util/json.ts";
import { withoutPatterns } from "../../util/json-schema.ts";
import { runWithTimeLimit } from "../../util/time-limit.ts";

/** The arguments and the other fields must fit into one event. */
const MAX_BYTES = 32_768;
const MAX_DEPTH = 100;
const MAX_PROBLEM_CHARS = 300;
/** A request must not block the process for more than 50 ms. It may use twice this with patterns, and twice without. */
const CHECK_MS = 10;
const FORBIDDEN: ReadonlySet<string> = new Set(["__proto__", "constructor", "prototype"]);

/** Returns what is wrong, with the field, or null. @param schema null if no schema is stored */
export function validateEditedInput(input: Json, schema: Json): string | null {
  if (typeof input !== "object" || input === null || Array.isArray(input))
    return "the arguments must be an object";
  const shape = problemOfShape(input, []);
  if (shape !== null) return shape;
  if (isJsonLongerThan(input, MAX_BYTES)) return `the arguments must have at most ${MAX_BYTES} bytes`;
  if (schema === null) return null;
  for (const usable of [schema, withoutPatterns(schema)]) {
    try {
      return runWithTimeLimit(CHECK_MS, () => problemOfSchema(input, usable));
    } catch {
      // A pattern is invalid or takes too long, or the whole schema does.
    }
  }
  return "the arguments can't be checked against the tool's schema; approve them as they are, or reject";
}

function problemOfShape(value: Json, path: readonly string[]): string | null {
  if (typeof value !== "object" || value === null) return null;
  if (path.length >= MAX_DEPTH) return `the arguments must be nested at most ${MAX_DEPTH} levels deep`;
  for (const [key, inner] of Object.entries(value)) {
    const place = [...path, key];
    if (!Array.isArray(value) && FORBIDDEN.has(key)) return `${nameOf(place)}: this key is not allowed`;
    const problem = problemOfShape(inner, place);
    if (problem !== null) return problem;
  }
  return null;
}

function problemOfSchema(input: Json, schema: Json): string | null {
  const { valid, errors } = new Validator(schema as Schema, "2020-12").validate(input);
  if (valid) return null;
  // The errors are not ordered by depth. The deepest location is the most specific.
  const [deepest] = errors.toSorted((a, b) => depthOf(b.instanceLocation) - depthOf(a.instanceLocation));
  const problem = deepest === undefined ? "they don't fit the tool" : describeProblem(deepest);
  const place = (deepest?.instanceLocation ?? "#").split("/").slice(1).map(unescaped);
  return `${place.length === 0 ? "the arguments" : nameOf(place)}: ${problem}`.slice(0, MAX_PROBLEM_CHARS);
}

/** Corrects the library's message "0 is less than 0" for `exclusiveMinimum`. */
function describeProblem({ keyword, error }: OutputUnit): string {
  const problem = error.replace(/[.\s]+$/, "");
  return keyword === "exclusiveMinimum" ? problem.replace(" is less than ", " is not more than ") : problem;
}

function depthOf(pointer: string): number {
  return pointer.split("/").length;
}

function unescaped(part: string): string {
  const plain = part.replaceAll("~1", "/").replaceAll("~0", "~");
  try {
    return decodeURIComponent(plain);
  } catch {
    return plain;
  }
}

function nameOf(place: readonly string[]): string {
  return place.join(".").slice(0, MAX_PROBLEM_CHARS / 2);
}
