/**
 * `parseOptions` validates options and fills in their defaults. A shape declares each option once: its description, its
 * type, its range and its default. `integer`, `amount`, `func` and `object` declare common types.
 *
 * Invariant: a message names the option with its path, the value, and what is expected. The text of a check says what
 * is expected, so that it reads well after "must be". A value that is marked as secret is not shown.
 */
import { z } from "zod";
import { defined } from "./defined.ts";
import { OptionsError } from "./options-error.ts";

/** What a caller passes. The interface of an options type extends it, so that editors show the comment of each key. */
export type OptionsInput<Shape extends z.core.$ZodLooseShape> = Readonly<
  z.input<z.ZodObject<Shape, z.core.$strict>>
>;

/** The options with their defaults. */
export type OptionsOutput<Shape extends z.core.$ZodLooseShape> = Readonly<
  z.output<z.ZodObject<Shape, z.core.$strict>>
>;

/** Marks a value that error messages must not show. */
export const SECRET = { isSecret: true } as const;

export function integer(min = 0, max = Number.MAX_SAFE_INTEGER): z.ZodInt {
  const expected = `an integer from ${min} to ${max}`;
  return z.int(expected).min(min, expected).max(max, expected);
}

/** A number that may have a fraction or be `Infinity`. */
export function amount(min = 0): z.ZodCustom<number, number> {
  return z.custom<number>((value) => typeof value === "number" && value >= min, `a number from ${min}`);
}

/** A function of the application. */
export function func<T>(): z.ZodCustom<T, T> {
  return z.custom<T>((value) => typeof value === "function", "a function");
}

/** An object that this package or the application has made. @param expected how to get one */
export function object<T>(expected = "an object"): z.ZodCustom<T, T> {
  return z.custom<T>(
    (value) => typeof value === "object" && value !== null && !(value instanceof Promise),
    expected,
  );
}

/** An option that is off, on with its defaults, or an object with options of its own. Null if it is off. */
export function toggle<Output, Input>(
  schema: z.ZodType<Output, Input>,
): z.ZodType<Output | null, boolean | Input> {
  return z.union([z.boolean().transform((isOn) => (isOn ? schema.parse({}) : null)), schema]);
}

/**
 * Ignores options that are undefined.
 * @param of what the options belong to, for the error message
 * @param fail creates the error from a message. @default an OptionsError BAD_OPTIONS
 */
export function parseOptions<Output>(
  schema: z.ZodType<Output>,
  options: unknown,
  of: string,
  fail: (problem: string) => Error = badOptions,
): Output {
  const isObject = typeof options === "object" && options !== null && !Array.isArray(options);
  const given: unknown = isObject ? defined(options) : options;
  const result = schema.safeParse(given, { error: describeExpectation, reportInput: true });
  if (result.success) return result.data;
  throw fail(describeIssue(result.error.issues[0] as z.core.$ZodIssue, of));
}

function badOptions(problem: string): Error {
  return new OptionsError("BAD_OPTIONS", problem);
}

const TYPES: Readonly<Record<string, string>> = {
  int: "an integer",
  object: "an object",
  record: "an object",
  array: "a list",
  undefined: "undefined",
};

/** Describes what is expected where the schema has no text of its own. */
const describeExpectation: z.core.$ZodErrorMap = (issue) => {
  switch (issue.code) {
    case "invalid_type":
      return TYPES[issue.expected] ?? `a ${issue.expected}`;
    case "invalid_value":
      return issue.values.map((value) => show(value)).join(" or ");
    case "unrecognized_keys": {
      const known = Object.keys((issue.inst as z.ZodObject).shape);
      const near = suggestName(issue.keys[0] ?? "", known);
      return near === null ? `there are ${known.join(", ")}` : `did you mean \`${near}\`?`;
    }
    default:
      return undefined;
  }
};

function describeIssue(issue: z.core.$ZodIssue, of: string): string {
  if (issue.code === "invalid_union") return describeUnion(issue, of);
  const { message, input } = issue;
  const names = [...issue.path];
  if (issue.code === "unrecognized_keys")
    return `${formatPath([...names, issue.keys[0] ?? ""], of, " is not an option")} (${message})`;
  if (issue.code === "invalid_key")
    return `a key of ${formatPath(names.slice(0, -1), of)} must be ${issue.issues[0]?.message}, got ${show(names.at(-1))}`;
  if (names.length === 0) return `the options of ${of} must be ${message}, got ${show(input)}`;
  const name = formatPath(names, of);
  if (input === undefined) return `${name} is missing`;
  const isSecret = issue.code === "custom" && issue.params?.["isSecret"] === true;
  return `${name} must be ${message}${isSecret ? "" : `, got ${show(input)}`}`;
}

/** Describes the alternative that the value comes closest to: one whose own type fits, or else all of them. */
function describeUnion(issue: z.core.$ZodIssueInvalidUnion, of: string): string {
  const { path, input } = issue;
  const firsts = issue.errors.flatMap(([first]) => first ?? []);
  const inside = firsts.find((first) => first.path.length > 0 || first.code === "unrecognized_keys");
  if (inside !== undefined) return describeIssue({ ...inside, path: [...path, ...inside.path] }, of);
  const expected = [...new Set(firsts.map(({ message }) => message))].join(" or ");
  return describeIssue({ code: "custom", path, input, message: expected }, of);
}

/** `["limits", "maxSteps"]` of an agent is "`maxSteps` of `limits` of an agent". Keys that are no names are indexes. */
function formatPath(path: readonly PropertyKey[], of: string, afterName = ""): string {
  const names: string[] = [];
  for (const key of path) {
    const isName = typeof key === "string" && /^[A-Za-z_]\w*$/.test(key);
    if (isName || names.length === 0) names.push(String(key));
    else names.push(`${names.pop()}[${JSON.stringify(key)}]`);
  }
  const [name, ...outer] = names.toReversed().map((text) => `\`${text}\``);
  return [`${name}${afterName}`, ...outer, of].join(" of ");
}

/** Formats a value for an error message: numbers and texts in full, other values by their type. */
export function show(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (value === null || typeof value === "number" || typeof value === "boolean") return String(value);
  if (value === undefined) return "undefined";
  if (value instanceof Promise) return "a promise";
  if (Array.isArray(value)) return value.length === 0 ? "an empty list" : "a list";
  return `a value of type ${typeof value}`;
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
