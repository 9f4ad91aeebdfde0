/**
 * Validates options at runtime, for plain JavaScript programs: `assertKnownOptions` checks names, `assertInRange`
 * checks numbers. Pure.
 *
 * Invariant: every failure is a `RuntimeError` that names the option.
 */
import { MAX_TIMER_MS } from "../../util/sleep.ts";
import { RuntimeError, type RuntimeErrorCode } from "../errors.ts";

/** Every option of a type, and whether it is required. The compiler checks it against the type. */
export type OptionKeys<Options> = {
  readonly [K in keyof Options]-?: object extends Pick<Options, K> ? false : true;
};

/** The smallest and the largest integer that an option accepts. */
export type NumberRange = readonly [min: number, max: number];

export const COUNT: NumberRange = [1, Number.MAX_SAFE_INTEGER];
/** A count that may be zero. */
export const AMOUNT: NumberRange = [0, Number.MAX_SAFE_INTEGER];
/** Node fires a timer with a longer delay immediately. */
export const TIMER_MS: NumberRange = [1, MAX_TIMER_MS];

/** @param of what the options belong to, for the error message */
export function assertKnownOptions(
  options: unknown,
  names: Readonly<Record<string, boolean>>,
  of: string,
  code: RuntimeErrorCode = "BAD_AGENT",
): void {
  const given = Object.entries(options ?? {}).filter(([, value]) => value !== undefined);
  const known = Object.keys(names);
  for (const [name] of given) {
    if (known.includes(name)) continue;
    const near = suggestName(name, known);
    const hint = near === null ? `there are ${known.join(", ")}` : `did you mean \`${near}\`?`;
    throw new RuntimeError(code, `\`${name}\` is not an option of ${of} (${hint})`);
  }
  const missing = known.find((name) => names[name] === true && !given.some(([key]) => key === name));
  if (missing !== undefined) throw new RuntimeError(code, `\`${missing}\` of ${of} is missing`);
}

/**
 * Ignores options that are undefined.
 * @param of what the options belong to, for the error message
 */
export function assertInRange(
  options: object,
  ranges: Readonly<Record<string, NumberRange>>,
  of: string,
  code: RuntimeErrorCode,
): void {
  for (const [name, [min, max]] of Object.entries(ranges)) {
    const value: unknown = (options as Readonly<Record<string, unknown>>)[name];
    if (value === undefined) continue;
    const isWhole = typeof value === "number" && Number.isSafeInteger(value);
    if (!isWhole || value < min || value > max)
      throw new RuntimeError(
        code,
        `\`${name}\` of ${of} must be an integer from ${min} to ${max}, got ${show(value)}`,
      );
  }
}

/** Formats a value for an error message: numbers and texts in full, other values by their type. */
export function show(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (value === null || typeof value === "number" || typeof value === "boolean") return String(value);
  if (value === undefined) return "undefined";
  return Array.isArray(value) ? "a list" : `a value of type ${typeof value}`;
}

/**
 * Returns the option that was probably meant: within an edit distance of two, or a name that contains the written one
 * or is part of it.
 */
export function suggestName(written: string, known: readonly string[]): string | null {
  const name = written.toLowerCase();
  const part = known.find(
    (option) => name.includes(option.toLowerCase()) || option.toLowerCase().includes(name),
  );
  const [nearest] = known
    .map((option) => ({ option, distance: editDistance(name, option.toLowerCase()) }))
    .filter(({ option, distance }) => distance <= 2 && distance < option.length / 2)
    .toSorted((a, b) => a.distance - b.distance);
  return nearest?.option ?? part ?? null;
}

function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, n) => n);
  for (let i = 0; i < from.length; i++) {
    const next = [i + 1];
    for (let j = 1; j <= to.length; j++) {
      const changed = (row[j - 1] ?? 0) + (to[j - 1] === from[i] ? 0 : 1);
      next.push(Math.min(changed, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
