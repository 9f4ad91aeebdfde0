/**
 * JSON text that reads like a spec and differs by lines: an event, frame, block or patch operation is one
 * line, however long; everything else is one line while it is short. The text depends on the value alone.
 */
import type { Json } from "@turnstream/protocol";

const WIDTH = 100;

/** What no editor shows, and what some would change: written as escapes. Half surrogates JSON escapes itself. */
const INVISIBLE = /[\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202f\u2060-\u2064\ufeff\ufffe\uffff]/g;

export function formatJson(value: unknown): string {
  // What JSON leaves out (undefined) is left out here too.
  return `${lines(JSON.parse(JSON.stringify(value)) as Json, "")}\n`;
}

function lines(value: Json, indent: string): string {
  const flat = oneLine(value);
  if (typeof value !== "object" || value === null || isRecord(value) || flat.length + indent.length <= WIDTH)
    return flat;
  const deeper = `${indent} `;
  const inner = Array.isArray(value)
    ? value.map((item: Json) => `${deeper}${lines(item, deeper)}`)
    : Object.entries(value).map(([key, item]) => `${deeper}${text(key)}: ${lines(item, deeper)}`);
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  return `${open}\n${inner.join(",\n")}\n${indent}${close}`;
}

/** Told by its fields: an event or frame has a type, a block of a state a kind, an operation an op. */
function isRecord(value: Json): boolean {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return "type" in value || "kind" in value || "op" in value;
}

function oneLine(value: Json): string {
  if (typeof value !== "object" || value === null) return text(value);
  if (Array.isArray(value)) return `[${value.map(oneLine).join(", ")}]`;
  const fields = Object.entries(value).map(([key, item]) => `${text(key)}: ${oneLine(item)}`);
  return fields.length === 0 ? "{}" : `{ ${fields.join(", ")} }`;
}

function text(value: string | number | boolean | null): string {
  return JSON.stringify(value).replaceAll(INVISIBLE, escaped);
}

function escaped(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
