/**
 * `LARGE_VALUES` are JSON texts of a given size whose shapes are expensive for some step of a server: scanning, parsing,
 * validating or storing. Pure.
 */

/** Returns JSON text of about `bytes` bytes. */
export type MakeJson = (bytes: number) => string;

function fill(start: string, unit: string, end: string, bytes: number): string {
  const count = Math.max(1, Math.floor((bytes - start.length - end.length) / Buffer.byteLength(unit)));
  return `${start}${unit.repeat(count)}${end}`;
}

function join(start: string, unit: (n: number) => string, end: string, bytes: number): string {
  const units: string[] = [];
  let size = start.length + end.length;
  for (let n = 0; ; n++) {
    const next = unit(n);
    size += Buffer.byteLength(next) + 1;
    if (size > bytes) break;
    units.push(next);
  }
  return `${start}${units.join(",")}${end}`;
}

/** As many levels as fit. */
function nest(open: string, close: string, bytes: number): string {
  const depth = Math.floor((bytes - 1) / (open.length + close.length));
  return `${open.repeat(depth)}1${close.repeat(depth)}`;
}

/** Just below the limit of values, so that the text is parsed. */
const VALUES = 9_900;

/** About 9,900 units that share the size. */
function spread(
  start: string,
  unit: (n: number, text: string) => string,
  end: string,
  bytes: number,
): string {
  const text = "x".repeat(Math.max(1, Math.floor(bytes / VALUES) - 20));
  return `${start}${Array.from({ length: VALUES }, (_, n) => unit(n, text)).join(",")}${end}`;
}

export const LARGE_VALUES: Readonly<Record<string, MakeJson>> = {
  "a list of numbers": (bytes) => fill("[", "1,", "1]", bytes),
  "lists of lists": (bytes) => fill("[", "[[]],", "1]", bytes),
  "empty objects": (bytes) => fill("[", "{},", "1]", bytes),
  "objects of objects": (bytes) => join("[", (n) => `{"a":{"b":{"c${n}":{}}}}`, "]", bytes),
  "many short keys": (bytes) => join("{", (n) => `"${n.toString(36)}":1`, "}", bytes),
  "keys that are array indexes": (bytes) => join("{", (n) => `"${n * 65_537}":1`, "}", bytes),
  "the same key again and again": (bytes) => fill("{", '"a":1,', '"a":1}', bytes),
  "deep lists": (bytes) => nest("[", "]", bytes),
  "deep objects": (bytes) => nest('{"a":', "}", bytes),
  "deep lists that don't end": (bytes) => "[".repeat(bytes),
  "a number of many digits": (bytes) => fill("", "7", "", bytes),
  "many long numbers": (bytes) => join("[", () => `0.${"1234567890".repeat(9)}`, "]", bytes),
  "numbers of thousands of digits": (bytes) => join("[", () => `1${"0".repeat(2_000)}1`, "]", bytes),
  "huge exponents": (bytes) => join("[", () => "1e-323456789", "]", bytes),
  "one long string": (bytes) => fill('"', "x", '"', bytes),
  "a string of escaped quotes": (bytes) => fill('"', '\\"', '"', bytes),
  "a string of escaped letters": (bytes) => fill('"', "\\u0041", '"', bytes),
  "a string of lone surrogates": (bytes) => fill('"', "\\ud800", '"', bytes),
  "a string of Han characters": (bytes) => fill('"', "漢", '"', bytes),
  "a string of emoji": (bytes) => fill('"', "💥", '"', bytes),
  "a string of line separators": (bytes) => fill('"', "\u2028", '"', bytes),
  "a string that doesn't end": (bytes) => fill('"', "x", "", bytes),
  "white space": (bytes) => fill("[", " \n", "]", bytes),
  "white space between values": (bytes) => fill("[", `1,${" ".repeat(200)}`, "1]", bytes),
  "many strings": (bytes) => fill("[", '"a",', '"a"]', bytes),
  keywords: (bytes) => fill("[", "null,", "true]", bytes),
  "long keys": (bytes) => spread("{", (n, text) => `"${text}${n}":1`, "}", bytes),
  "long strings": (bytes) => spread("[", (n, text) => `"${text}${n}"`, "]", bytes),
  "objects with long keys": (bytes) => spread("[", (n, text) => `{"${text}${n}":1}`, "]", bytes / 2),
  "prototype keys": (bytes) => spread("[", (n) => `{"constructor":{"prototype":${n}}}`, "]", bytes),
};
