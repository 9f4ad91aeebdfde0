/**
 * JSON from outside, read so that nothing in it can surprise the code that gets it: not too deep, and without the key that
 * objects take for their prototype. Pure. Never checks what it means: schemas do.
 */
import { RequestError } from "./errors.ts";

const MAX_DEPTH = 64;

/** Throws BAD_REQUEST. */
export function parseUntrustedJson(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new RequestError("BAD_REQUEST", "This is not JSON.");
  }
  assertSafeJson(value);
  return value;
}

/** The same for what was parsed elsewhere. Level by level, without recursion: the depth is what is being judged. */
export function assertSafeJson(value: unknown): void {
  let level: readonly object[] = isObject(value) ? [value] : [];
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > MAX_DEPTH)
      throw new RequestError("BAD_REQUEST", `JSON must be nested at most ${MAX_DEPTH} deep.`);
    const next: object[] = [];
    for (const parent of level) {
      if (!Array.isArray(parent) && Object.hasOwn(parent, "__proto__"))
        throw new RequestError("BAD_REQUEST", "JSON must have no key named __proto__.");
      for (const child of Object.values(parent)) if (isObject(child)) next.push(child);
    }
    level = next;
  }
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
