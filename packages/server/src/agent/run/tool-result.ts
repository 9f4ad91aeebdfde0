/**
 * `parseToolOutput` validates the return value of a tool. `successResult` and `failedResult` build the record that is
 * journaled. Pure.
 *
 * Invariant: a record contains only JSON, and its preview and blocks stay within their limits. An object with `content`
 * and only known fields is an output; an invalid field throws. Any other value is the content. `truncateForModel`
 * bounds the content.
 */
import type { Artifact, Json } from "@turnstream/protocol";
import { truncateText, MAX_PREVIEW } from "@turnstream/protocol/writer";
import type { ArtifactInput, ToolOutput } from "../define/tool.ts";
import type { ToolCallRecord, ResultPart } from "./journal-entries.ts";
import { parseArtifact, parseImage } from "../define/media-input.ts";
import { isJsonObject } from "../../util/json.ts";

const MAX_BLOCKS = 100;
const MAX_REFERENCES = 100;

/** The fields that a failed result doesn't have, and a successful one only sometimes. */
const NOTHING = {
  pool: [],
  blocks: [],
  artifact: null,
  results: null,
  whole: null,
  usage: null,
  thought: null,
  ending: null,
};

/** @param preview text for the user. Default: the text for the model */
export function failedResult(content: string, preview: string = content, parts = 0): ToolCallRecord {
  return { ...NOTHING, status: "error", content, preview: truncateText(preview, MAX_PREVIEW), parts };
}

/** An output that fits into a record. */
export interface SmallOutput extends Pick<ToolOutput, "content" | "preview" | "resultCount"> {
  readonly blocks?: readonly ResultPart[];
  readonly artifact?: Artifact;
}

/** @param parts how many parts were already written as progress */
export function successResult(output: SmallOutput, parts: number): ToolCallRecord {
  const { content, blocks = [], artifact = null, resultCount = null } = output;
  const texts = blocks.flatMap((block) => (block.type === "text" ? [block.text] : []));
  const preview = output.preview ?? (blocks.length > 0 ? texts.join("\n") : stringifyContent(content));
  return {
    ...NOTHING,
    status: "success",
    content,
    preview: truncateText(preview, MAX_PREVIEW),
    blocks: blocks.slice(0, MAX_BLOCKS),
    parts,
    artifact,
    results: resultCount,
  };
}

export function stringifyContent(content: Json): string {
  return typeof content === "string" ? content : (JSON.stringify(content, null, 1) ?? "");
}

/**
 * Converts any return value to an output. Values that JSON can't represent are dropped or converted, as
 * `JSON.stringify` does.
 */
export function parseToolOutput(returned: unknown): ToolOutput {
  const plain = toJson(withBase64(returned));
  if (isOutput(plain)) return plain;
  return { content: plain };
}

/** Encodes bytes of pictures and files as base64. JSON would turn them into lists of numbers. */
function withBase64(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withBase64);
  if (typeof value !== "object" || value === null) return value;
  const { blocks, references, artifact, data, mediaType } = value as Record<string, unknown>;
  if (data instanceof Uint8Array && mediaType !== undefined)
    return { ...value, data: Buffer.from(data).toString("base64") };
  if (blocks === undefined && references === undefined && artifact === undefined) return value;
  return {
    ...value,
    ...(artifact === undefined ? {} : { artifact: withFileBase64(artifact) }),
    ...(blocks === undefined ? {} : { blocks: withBase64(blocks) }),
    ...(references === undefined ? {} : { references: withBase64(references) }),
  };
}

function withFileBase64(artifact: unknown): unknown {
  const isGiven = typeof artifact === "object" && artifact !== null && "data" in artifact;
  return isGiven ? { ...artifact, data: withBase64(artifact.data) } : artifact;
}

function toJson(value: unknown): Json {
  if (value === undefined) return "";
  const text = JSON.stringify(value) as string | undefined;
  // JSON has no text for functions and symbols, so the model gets an empty result.
  return text === undefined ? "" : (JSON.parse(text) as Json);
}

/** An object with `content` and only known fields is an output. Any other object is the content itself. */
const FIELDS: Readonly<Record<string, (value: Json) => boolean>> = {
  content: () => true,
  blocks: (value) => Array.isArray(value) && value.every(isResultBlock),
  preview: (value) => typeof value === "string",
  references: (value) => Array.isArray(value) && value.length <= MAX_REFERENCES && value.every(isCitable),
  artifact: (value) => {
    parseArtifact(value as unknown as ArtifactInput);
    return true;
  },
  output: () => true,
  resultCount: (value) => typeof value === "number" && Number.isSafeInteger(value) && value >= 0,
};

/** Throws for an output whose field has an invalid value. */
function isOutput(value: Json): value is Json & ToolOutput {
  if (!isJsonObject(value) || !("content" in value)) return false;
  const fields = Object.entries(value);
  if (!fields.every(([key]) => Object.hasOwn(FIELDS, key))) return false;
  const bad = fields.find(([key, field]) => FIELDS[key]?.(field) === false);
  if (bad !== undefined)
    throw new TypeError(`a tool returned an invalid \`${bad[0]}\`; see the type ToolOutput`);
  return true;
}

function isResultBlock(value: Json): boolean {
  if (!isJsonObject(value)) return false;
  if (value["type"] === "text") return typeof value["text"] === "string";
  const { type, url, ...data } = value;
  if (type !== "image") return false;
  // `parseImage` throws with the exact problem.
  parseImage((url ?? data) as unknown as Parameters<typeof parseImage>[0]);
  return true;
}

const CITABLE: readonly string[] = ["content", "title", "url", "blocks"];

function isCitable(value: Json): boolean {
  if (!isJsonObject(value) || !("content" in value)) return false;
  const { title = "", url = "", blocks = [] } = value;
  if (typeof title !== "string" || typeof url !== "string" || !Array.isArray(blocks)) return false;
  return blocks.every(isResultBlock) && Object.keys(value).every((key) => CITABLE.includes(key));
}

/** Truncates content over the limit and adds a note, so that the model knows that there is more. */
export function truncateForModel(content: Json, maxChars: number): Json {
  const text = stringifyContent(content);
  if (text.length <= maxChars) return content;
  return `${truncateText(text, maxChars)}\n[Cut here: ${text.length - maxChars} of ${text.length} characters are left out.]`;
}
