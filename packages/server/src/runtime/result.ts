/** What a tool gave, as it is journaled: one side for the model, one for people, each within its bounds. Pure. */
import { cutText, type Json } from "@turnstream/protocol";
import type { ToolOutput } from "./define/tool.ts";
import type { CallFact } from "./facts.ts";
import { isObject } from "./json-object.ts";

/** What an event takes of a preview; what is longer is kept whole beside it. */
export const MAX_PREVIEW = 4_096;
const MAX_BLOCKS = 100;
/** Of a picture: an address, or a small picture in itself. An event takes 64 kB. */
export const MAX_URL = 20_000;

/** @param preview what people read; what the model reads when absent */
export function failed(content: string, preview: string = content, parts = 0): CallFact {
  return {
    status: "error",
    content,
    preview: cutText(preview, MAX_PREVIEW),
    blocks: [],
    parts,
    artifact: null,
    results: null,
    whole: null,
    usage: null,
    thought: null,
  };
}

/** @param parts how many parts of it people have seen already */
export function succeeded(output: ToolOutput, parts: number): CallFact {
  const { content, blocks = [], artifact, results } = output;
  const preview = output.preview ?? (blocks.length > 0 ? textOf(blocks) : asText(content));
  return {
    status: "success",
    content,
    preview: cutText(preview, MAX_PREVIEW),
    blocks: blocks.slice(0, MAX_BLOCKS),
    parts,
    artifact: artifact ?? null,
    results: results ?? null,
    whole: null,
    usage: null,
    thought: null,
  };
}

export function asText(content: Json): string {
  return typeof content === "string" ? content : (JSON.stringify(content, null, 1) ?? "");
}

function textOf(blocks: NonNullable<ToolOutput["blocks"]>): string {
  return blocks.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
}

/** Whatever a tool returned, as an output. What is not JSON becomes what JSON makes of it. */
export function outputFrom(returned: unknown): ToolOutput {
  const plain = toJson(returned);
  if (isOutput(plain)) return plain;
  return { content: plain };
}

function toJson(value: unknown): Json {
  if (value === undefined) return "";
  const text = JSON.stringify(value) as string | undefined;
  // Functions and symbols are nothing to a model.
  return text === undefined ? "" : (JSON.parse(text) as Json);
}

/** An object with `content` and nothing that we don't know is an output; any other object is its own content. */
const FIELDS: Readonly<Record<string, (value: Json) => boolean>> = {
  content: () => true,
  blocks: (value) => Array.isArray(value) && value.every(isResultBlock),
  preview: (value) => typeof value === "string",
  artifact: isArtifact,
  results: (value) => typeof value === "number" && Number.isSafeInteger(value) && value >= 0,
};

/** Throws for an output with a field that no event could hold. */
function isOutput(value: Json): value is Json & ToolOutput {
  if (!isObject(value) || !("content" in value)) return false;
  const fields = Object.entries(value);
  if (!fields.every(([key]) => key in FIELDS)) return false;
  const bad = fields.find(([key, field]) => FIELDS[key]?.(field) === false);
  if (bad !== undefined)
    throw new TypeError(`a tool returned \`${bad[0]}\` that is not what ToolOutput says`);
  return true;
}

function isResultBlock(value: Json): boolean {
  if (!isObject(value)) return false;
  return value["type"] === "text"
    ? typeof value["text"] === "string"
    : value["type"] === "image" && typeof value["url"] === "string" && value["url"].length <= MAX_URL;
}

const MAX_TYPE = 100;
const MAX_TITLE = 500;

function isArtifact(value: Json): boolean {
  if (!isObject(value) || !("data" in value)) return false;
  const { type, title = "" } = value;
  const isNamed = typeof type === "string" && type.length <= MAX_TYPE;
  const isTitled = typeof title === "string" && title.length <= MAX_TITLE;
  return isNamed && isTitled && Object.keys(value).every((key) => ["type", "title", "data"].includes(key));
}

/** What is over the limit is cut, and says so: the model then knows that there is more. */
export function bounded(content: Json, maxChars: number): Json {
  const text = asText(content);
  if (text.length <= maxChars) return content;
  return `${cutText(text, maxChars)}\n[Cut here: ${text.length - maxChars} of ${text.length} characters are left out.]`;
}
