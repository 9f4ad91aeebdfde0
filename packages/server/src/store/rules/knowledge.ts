/**
 * How an object of a knowledge base is kept: in lines that can be named, and in pieces of some lines that are found and
 * ranked. Pure; both stores keep the same pieces. Never reads files.
 */
import { createHash } from "node:crypto";
import type { Json } from "@turnstream/protocol";
import { StoreError } from "../errors.ts";
import {
  type KnowledgeHit,
  MAX_BASES,
  MAX_HITS,
  MAX_LINES,
  MAX_QUERY_CHARS,
  type NewKnowledgeObject,
} from "../ports/knowledge.ts";
import { checkCount, checkId, checkLimit, checkText } from "./arguments.ts";
import { canonicalJson } from "./canonical-json.ts";
import { scoreOf, snippetOf, type Term, queryTerms, type WeightedTerm, tokenize } from "./search.ts";

export interface Chunk {
  readonly n: number;
  /** From 1; both included. */
  readonly firstLine: number;
  readonly lastLine: number;
  readonly text: string;
  /** Distinct, those of the title included. */
  readonly tokens: readonly string[];
}

export interface CheckedObject {
  readonly id: string;
  readonly title: string;
  readonly url: string | null;
  /** As JSON. */
  readonly metadata: string;
  /** Of all that is kept: the same hash means that nothing has to be done. */
  readonly hash: string;
  readonly lines: readonly string[];
}

const MAX_OBJECT_CHARS = 5_000_000;
const MAX_LINE = 1_000;
const MAX_URL = 2_000;
const MAX_METADATA_BYTES = 16_000;
const CHUNK_CHARS = 1_200;
/** From here on a heading or an empty line begins another piece. */
const ENOUGH_CHARS = 500;
/** Bumped when pieces or words are made in another way, so that an import makes them anew. */
const VERSION = 1;

export function checkObject(object: NewKnowledgeObject): CheckedObject {
  const { id, text, url = null, metadata = null } = object;
  const title = checkText(object.title, "title");
  if (text.length > MAX_OBJECT_CHARS) throw new StoreError("TOO_LARGE", `knowledge object ${id}`);
  if (url !== null && (url.length > MAX_URL || url.includes("\0")))
    throw new StoreError("INVALID", `the url of knowledge object ${id}`);
  const json = JSON.stringify(metadata) as string | undefined;
  if (json === undefined) throw new StoreError("INVALID", `the metadata of knowledge object ${id}`);
  if (Buffer.byteLength(json) > MAX_METADATA_BYTES)
    throw new StoreError("TOO_LARGE", `the metadata of knowledge object ${id}`);
  const lines = linesOf(text);
  const stored = canonicalJson([VERSION, title, url, JSON.parse(json) as Json, ...lines]);
  const hash = createHash("sha256").update(stored).digest("hex");
  return { id: checkId(id, "object id"), title, url, metadata: json, hash, lines };
}

/** Lines without their ends, none of them longer than MAX_LINE: a longer one goes on in the next. */
export function linesOf(text: string): string[] {
  // A column holds no NUL, and UTF-8 no half of a character.
  const clean = Buffer.from(text.replaceAll("\0", "\ufffd")).toString();
  const lines = clean.split(/\r\n|[\r\n\f\u2028\u2029]/u).flatMap(wrap);
  while (lines.at(-1)?.trim() === "") lines.pop();
  return lines;
}

function wrap(line: string): string[] {
  const parts: string[] = [];
  let rest = line;
  while (rest.length > MAX_LINE) {
    const space = rest.lastIndexOf(" ", MAX_LINE);
    let end = space > MAX_LINE / 2 ? space + 1 : MAX_LINE;
    // Not through the middle of a character.
    if (/[\ud800-\udbff]/.test(rest[end - 1] ?? "")) end -= 1;
    parts.push(rest.slice(0, end).trimEnd());
    rest = rest.slice(end);
  }
  return [...parts, rest];
}

export function chunksOf({ title, lines }: Pick<CheckedObject, "title" | "lines">): Chunk[] {
  const titleTokens = tokenize(title);
  const chunks: Chunk[] = [];
  let from = 0;
  let chars = 0;
  const close = (to: number): void => {
    const text = lines.slice(from, to).join("\n");
    if (text.trim() !== "") {
      const tokens = [...new Set([...titleTokens, ...tokenize(text)])];
      chunks.push({ n: chunks.length, firstLine: from + 1, lastLine: to, text, tokens });
      [from, chars] = [to, 0];
    }
  };
  for (const [n, line] of lines.entries()) {
    const isBreak = line.trim() === "" || line.startsWith("#");
    if (n > from && (chars + line.length > CHUNK_CHARS || (isBreak && chars >= ENOUGH_CHARS))) close(n);
    chars += line.length + 1;
  }
  if (from < lines.length) close(lines.length);
  return chunks;
}

/** A word that no text has: it keeps the words of one base apart from those of all others in one index. */
export function scopeToken(tenant: string, base: string): string {
  return `~${createHash("sha256").update(`${tenant}\0${base}`).digest("hex").slice(0, 32)}`;
}

/**
 * Questions to a knowledge base: what may be asked, and how the pieces that a store found become an answer. Pure, and the
 * same for every store, so that they answer alike.
 */
/** How many pieces are looked at closely. */
export const CANDIDATES = 100;
const PER_OBJECT = 3;
const SNIPPET_CHARS = 240;

export type FoundChunk = Omit<KnowledgeHit, "snippet" | "score"> & { readonly n: number };

export function checkQuery(
  bases: readonly string[],
  { text, limit }: { readonly text: string; readonly limit: number },
): { readonly terms: Term[]; readonly limit: number } {
  if (bases.length === 0 || bases.length > MAX_BASES)
    throw new StoreError("INVALID", `a search is in 1 to ${MAX_BASES} bases`);
  if (text.length > MAX_QUERY_CHARS) throw new StoreError("TOO_LARGE", "the words of a search");
  return { terms: queryTerms(text), limit: checkLimit(limit, MAX_HITS) };
}

export function checkRange({ from, to }: { readonly from: number; readonly to: number }): void {
  checkCount(from, "from");
  checkCount(to, "to");
  if (from < 1 || to < from || to - from >= MAX_LINES)
    throw new StoreError("INVALID", `lines are counted from 1, and at most ${MAX_LINES} are read at a time`);
}

export function hitsOf(
  chunks: readonly FoundChunk[],
  terms: readonly WeightedTerm[],
  text: string,
  limit: number,
): KnowledgeHit[] {
  const ranked = chunks
    .map((chunk) => ({ chunk, score: scoreOf(terms, text, chunk) }))
    .toSorted((a, b) => b.score - a.score || compare(a.chunk, b.chunk));
  const taken = new Map<string, number>();
  const hits: KnowledgeHit[] = [];
  for (const { chunk, score } of ranked) {
    const { n: _, ...found } = chunk;
    const key = `${found.base}\0${found.object}`;
    const count = taken.get(key) ?? 0;
    if (count >= PER_OBJECT) continue;
    taken.set(key, count + 1);
    hits.push({
      ...found,
      score: Math.round(score * 1_000) / 1_000,
      snippet: snippetOf(terms, found.text, SNIPPET_CHARS),
    });
    if (hits.length >= limit) break;
  }
  return hits;
}

function compare(a: FoundChunk, b: FoundChunk): number {
  const [one, other] = [`${a.base}\0${a.object}`, `${b.base}\0${b.object}`];
  return one === other ? a.n - b.n : one < other ? -1 : 1;
}

/** Of pieces that were read for a range: just its lines. */
export function linesWithin(
  chunks: readonly { readonly firstLine: number; readonly text: string }[],
  { from, to }: { readonly from: number; readonly to: number },
): string[] {
  return chunks.flatMap(({ firstLine, text }) =>
    text.split("\n").filter((_, n) => firstLine + n >= from && firstLine + n <= to),
  );
}
