/**
 * `parseUntrustedJson` parses JSON from clients. Pure. Does not validate the content: schemas do.
 * Invariant: all JSON from clients passes it, over HTTP and over sockets. JSON with more than 64 levels, 20,000 values
 * or a long number is refused before `JSON.parse`, because parsing 2 MB of such text would block the process. A
 * `__proto__` key is refused, because later code could change a prototype with it. The checks must not recurse.
 */
import type { ErrorCode } from "@turnstream/protocol";
import { findJsonExcess, type JsonExcess, MAX_NUMBER_CHARS } from "../../util/json-bounds.ts";
import { RequestError } from "../errors.ts";

const BOUNDS = { maxDepth: 64, maxValues: 20_000 };

const PROBLEMS: Readonly<Record<JsonExcess, readonly [code: ErrorCode, message: string]>> = {
  depth: ["BAD_REQUEST", `JSON must be nested at most ${BOUNDS.maxDepth} levels deep.`],
  values: ["TOO_LARGE", `JSON must have at most ${BOUNDS.maxValues} values.`],
  number: ["BAD_REQUEST", `A number in JSON must have at most ${MAX_NUMBER_CHARS} characters.`],
};

/** @throws RequestError with code `BAD_REQUEST` or `TOO_LARGE` */
export function parseUntrustedJson(bytes: Uint8Array): unknown {
  const excess = findJsonExcess(bytes, BOUNDS);
  if (excess !== null) throw new RequestError(...PROBLEMS[excess]);
  const text = decodeUtf8(bytes);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new RequestError("BAD_REQUEST", "The text is not valid JSON.");
  }
  // Without such a text, no key can be `__proto__`: all other characters are written as they are.
  if (text.includes("__proto__") || text.includes("\\u")) assertNoProto(value);
  return value;
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new RequestError("BAD_REQUEST", "The text must be UTF-8.");
  }
}

function assertNoProto(root: unknown): void {
  const objects: object[] = isObject(root) ? [root] : [];
  for (let next = objects.pop(); next !== undefined; next = objects.pop()) {
    if (!Array.isArray(next) && Object.hasOwn(next, "__proto__"))
      throw new RequestError("BAD_REQUEST", "JSON must not have a key named __proto__.");
    for (const child of Object.values(next)) if (isObject(child)) objects.push(child);
  }
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
