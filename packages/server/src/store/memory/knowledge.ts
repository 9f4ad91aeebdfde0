/**
 * `memoryKnowledge` and `memoryMemories` implement knowledge bases and memories in memory. Every search scans all
 * chunks.
 *
 * Invariant: chunks, terms and ranks come from `rules/`, so that the results match those of PostgreSQL. Rows are found
 * by tenant, and memories also by user.
 */
import type { Json } from "@turnstream/protocol";
import type { Env } from "../../util/env.ts";
import {
  checkMemoryId,
  checkMemoryText,
  type Knowledge,
  type KnowledgeObject,
  MAX_MEMORIES,
  type Memories,
  type Memory,
} from "../ports/knowledge.ts";
import { MAX_PAGE } from "../ports/sessions.ts";
import type { Actor } from "../../util/refs.ts";
import { checkLimit } from "../rules/arguments.ts";
import {
  CANDIDATES,
  checkObject,
  checkQuery,
  checkRange,
  type Chunk,
  chunksOf,
  type FoundChunk,
  hitsOf,
  linesWithin,
} from "../rules/knowledge.ts";
import { matches, selectiveTerms, type Term, weightTerms } from "../rules/search.ts";
import { compareText } from "./session-rows.ts";
import { type MemoryTables, type Rows, table } from "./tables.ts";
import { requireTenant } from "./tenants.ts";

interface ObjectRow extends Omit<KnowledgeObject, "metadata"> {
  /** As JSON. */
  readonly metadata: string;
  readonly chunks: readonly Chunk[];
}

const OBJECTS = table<ObjectRow>("knowledge_objects", "tenant");

export function memoryKnowledge(tables: MemoryTables, env: Env): Knowledge {
  return {
    async put(tenant, base, object) {
      const checked = await checkObject(object);
      const { id, lines, ...stored } = checked;
      const key = objectKey(base, id);
      const isSame = await tables.run((rows) => rows.get(OBJECTS, tenant, key)?.hash === stored.hash);
      const chunks = isSame ? [] : await chunksOf(checked);
      return tables.run((rows) => {
        requireTenant(rows, tenant);
        const there = rows.get(OBJECTS, tenant, key);
        if (there?.hash === stored.hash) return "unchanged";
        const row = { base, id, ...stored, lines: lines.length, changedAt: env.now(), chunks };
        rows.put(OBJECTS, tenant, key, row);
        return there === undefined ? "created" : "replaced";
      });
    },
    remove: (tenant, base, id) => tables.run((rows) => rows.remove(OBJECTS, tenant, objectKey(base, id))),
    removeBase: (tenant, base) =>
      tables.run((rows) => {
        const all = objectsOf(rows, tenant, [base]);
        for (const { id } of all) rows.remove(OBJECTS, tenant, objectKey(base, id));
        return all.length;
      }),
    get: (tenant, base, id) =>
      tables.run((rows) => {
        const row = rows.get(OBJECTS, tenant, objectKey(base, id));
        return row === undefined ? null : objectOf(row);
      }),
    list: (tenant, base, { limit, after }) =>
      tables.run((rows) =>
        objectsOf(rows, tenant, [base])
          .filter(({ id }) => after === undefined || compareText(id, after) > 0)
          .toSorted((a, b) => compareText(a.id, b.id))
          .slice(0, checkLimit(limit, MAX_PAGE))
          .map(objectOf),
      ),
    bases: (tenant) =>
      tables.run((rows) => {
        const counts = new Map<string, number>();
        for (const { base } of rows.of(OBJECTS, tenant)) counts.set(base, (counts.get(base) ?? 0) + 1);
        return [...counts]
          .map(([base, objects]) => ({ base, objects }))
          .toSorted((a, b) => compareText(a.base, b.base));
      }),
    search: (tenant, bases, query) =>
      tables.run((rows) => {
        const { terms, limit } = checkQuery(bases, query);
        const pieces = objectsOf(rows, tenant, bases).flatMap((row) =>
          row.chunks.map((chunk) => ({ row, chunk })),
        );
        const counts = terms.map((term) => pieces.filter(({ chunk }) => has(term, chunk)).length);
        const wanted = selectiveTerms(terms, counts);
        const weighed = weightTerms(terms, counts);
        const coarse = (chunk: Chunk): number =>
          weighed.reduce((sum, term) => sum + (has(term, chunk) ? term.weight : 0), 0);
        const found = pieces
          .filter(({ chunk }) => wanted.some((term) => has(term, chunk)))
          .map((piece) => ({ ...piece, coarse: coarse(piece.chunk) }))
          .toSorted((a, b) => b.coarse - a.coarse || compareText(a.row.id, b.row.id) || a.chunk.n - b.chunk.n)
          .slice(0, CANDIDATES)
          .map(({ row, chunk }) => foundOf(row, chunk));
        return hitsOf(found, weighed, query.text, limit);
      }),
    lines: (tenant, base, id, range) =>
      tables.run((rows) => {
        checkRange(range);
        const row = rows.get(OBJECTS, tenant, objectKey(base, id));
        if (row === undefined) return null;
        return { object: objectOf(row), from: range.from, lines: linesWithin(row.chunks, range) };
      }),
  };
}

function has(term: Term, { tokens }: Chunk): boolean {
  return tokens.some((token) => matches(term, token));
}

function objectsOf(rows: Rows, tenant: string, bases: readonly string[]): ObjectRow[] {
  return rows.of(OBJECTS, tenant).filter(({ base }) => bases.includes(base));
}

function objectOf({ chunks: _, metadata, ...object }: ObjectRow): KnowledgeObject {
  return { ...object, metadata: JSON.parse(metadata) as Json };
}

function foundOf({ base, id, title, url }: ObjectRow, { tokens: _, ...chunk }: Chunk): FoundChunk {
  return { base, object: id, title, url, ...chunk };
}

function objectKey(base: string, id: string): string {
  return `${base}\0${id}`;
}

interface MemoryRow extends Memory {
  readonly user: string;
}

const MEMORIES = table<MemoryRow>("memories", "tenant");

export function memoryMemories(tables: MemoryTables, env: Env): Memories {
  return {
    save: (actor, { id, text, pinned = false }) =>
      tables.run((rows) => {
        const key = memoryKey(actor.user, checkMemoryId(id));
        const checked = checkMemoryText(text);
        requireTenant(rows, actor.tenant);
        if (rows.get(MEMORIES, actor.tenant, key) !== undefined) return "already";
        if (memoriesOf(rows, actor).length >= MAX_MEMORIES) return "full";
        const now = env.now();
        const row = { id, text: checked, pinned, createdAt: now, updatedAt: now, user: actor.user };
        rows.put(MEMORIES, actor.tenant, key, row);
        return "saved";
      }),
    list: (actor) => tables.run((rows) => memoriesOf(rows, actor).toSorted(inOrder).map(memoryOf)),
    change: (actor, id, change) =>
      tables.run((rows) => {
        const row = rows.get(MEMORIES, actor.tenant, memoryKey(actor.user, id));
        const text = change.text === undefined ? undefined : checkMemoryText(change.text);
        if (row === undefined) return null;
        const changed: MemoryRow = {
          ...row,
          text: text ?? row.text,
          pinned: change.pinned ?? row.pinned,
          updatedAt: env.now(),
        };
        rows.put(MEMORIES, actor.tenant, memoryKey(actor.user, id), changed);
        return memoryOf(changed);
      }),
    remove: (actor, id) =>
      tables.run((rows) => rows.remove(MEMORIES, actor.tenant, memoryKey(actor.user, id))),
    removeAll: (actor) => tables.run((rows) => removeMemories(rows, actor)),
  };
}

/** @returns how many */
export function removeMemories(rows: Rows, actor: Actor): number {
  const own = memoriesOf(rows, actor);
  for (const { id } of own) rows.remove(MEMORIES, actor.tenant, memoryKey(actor.user, id));
  return own.length;
}

function memoriesOf(rows: Rows, actor: Actor): MemoryRow[] {
  return rows.of(MEMORIES, actor.tenant).filter(({ user }) => user === actor.user);
}

function inOrder(a: Memory, b: Memory): number {
  return Number(b.pinned) - Number(a.pinned) || b.updatedAt - a.updatedAt || compareText(a.id, b.id);
}

function memoryOf({ user: _, ...memory }: MemoryRow): Memory {
  return memory;
}

function memoryKey(user: string, id: string): string {
  return `${user}\0${id}`;
}
