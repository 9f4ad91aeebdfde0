/**
 * An incremental JSON parser for tool arguments that arrive in chunks: `pushJson` adds text, `readPartial` returns the
 * value so far.
 *
 * Invariant: states are immutable, and a state depends only on the text, not on the chunk boundaries. Pushing takes
 * linear time. Reading costs the entries of the open containers, because closed ones are built once and shared.
 *
 *   begin ──▶ string / number / literal ──▶ after ──▶ `,` begin or key, `]` `}` after, end of text
 *     └─ `[` first-item, `{` first-key                 key ──▶ string ──▶ colon ──▶ begin
 *
 * Accepts strict JSON. Never throws and never repairs: text that can't become JSON breaks the state permanently, and
 * the value stays as it was. Never returns a number or literal that may still change, nor a key without its value.
 */
import type { Json } from "./json.ts";
import { Sequence } from "./sequence.ts";

/** The opaque state of a parse. Store and compare it; read it only through the functions below. */
export interface PartialJson {
  readonly mode: Mode;
  /** The innermost open container. */
  readonly frame: Frame | undefined;
  /** The string (decoded), number or literal that is being read, so far. */
  readonly token: string;
  /** An escape sequence that is not complete yet. */
  readonly escape: string;
  /** The top-level value, once it is complete. */
  readonly value: Json | undefined;
  readonly broken: boolean;
}

interface Frame {
  readonly kind: "array" | "object";
  /** The keys of an object. There is one more key than values while the last key has no value yet. */
  readonly keys: Sequence<string>;
  readonly values: Sequence<Json>;
  readonly depth: number;
  readonly parent: Frame | undefined;
}

type NumberMode =
  | "minus"
  | "zero"
  | "integer"
  | "point"
  | "fraction"
  | "exponent"
  | "exponent-sign"
  | "power";
type Mode =
  | "begin"
  | "first-item"
  | "first-key"
  | "key"
  | "colon"
  | "after"
  | "string"
  | "literal"
  | NumberMode;

/** The mutable working copy of one push: the fields of PartialJson and the offset in the chunk. */
interface Cursor {
  readonly chunk: string;
  at: number;
  mode: Mode;
  frame: Frame | undefined;
  token: string;
  escape: string;
  value: Json | undefined;
  broken: boolean;
}

const MAX_DEPTH = 512;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

const LITERALS: Readonly<Record<string, Json>> = { true: true, false: false, null: null };
const ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  "\\": "\\",
  "/": "/",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
};

export const emptyPartialJson: PartialJson = {
  mode: "begin",
  frame: undefined,
  token: "",
  escape: "",
  value: undefined,
  broken: false,
};

export function pushJson(state: PartialJson, chunk: string): PartialJson {
  if (state.broken || chunk === "") return state;
  const { mode, frame, token, escape, value, broken } = state;
  const c: Cursor = { chunk, at: 0, mode, frame, token, escape, value, broken };
  while (c.at < chunk.length && !c.broken) step(c);
  return { mode: c.mode, frame: c.frame, token: c.token, escape: c.escape, value: c.value, broken: c.broken };
}

/** Returns the value so far, or undefined if nothing is known yet. */
export function readPartial(state: PartialJson): Json | undefined {
  const { mode, frame, token } = state;
  let known: Json | undefined = mode === "string" && !readsKey(frame) ? token : state.value;
  for (let outer = frame; outer !== undefined; outer = outer.parent) known = build(outer, known);
  return known;
}

/** Returns the value if the text ends here and is one JSON document, otherwise undefined. */
export function finishJson(state: PartialJson): Json | undefined {
  if (state.broken || state.frame !== undefined) return undefined;
  return endsNumber(state.mode) ? toNumber(state.token) : state.value;
}

/**
 * Returns true after one complete value followed only by white space.
 * A top-level number that may continue (`12`) is not complete until white space follows. `finishJson` accepts it,
 * because the text has ended.
 */
export function isComplete(state: PartialJson): boolean {
  return state.value !== undefined && !state.broken;
}

/** Returns true if no further text can make this valid JSON. */
export function isBroken(state: PartialJson): boolean {
  return state.broken;
}

function step(c: Cursor): void {
  switch (c.mode) {
    case "string":
      return c.escape === "" ? readString(c) : readEscape(c);
    case "literal":
      return readLiteral(c);
    case "begin":
    case "first-item":
    case "first-key":
    case "key":
    case "colon":
    case "after":
      return readStructure(c, c.mode);
    default:
      return readNumber(c, c.mode);
  }
}

function readStructure(c: Cursor, mode: Mode): void {
  const char = c.chunk.charAt(c.at);
  c.at += 1;
  if (isSpace(char)) return;
  switch (mode) {
    case "colon":
      if (char === ":") c.mode = "begin";
      else fail(c);
      return;
    case "after":
      if (!mayFollowValue(c.frame, char)) fail(c);
      else if (char === ",") c.mode = c.frame?.kind === "object" ? "key" : "begin";
      else close(c);
      return;
    case "first-key":
    case "key":
      if (char === '"') c.mode = "string";
      else if (char === "}" && mode === "first-key") close(c);
      else fail(c);
      return;
    default:
      if (char === "]" && mode === "first-item") close(c);
      else beginValue(c, char);
  }
}

function beginValue(c: Cursor, char: string): void {
  if (char === '"') {
    c.mode = "string";
  } else if (char === "{" || char === "[") {
    open(c, char === "[" ? "array" : "object");
  } else if (char === "-" || isDigit(char)) {
    c.mode = char === "-" ? "minus" : char === "0" ? "zero" : "integer";
    c.token = char;
  } else if (char === "t" || char === "f" || char === "n") {
    c.mode = "literal";
    c.token = char;
  } else {
    fail(c);
  }
}

function readString(c: Cursor): void {
  const { chunk } = c;
  const start = c.at;
  let at = start;
  let code = 0x20;
  for (; at < chunk.length; at += 1) {
    code = chunk.charCodeAt(at);
    if (code === QUOTE || code === BACKSLASH || code < 0x20) break;
  }
  if (at > start) c.token += chunk.slice(start, at);
  c.at = at + 1;
  if (at === chunk.length) c.at = at;
  else if (code === QUOTE) endString(c);
  else if (code === BACKSLASH) c.escape = "\\";
  else fail(c);
}

function endString(c: Cursor): void {
  const { frame, token } = c;
  if (!readsKey(frame)) return put(c, token);
  const { kind, keys, values, depth, parent } = frame;
  c.frame = { kind, keys: keys.push(token), values, depth, parent };
  c.token = "";
  c.mode = "colon";
}

function readEscape(c: Cursor): void {
  const char = c.chunk.charAt(c.at);
  c.at += 1;
  if (c.escape === "\\" && char !== "u") {
    const meaning = ESCAPES[char];
    if (meaning === undefined) return fail(c);
    c.token += meaning;
    c.escape = "";
    return;
  }
  if (c.escape !== "\\" && !isHexDigit(char)) return fail(c);
  c.escape += char;
  if (c.escape.length < "\\uXXXX".length) return;
  c.token += String.fromCharCode(Number.parseInt(c.escape.slice(2), 16));
  c.escape = "";
}

function readLiteral(c: Cursor): void {
  const token = c.token + c.chunk.charAt(c.at);
  const value = LITERALS[token];
  c.at += 1;
  if (value !== undefined) return put(c, value);
  if ("true".startsWith(token) || "false".startsWith(token) || "null".startsWith(token)) c.token = token;
  else fail(c);
}

function readNumber(c: Cursor, initial: NumberMode): void {
  const { chunk } = c;
  const start = c.at;
  let mode = initial;
  let at = start;
  for (; at < chunk.length; at += 1) {
    const next = numberStep(mode, chunk.charAt(at));
    if (next === undefined) break;
    mode = next;
  }
  c.token += chunk.slice(start, at);
  c.mode = mode;
  c.at = at;
  if (at === chunk.length) return;
  // A number ends only at a valid delimiter: in `[12x` or `[12}`, 12 is not an element of the array.
  if (endsNumber(mode) && mayFollowValue(c.frame, chunk.charAt(at))) put(c, toNumber(c.token));
  else fail(c);
}

/** Returns the mode after one more character of a number, or undefined if the number can't continue with it. */
function numberStep(mode: NumberMode, char: string): NumberMode | undefined {
  const digit = isDigit(char);
  switch (mode) {
    case "minus":
      return digit ? (char === "0" ? "zero" : "integer") : undefined;
    case "zero":
    case "integer":
      if (digit) return mode === "integer" ? "integer" : undefined;
      return char === "." ? "point" : isExponent(char) ? "exponent" : undefined;
    case "point":
    case "fraction":
      if (digit) return "fraction";
      return mode === "fraction" && isExponent(char) ? "exponent" : undefined;
    case "exponent":
      return digit ? "power" : char === "+" || char === "-" ? "exponent-sign" : undefined;
    default:
      return digit ? "power" : undefined;
  }
}

function open(c: Cursor, kind: Frame["kind"]): void {
  const depth = (c.frame?.depth ?? 0) + 1;
  if (depth > MAX_DEPTH) return fail(c);
  c.frame = { kind, keys: Sequence.empty(), values: Sequence.empty(), depth, parent: c.frame };
  c.mode = kind === "array" ? "first-item" : "first-key";
}

function close(c: Cursor): void {
  const { frame } = c;
  if (frame === undefined) return fail(c);
  c.frame = frame.parent;
  put(c, build(frame, undefined));
}

/** Stores a complete value in its container. */
function put(c: Cursor, value: Json): void {
  c.token = "";
  c.mode = "after";
  if (c.frame === undefined) {
    c.value = value;
  } else {
    const { kind, keys, values, depth, parent } = c.frame;
    c.frame = { kind, keys, values: values.push(value), depth, parent };
  }
}

/** Returns the plain value of a container, with `unfinished` as its last value if it is known. */
function build(frame: Frame, unfinished: Json | undefined): Json {
  const values = frame.values.toArray();
  if (unfinished !== undefined) values.push(unfinished);
  if (frame.kind === "array") return values;
  const object: Record<string, Json> = {};
  const keys = frame.keys.toArray();
  for (let i = 0; i < keys.length; i += 1) {
    const key = keys[i];
    const value = values[i];
    if (key === undefined || value === undefined) continue;
    // Assigning to `__proto__` would set the prototype. Like JSON.parse, define it as an ordinary property.
    if (key === "__proto__") Object.defineProperty(object, key, { ...OWN, value });
    else object[key] = value;
  }
  return object;
}

const OWN = { configurable: true, enumerable: true, writable: true } as const;

function fail(c: Cursor): void {
  c.broken = true;
}

function readsKey(frame: Frame | undefined): frame is Frame {
  return frame?.kind === "object" && frame.keys.length === frame.values.length;
}

function mayFollowValue(frame: Frame | undefined, char: string): boolean {
  if (isSpace(char)) return true;
  return frame !== undefined && (char === "," || char === (frame.kind === "array" ? "]" : "}"));
}

/** A number too large for a double has no JSON representation, so it becomes null. */
function toNumber(text: string): number | null {
  const number = Number(text);
  return Number.isFinite(number) ? number : null;
}

function endsNumber(mode: Mode): boolean {
  return mode === "zero" || mode === "integer" || mode === "fraction" || mode === "power";
}

function isSpace(char: string): boolean {
  return char === " " || char === "\n" || char === "\r" || char === "\t";
}

function isExponent(char: string): boolean {
  return char === "e" || char === "E";
}

function isDigit(char: string): boolean {
  return char >= "0" && char <= "9";
}

function isHexDigit(char: string): boolean {
  return isDigit(char) || (char >= "a" && char <= "f") || (char >= "A" && char <= "F");
}
