/**
 * `Knowledge` is the part of the store for knowledge bases: texts of a tenant, which agents search by terms and read by
 * lines; `knowledge-sql.ts` implements it. `checkObject` and `chunksOf` split objects into lines and chunks, and
 * `hitsOf` ranks found chunks. Does not read files; see `import-knowledge.ts`.
 *
 * Invariant: an object is stored completely or not at all. A base is only a name, and exists while it has objects.
 * Every line is in exactly one chunk, and reading by lines relies on this. Increase `VERSION` when chunks or tokens
 * change, so that an import computes them again. A text of megabytes is processed in linear time and in short tasks,
 * between which other requests are served.
 */
import type { Json } from "@turnstream/protocol";
import {
  canonicalJson,
  checkCount,
  checkId,
  checkLimit,
  checkText,
  createTimeSlicer,
  isJsonLongerThan,
  queryTerms,
  scoreOf,
  StoreError,
  type Term,
  tokenize,
  type WeightedTerm,
} from "@turnstream/server/internal";
import { createHash } from "node:crypto";

export interface NewKnowledgeObject {
  /** Unique in its base, such as a path. */
  readonly id: string;
  readonly title: string;
  /** Where users can read it. */
  readonly url?: string | null;
  readonly metadata?: Json;
  readonly text: string;
}

export interface KnowledgeObject {
  readonly base: string;
  readonly id: string;
  readonly title: string;
  readonly url: string | null;
  readonly metadata: Json;
  readonly lines: number;
  /** Hash of everything that is stored of the object. */
  readonly hash: string;
  readonly changedAt: number;
}

/** A piece of an object that matches a query. */
export interface KnowledgeHit {
  readonly base: string;
  readonly object: string;
  readonly title: string;
  readonly url: string | null;
  /** Counted from 1. Both lines are included. */
  readonly firstLine: number;
  readonly lastLine: number;
  readonly text: string;
  /** Higher is better. Comparable only within one result. */
  readonly score: number;
}

const MAX_HITS = 50;

const MAX_LINES = 2_000;

const MAX_BASES = 20;

const MAX_QUERY_CHARS = 1_000;

/** The part of the store for knowledge bases. Every call is for one tenant. */
export interface Knowledge {
  /**
   * Stores an object completely or not at all. Returns "unchanged" if the identical object is stored.
   * @throws StoreError with NOT_FOUND if the tenant does not exist, with TOO_LARGE above 5 million characters.
   */
  put(
    tenant: string,
    base: string,
    object: NewKnowledgeObject,
  ): Promise<"created" | "replaced" | "unchanged">;
  /** Returns false if it does not exist. */
  remove(tenant: string, base: string, id: string): Promise<boolean>;
  /**
   * Removes a whole base.
   * @returns the number of its objects
   */
  removeBase(tenant: string, base: string): Promise<number>;
  /** Returns objects ordered by id, after the id `after`. */
  list(
    tenant: string,
    base: string,
    page: { readonly limit: number; readonly after?: string },
  ): Promise<KnowledgeObject[]>;
  /** Returns the bases ordered by name. */
  bases(tenant: string): Promise<{ readonly base: string; readonly objects: number }[]>;
  /** Returns the best hits first, at most three pieces per object. A query without terms returns nothing. */
  search(
    tenant: string,
    bases: readonly string[],
    query: { readonly text: string; readonly limit: number },
  ): Promise<KnowledgeHit[]>;
  /**
   * Returns the lines that exist in a range, counted from 1, both ends included, at most MAX_LINES. Returns null if there
   * is no such object.
   */
  lines(
    tenant: string,
    base: string,
    id: string,
    range: { readonly from: number; readonly to: number },
  ): Promise<{ readonly object: KnowledgeObject; readonly lines: readonly string[] } | null>;
}

export interface Chunk {
  readonly n: number;
  /** Counted from 1. Both lines are included. */
  readonly firstLine: number;
  readonly lastLine: number;
  readonly text: string;
  /** Distinct, including those of the title. */
  readonly tokens: readonly string[];
}

export interface CheckedObject {
  readonly id: string;
  readonly title: string;
  readonly url: string | null;
  /** As JSON. */
  readonly metadata: string;
  /** Hash of everything that is stored. An equal hash means that nothing has to be written. */
  readonly hash: string;
  readonly lines: readonly string[];
}

const MAX_OBJECT_CHARS = 5_000_000;

const MAX_LINE = 1_000;

const MAX_URL = 2_000;

const MAX_METADATA_BYTES = 16_000;

const CHUNK_CHARS = 1_200;

/** From this length on, a heading or an empty line starts another chunk. */
const ENOUGH_CHARS = 500;

/** Increase this when chunks or tokens are computed differently, so that an import computes them again. */
const VERSION = 1;

/** All imports of the process share it, so that several of them block the event loop no longer than one. */
const slices = createTimeSlicer();

/** How much of a text one task processes at most, in characters or in lines. */
const WINDOW_CHARS = 16_384;

const WINDOW_LINES = 500;

export async function checkObject(object: NewKnowledgeObject): Promise<CheckedObject> {
  const { id, text, url = null, metadata = null } = object;
  const title = checkText(object.title, "title");
  if (text.length > MAX_OBJECT_CHARS) throw new StoreError("TOO_LARGE", `knowledge object ${id}`);
  if (url !== null && (url.length > MAX_URL || url.includes("\0")))
    throw new StoreError("INVALID", `the url of knowledge object ${id}`);
  // JSON can't represent functions, which the type can't exclude for callers in JavaScript.
  if (!["object", "string", "number", "boolean"].includes(typeof metadata))
    throw new StoreError("INVALID", `the metadata of knowledge object ${id}`);
  if (isJsonLongerThan(metadata, MAX_METADATA_BYTES))
    throw new StoreError("TOO_LARGE", `the metadata of knowledge object ${id}`);
  const json = JSON.stringify(metadata);
  checkId(id, "object id");
  const lines = await linesOf(text);
  const hash = await hashOf(canonicalJson([VERSION, title, url, JSON.parse(json) as Json]), lines);
  return { id, title, url, metadata: json, hash, lines };
}

/** Hashes the canonical JSON of one list: the given one and then the lines. */
async function hashOf(list: string, lines: readonly string[]): Promise<string> {
  const hash = createHash("sha256").update(list.slice(0, -1));
  for (let from = 0; from < lines.length; from += WINDOW_LINES)
    await slices.run(() => {
      const window = lines.slice(from, from + WINDOW_LINES);
      hash.update(window.map((line) => `,${JSON.stringify(line)}`).join(""));
    });
  return hash.update("]").digest("hex");
}

/** Splits a text into lines of at most MAX_LINE characters. A longer line continues in the next one. */
export async function linesOf(text: string): Promise<string[]> {
  const lines: string[] = [];
  let unfinished = "";
  /** The number of lines up to the last one with text. */
  let used = 0;
  for (let from = 0; from < text.length;) {
    const end = endOfWindow(text, from);
    const part = text.slice(from, end);
    await slices.run(() => {
      // A column can't contain NUL, and UTF-8 can't encode half a character.
      const clean = Buffer.from(part.replaceAll("\0", "\ufffd")).toString();
      const [first = "", ...others] = clean.split(/\r\n|[\r\n\f\u2028\u2029]/u);
      const parts = [unfinished + first, ...others].flatMap(wrap);
      // The next window may continue the last line.
      unfinished = parts.pop() ?? "";
      const last = parts.findLastIndex((line) => line.trim() !== "");
      if (last >= 0) used = lines.length + last + 1;
      for (const line of parts) lines.push(line);
    });
    from = end;
  }
  lines.push(unfinished);
  if (unfinished.trim() === "") lines.length = used;
  return lines;
}

/** Returns an end that divides neither a surrogate pair nor CR and LF. */
function endOfWindow(text: string, from: number): number {
  const end = from + WINDOW_CHARS;
  const isDivided = /^(?:[\ud800-\udbff][\udc00-\udfff]|\r\n)$/.test(text.slice(end - 1, end + 1));
  return isDivided ? end + 1 : end;
}

function wrap(line: string): string[] {
  const parts: string[] = [];
  let rest = line;
  while (rest.length > MAX_LINE) {
    const space = rest.lastIndexOf(" ", MAX_LINE);
    let end = space > MAX_LINE / 2 ? space + 1 : MAX_LINE;
    // Don't cut through a surrogate pair.
    if (/[\ud800-\udbff]/.test(rest[end - 1] ?? "")) end -= 1;
    parts.push(rest.slice(0, end).trimEnd());
    rest = rest.slice(end);
  }
  return [...parts, rest];
}

/** Empty lines belong to the chunk of the text that follows them. */
export async function chunksOf({ title, lines }: Pick<CheckedObject, "title" | "lines">): Promise<Chunk[]> {
  const titleTokens = tokenize(title);
  const chunks: Chunk[] = [];
  let [from, chars, hasText] = [0, 0, false];
  const close = (to: number): void => {
    const text = lines.slice(from, to).join("\n");
    const tokens = [...new Set([...titleTokens, ...tokenize(text)])];
    chunks.push({ n: chunks.length, firstLine: from + 1, lastLine: to, text, tokens });
    [from, chars, hasText] = [to, 0, false];
  };
  /** Reads lines until a chunk is complete, and returns the number of the next line. */
  const readLines = (start: number): number => {
    const end = Math.min(start + WINDOW_LINES, lines.length);
    for (let n = start; n < end; n++) {
      const line = lines[n] ?? "";
      const isEmpty = line.trim() === "";
      const isBreak = isEmpty || line.startsWith("#");
      const isFull = chars + line.length > CHUNK_CHARS || (isBreak && chars >= ENOUGH_CHARS);
      const isComplete = hasText && isFull;
      if (isComplete) close(n);
      hasText ||= !isEmpty;
      chars += line.length + 1;
      if (isComplete) return n + 1;
    }
    return end;
  };
  for (let n = 0; n < lines.length;) {
    const start = n;
    n = await slices.run(() => readLines(start));
  }
  if (hasText) close(lines.length);
  return chunks;
}

/** A token that no text contains. It separates the tokens of one base from those of all others in one index. */
export function scopeToken(tenant: string, base: string): string {
  return `~${createHash("sha256").update(`${tenant}\0${base}`).digest("hex").slice(0, 32)}`;
}

/** How many chunks are ranked. */
export const CANDIDATES = 100;

const PER_OBJECT = 3;

export type FoundChunk = Omit<KnowledgeHit, "score"> & { readonly n: number };

export function checkQuery(
  bases: readonly string[],
  { text, limit }: { readonly text: string; readonly limit: number },
): { readonly terms: Term[]; readonly limit: number } {
  if (bases.length === 0 || bases.length > MAX_BASES)
    throw new StoreError("INVALID", `bases must have 1 to ${MAX_BASES} elements`);
  if (text.length > MAX_QUERY_CHARS) throw new StoreError("TOO_LARGE", "query text");
  return { terms: queryTerms(text), limit: checkLimit(limit, MAX_HITS) };
}

export function checkRange({ from, to }: { readonly from: number; readonly to: number }): void {
  checkCount(from, "from");
  checkCount(to, "to");
  if (from < 1 || to < from || to - from >= MAX_LINES)
    throw new StoreError(
      "INVALID",
      `from must be at least 1, and the range must have 1 to ${MAX_LINES} lines`,
    );
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
    hits.push({ ...found, score: Math.round(score * 1_000) / 1_000 });
    if (hits.length >= limit) break;
  }
  return hits;
}

function compare(a: FoundChunk, b: FoundChunk): number {
  const [one, other] = [`${a.base}\0${a.object}`, `${b.base}\0${b.object}`];
  return one === other ? a.n - b.n : one < other ? -1 : 1;
}

/** Returns the lines of a range from the chunks that contain it. */
export function linesWithin(
  chunks: readonly { readonly firstLine: number; readonly text: string }[],
  { from, to }: { readonly from: number; readonly to: number },
): string[] {
  return chunks.flatMap(({ firstLine, text }) =>
    text.split("\n").filter((_, n) => firstLine + n >= from && firstLine + n <= to),
  );
}
