/**
 * `lookupAttachments` is the tool `lookup_attachments`: it lists the files of a session, reads their text by lines or
 * characters, and searches it.
 *
 * Invariant: it reads the text in pieces, only as far as the answer needs, and only of its own session. One call
 * returns at most 20,000 characters or 30 lines found.
 */
import { truncateText } from "@turnstream/protocol/writer";
import { z } from "zod";
import type { Attachment, TextChunk } from "../../store/attachments.ts";
import type { TurnAttempt } from "../../engine/attempt/attempt.ts";
import { type Tool, tool, ToolError } from "../define/tool.ts";
import { hostOf } from "../tool-calls/run-tool.ts";

const MAX_LISTED = 100;
const MAX_CHARS = 20_000;
const DEFAULT_LINES = 200;
const MAX_FOUND = 30;
const EXCERPT_CHARS = 300;
const PAGE = 20;
/** Limit of one search over all texts. */
const MAX_SEARCHED_CHARS = 50_000_000;

const count = z.int().nonnegative().optional();
const shortText = z.string().min(1).max(500).optional();

const input = z.strictObject({
  id: shortText.describe("The attachment. Without it all are listed, or searched."),
  line: count.describe("Read from this line on, counted from 1."),
  lines: count.describe(`How many lines to read; ${DEFAULT_LINES} when absent.`),
  offset: count.describe("Read from this character on, counted from 0. Instead of a line."),
  search: shortText.describe("Terms that a line must contain, all of them."),
});

type LookupInput = z.infer<typeof input>;

export const lookupAttachments: Tool = tool({
  description:
    "Reads the files that came with the messages of this conversation: lists them, reads a part of a text by lines or characters, or finds the lines with certain terms.",
  input,
  idempotent: true,
  run: async (query, context) => {
    const { attempt } = hostOf(context).scope;
    const { id, search } = query;
    const among = await listAttachments(attempt, id);
    if (search !== undefined) return searchIn(attempt, among, search, context.signal);
    const [only] = among;
    if (id !== undefined && only !== undefined) return readText(attempt, only, query);
    return { content: among.map(describeAttachment), resultCount: among.length };
  },
});

/** @param id selects one attachment. Default: all */
async function listAttachments({ context, ref }: TurnAttempt, id?: string): Promise<readonly Attachment[]> {
  const { attachments } = context.store;
  if (id === undefined) return attachments.list(ref, { limit: MAX_LISTED });
  const found = await attachments.get(ref, id);
  if (found === null) throw new ToolError(`There is no attachment ${id} in this conversation.`);
  return [found];
}

const CUT = "only the start is stored";

function describeAttachment({ id, name, mediaType, size, chars, isCut }: Attachment) {
  return { id, name, type: mediaType, bytes: size, characters: chars, ...(isCut ? { note: CUT } : {}) };
}

async function readText(
  { context, ref }: TurnAttempt,
  { id, chars, isCut }: Attachment,
  { line = 1, lines = DEFAULT_LINES, offset }: LookupInput,
) {
  const { attachments } = context.store;
  const isByLine = offset === undefined;
  const place = isByLine ? { line: Math.max(1, line) } : { char: offset };
  const first = await attachments.pieceAt(ref, id, place);
  let text = "";
  let from: TextChunk | null = null;
  const wanted = isByLine ? lines : Infinity;
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
  const part = { from_character: at, to_character: at + cut.length, of_characters: chars };
  return {
    content: { id, ...part, ...(isCut && { note: CUT }), text: cut },
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

async function searchIn(
  { context, ref }: TurnAttempt,
  among: readonly Attachment[],
  search: string,
  signal: AbortSignal,
) {
  const terms = plain(search)
    .split(/\s+/)
    .filter((term) => term !== "");
  const found: { id: string; line: number; text: string }[] = [];
  let searched = 0;
  for (const { id, pieces } of among) {
    for (let from = 0; from < pieces; from += PAGE) {
      if (found.length >= MAX_FOUND || searched >= MAX_SEARCHED_CHARS) break;
      signal.throwIfAborted();
      for (const piece of await context.store.attachments.pieces(ref, id, { from, limit: PAGE })) {
        searched += piece.text.length;
        found.push(...linesWith(piece, terms).map((hit) => ({ id, ...hit })));
      }
    }
  }
  const content = found.slice(0, MAX_FOUND);
  return { content, resultCount: content.length };
}

/** Normalizes case and Unicode form for comparison. */
function plain(text: string): string {
  return text.normalize("NFC").toLowerCase();
}

function linesWith({ line, text }: TextChunk, terms: readonly string[]): { line: number; text: string }[] {
  return text.split("\n").flatMap((lineText, n) => {
    const compared = plain(lineText);
    if (!terms.every((term) => compared.includes(term))) return [];
    const at = Math.max(0, compared.indexOf(terms[0] ?? "") - EXCERPT_CHARS / 2);
    return [{ line: line + n, text: truncateText(lineText.slice(at), EXCERPT_CHARS) }];
  });
}
