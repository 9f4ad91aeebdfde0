/**
 * `parseUntrustedJson` parses JSON from clients, and `assertSafeJson` checks JSON that was parsed elsewhere. Pure.
 * Does not validate the content: schemas do.
 * Invariant: JSON with more than 64 levels or a `__proto__` key is refused, because it could crash the process or
 * change prototypes. The check must not recurse. All JSON from clients passes it, over HTTP and over sockets.
 */
import { RequestError } from "../errors.ts";

const MAX_DEPTH = 64;

/** @throws RequestError with code `BAD_REQUEST` */
export function parseUntrustedJson(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new RequestError("BAD_REQUEST", "The text is not valid JSON.");
  }
  assertSafeJson(value);
  return value;
}

/**
 * Checks a value that was parsed elsewhere. Iterates level by level, because recursion could overflow the stack before
 * the depth is known.
 */
export function assertSafeJson(value: unknown): void {
  let level: readonly object[] = isObject(value) ? [value] : [];
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > MAX_DEPTH)
      throw new RequestError("BAD_REQUEST", `JSON must be nested at most ${MAX_DEPTH} levels deep.`);
    const next: object[] = [];
    for (const parent of level) {
      if (!Array.isArray(parent) && Object.hasOwn(parent, "__proto__"))
        throw new RequestError("BAD_REQUEST", "JSON must not have a key named __proto__.");
      for (const child of Object.values(parent)) if (isObject(child)) next.push(child);
    }
    level = next;
  }
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
