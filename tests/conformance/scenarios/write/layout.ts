/**
 * `formatJson` writes readable JSON that diffs well: each event, frame, block and patch operation is on one line,
 * however long. Other values are on one line while they are short. The text depends only on the value.
 */
import type { Json } from "@turnstream/protocol";

const WIDTH = 100;

/** Characters that editors hide or change, written as escapes. JSON.stringify itself escapes lone surrogates. */
const INVISIBLE = /[\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202f\u2060-\u2064\ufeff\ufffe\uffff]/g;

export function formatJson(value: unknown): string {
  // JSON leaves out undefined fields.
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

/** Returns true for an event or frame (`type`), a block of a state (`kind`) or a patch operation (`op`). */
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
