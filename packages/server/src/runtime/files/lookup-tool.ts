/**
 * `lookupAttachments` is the tool `lookup_attachments`: it lists the files of a session, reads their text by lines or
 * characters, and searches it.
 *
 * Invariant: it reads the text in pieces, only as far as the answer needs, and only of its own session. One call
 * returns at most 20,000 characters or 30 lines found. `LOOKUP_SCHEMA` and the validation must accept the same input.
 */
import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";
import type { Json } from "@turnstream/protocol";
import { truncateText } from "@turnstream/protocol/writer";
import type { Attachment, Attachments, TextChunk } from "../../store/attachments.ts";
import type { SessionRef } from "../../util/refs.ts";
import { type Tool, tool, ToolError } from "../define/tool.ts";
import { hostOf } from "../tool-calls/run-tool.ts";
import { isJsonObject } from "../../util/json.ts";

const MAX_LISTED = 100;
const MAX_CHARS = 20_000;
const DEFAULT_LINES = 200;
const MAX_FOUND = 30;
const EXCERPT_CHARS = 300;
const PAGE = 20;
/** Limit of one search over all texts. */
const MAX_SEARCHED_CHARS = 50_000_000;

interface LookupInput {
  readonly id?: string;
  readonly line?: number;
  readonly lines?: number;
  readonly offset?: number;
  readonly search?: string;
}

const whole = { type: "integer", minimum: 0 } as const;

export const LOOKUP_SCHEMA = {
  type: "object",
  properties: {
    id: { type: "string", description: "The attachment. Without it all are listed, or searched." },
    line: { ...whole, description: "Read from this line on, counted from 1." },
    lines: { ...whole, description: `How many lines to read; ${DEFAULT_LINES} when absent.` },
    offset: { ...whole, description: "Read from this character on, counted from 0. Instead of a line." },
    search: { type: "string", description: "Terms that a line must contain, all of them." },
  },
  additionalProperties: false,
} as const;

export const LOOKUP_DESCRIPTION =
  "Reads the files that came with the messages of this conversation: lists them, reads a part of a text by lines or characters, or finds the lines with certain terms.";

const LOOKUP_INPUT: StandardJSONSchemaV1<LookupInput> & StandardSchemaV1<LookupInput> = {
  "~standard": {
    version: 1,
    vendor: "turnstream",
    validate: (value) => {
      const problem = problemOf(value);
      return problem === null ? { value: value as LookupInput } : { issues: [{ message: problem }] };
    },
    jsonSchema: { input: () => LOOKUP_SCHEMA, output: () => LOOKUP_SCHEMA },
  },
};

function problemOf(value: unknown): string | null {
  if (!isJsonObject(value as Json)) return "the input must be an object";
  for (const [key, given] of Object.entries(value as Record<string, unknown>)) {
    if (!(key in LOOKUP_SCHEMA.properties)) return `\`${key}\` is not an input of this tool`;
    const isText = key === "id" || key === "search";
    const isGood = isText
      ? typeof given === "string" && given.length > 0 && given.length <= 500
      : Number.isSafeInteger(given) && (given as number) >= 0;
    if (!isGood)
      return `\`${key}\` must be ${isText ? "a text of 1 to 500 characters" : "an integer of at least 0"}`;
  }
  return null;
}

export const lookupAttachments: Tool = tool({
  description: LOOKUP_DESCRIPTION,
  input: LOOKUP_INPUT,
  idempotent: true,
  run: async (input, context) => {
    const { attempt } = hostOf(context).scope;
    const { attachments } = attempt.context.store;
    const { ref } = attempt;
    const { id, search } = input;
    if (search !== undefined) {
      const among =
        id === undefined
          ? await attachments.list(ref, { limit: MAX_LISTED })
          : [await attachmentOf(attachments, ref, id)];
      return searchIn(attachments, ref, among, search, context.signal);
    }
    if (id === undefined) {
      const all = await attachments.list(ref, { limit: MAX_LISTED });
      return { content: all.map(describeAttachment), resultCount: all.length };
    }
    return readText(attachments, ref, await attachmentOf(attachments, ref, id), input);
  },
});

async function attachmentOf(attachments: Attachments, ref: SessionRef, id: string): Promise<Attachment> {
  const found = await attachments.get(ref, id);
  if (found === null) throw new ToolError(`There is no attachment ${id} in this conversation.`);
  return found;
}

const CUT = "only the start is stored";

function describeAttachment({ id, name, mediaType, size, chars, isCut }: Attachment) {
  return { id, name, type: mediaType, bytes: size, characters: chars, ...(isCut ? { note: CUT } : {}) };
}

async function readText(
  attachments: Attachments,
  ref: SessionRef,
  { id, chars, isCut }: Attachment,
  input: LookupInput,
) {
  const line = Math.max(1, input.line ?? 1);
  const isByLine = input.offset === undefined;
  const place = isByLine ? { line } : { char: input.offset ?? 0 };
  const first = await attachments.pieceAt(ref, id, place);
  let text = "";
  let from: TextChunk | null = null;
  const wanted = isByLine ? (input.lines ?? DEFAULT_LINES) : Infinity;
  for (let n = first; n !== null; n++) {
    const [piece] = await attachments.pieces(ref, id, { from: n, limit: 1 });
    if (piece === undefined) break;
    from ??= piece;
    text += piece.text;
    const reached = skip(text, from, place);
    if (reached.length > MAX_CHARS || countLines(reached) >= wanted) break;
  }
  const start = from === null ? "" : skip(text, from, place);
  const cut = truncateText(firstLines(start, wanted), MAX_CHARS);
  const at = (from?.at ?? 0) + text.length - start.length;
  const note = isCut ? { note: CUT } : {};
  return {
    content: {
      id,
      from_character: at,
      to_character: at + cut.length,
      of_characters: chars,
      ...note,
      text: cut,
    },
    preview: truncateText(cut, EXCERPT_CHARS),
  };
}

/** Returns the text from the requested place on. */
function skip(
  text: string,
  from: TextChunk,
  place: { readonly line: number } | { readonly char: number },
): string {
  if ("char" in place) return text.slice(Math.max(0, place.char - from.at));
  let at = 0;
  for (let line = from.line; line < place.line; line++) {
    const end = text.indexOf("\n", at);
    if (end === -1) return "";
    at = end + 1;
  }
  return text.slice(at);
}

function firstLines(text: string, lines: number): string {
  let at = 0;
  for (let n = 0; n < lines; n++) {
    const end = text.indexOf("\n", at);
    if (end === -1) return text;
    at = end + 1;
  }
  return text.slice(0, at);
}

function countLines(text: string): number {
  return text.split("\n").length - 1;
}

interface Found {
  readonly id: string;
  readonly line: number;
  readonly text: string;
}

async function searchIn(
  attachments: Attachments,
  ref: SessionRef,
  among: readonly Attachment[],
  search: string,
  signal: AbortSignal,
) {
  const terms = plain(search)
    .split(/\s+/)
    .filter((term) => term !== "");
  const found: Found[] = [];
  let searched = 0;
  for (const { id, pieces } of among) {
    for (
      let from = 0;
      from < pieces && found.length < MAX_FOUND && searched < MAX_SEARCHED_CHARS;
      from += PAGE
    ) {
      signal.throwIfAborted();
      for (const piece of await attachments.pieces(ref, id, { from, limit: PAGE })) {
        searched += piece.text.length;
        found.push(...linesWith(piece, terms).map((hit) => ({ id, ...hit })));
      }
    }
  }
  const content = found.slice(0, MAX_FOUND).map(({ id, line, text }) => ({ id, line, text }));
  return { content, resultCount: content.length };
}

/** Normalizes case and Unicode form for comparison. */
function plain(text: string): string {
  return text.normalize("NFC").toLowerCase();
}

function linesWith({ line, text }: TextChunk, terms: readonly string[]): Omit<Found, "id">[] {
  return text.split("\n").flatMap((lineText, n) => {
    const compared = plain(lineText);
    if (!terms.every((term) => compared.includes(term))) return [];
    const at = Math.max(0, compared.indexOf(terms[0] ?? "") - EXCERPT_CHARS / 2);
    return [{ line: line + n, text: truncateText(lineText.slice(at), EXCERPT_CHARS) }];
  });
}
