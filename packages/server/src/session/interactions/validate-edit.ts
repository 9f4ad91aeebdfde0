/**
 * Whether arguments that a person has changed may go into the log and to the tool: an object, within bounds, without keys
 * that reach for a prototype, and as the tool's JSON Schema says. A schema may come from a server that nobody trusts: it is
 * read by an interpreter that makes no code of it, and for a limited time. Never asks the tool's own code.
 */
import { type OutputUnit, type Schema, Validator } from "@cfworker/json-schema";
import type { Json } from "@turnstream/protocol";
import { runWithTimeLimit } from "../../util/time-limit.ts";

/** With what is around them, they have to fit one event. */
const MAX_BYTES = 32_768;
const MAX_DEPTH = 100;
/** A pattern that never ends, or references that multiply, would hold up everybody else here. */
const TIMEOUT_MS = 500;
const MAX_PROBLEM_CHARS = 300;
const FORBIDDEN: ReadonlySet<string> = new Set(["__proto__", "constructor", "prototype"]);

/** What is wrong, in words that name the place; null when nothing is. @param schema null when none was kept */
export function validateEditedInput(input: Json, schema: Json): string | null {
  if (typeof input !== "object" || input === null || Array.isArray(input))
    return "the arguments have to be an object";
  const shape = problemOfShape(input, []);
  if (shape !== null) return shape;
  if (Buffer.byteLength(JSON.stringify(input)) > MAX_BYTES)
    return `the arguments have more than ${MAX_BYTES} bytes`;
  if (schema === null) return null;
  try {
    return runWithTimeLimit(TIMEOUT_MS, () => problemOfSchema(input, schema));
  } catch {
    return "the arguments can't be checked against the tool's schema; approve them as they are, or reject";
  }
}

function problemOfShape(value: Json, path: readonly string[]): string | null {
  if (typeof value !== "object" || value === null) return null;
  if (path.length >= MAX_DEPTH) return `the arguments are nested more than ${MAX_DEPTH} levels deep`;
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
  // Errors come from the inside out and again from the outside in: the deepest place says most.
  const [deepest] = errors.toSorted((a, b) => depthOf(b.instanceLocation) - depthOf(a.instanceLocation));
  const problem = deepest === undefined ? "they don't fit the tool" : describeProblem(deepest);
  const place = (deepest?.instanceLocation ?? "#").split("/").slice(1).map(unescaped);
  return `${place.length === 0 ? "the arguments" : nameOf(place)}: ${problem}`.slice(0, MAX_PROBLEM_CHARS);
}

/** The library says "0 is less than 0" of what has to be more than 0. */
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
