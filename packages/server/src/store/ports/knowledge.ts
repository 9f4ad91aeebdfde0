/**
 * The sub-port of knowledge bases: texts of a tenant that agents find by words and read by lines. A base is a name; it is
 * there as long as it has objects. Every call is for one tenant. Never reads files: see knowledge/import.ts.
 */
import type { Json } from "@turnstream/protocol";
import { StoreError } from "../errors.ts";
import type { Actor } from "../refs.ts";

export interface NewKnowledgeObject {
  /** Unique in its base, such as a path. */
  readonly id: string;
  readonly title: string;
  /** Where people can read it. */
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
  /** How many lines it has. */
  readonly lines: number;
  /** Of everything that is kept of it. */
  readonly hash: string;
  readonly changedAt: number;
}

/** A piece of an object that fits a query. */
export interface KnowledgeHit {
  readonly base: string;
  readonly object: string;
  readonly title: string;
  readonly url: string | null;
  /** From 1; both included. */
  readonly firstLine: number;
  readonly lastLine: number;
  readonly text: string;
  /** The part of the text that fits best, for people. */
  readonly snippet: string;
  /** Higher is better; only good for comparing within one answer. */
  readonly score: number;
}

export interface KnowledgeLines {
  readonly object: KnowledgeObject;
  /** Where they begin; those asked for, as far as they are there. */
  readonly from: number;
  readonly lines: readonly string[];
}

export const MAX_HITS = 50;
export const MAX_LINES = 2_000;
export const MAX_BASES = 20;
export const MAX_QUERY_CHARS = 1_000;

export interface Knowledge {
  /**
   * All or nothing. "unchanged" when the very same object is there. Throws NOT_FOUND without the tenant, TOO_LARGE above
   * 5 million characters.
   */
  put(
    tenant: string,
    base: string,
    object: NewKnowledgeObject,
  ): Promise<"created" | "replaced" | "unchanged">;
  /** False when it isn't there. */
  remove(tenant: string, base: string, id: string): Promise<boolean>;
  /** The whole base; @returns how many objects. */
  removeBase(tenant: string, base: string): Promise<number>;
  get(tenant: string, base: string, id: string): Promise<KnowledgeObject | null>;
  /** By id; those behind `after`. */
  list(
    tenant: string,
    base: string,
    page: { readonly limit: number; readonly after?: string },
  ): Promise<KnowledgeObject[]>;
  /** By name. */
  bases(tenant: string): Promise<{ readonly base: string; readonly objects: number }[]>;
  /** The best first, at most three pieces of an object. Of a query without words: nothing. */
  search(
    tenant: string,
    bases: readonly string[],
    query: { readonly text: string; readonly limit: number },
  ): Promise<KnowledgeHit[]>;
  /** From 1, both included, at most MAX_LINES. Null when there is no such object. */
  lines(
    tenant: string,
    base: string,
    id: string,
    range: { readonly from: number; readonly to: number },
  ): Promise<KnowledgeLines | null>;
}

/**
 * The sub-port of memories: what an agent was asked to remember of a person, over all their sessions. Every call is for
 * one person of one tenant. Never reads a session.
 */
export interface Memory {
  readonly id: string;
  readonly text: string;
  /** Comes first, and is the last to be left out. */
  readonly pinned: boolean;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface NewMemory {
  readonly id: string;
  readonly text: string;
  readonly pinned?: boolean;
}

export interface MemoryChange {
  readonly text?: string;
  readonly pinned?: boolean;
}

export const MAX_MEMORIES = 500;
export const MAX_MEMORY_CHARS = 2_000;

export interface Memories {
  /**
   * "already" when the person has a memory of this id (the first stays); "full" when they have MAX_MEMORIES. Throws
   * NOT_FOUND without the tenant, TOO_LARGE for a text above MAX_MEMORY_CHARS.
   */
  save(actor: Actor, memory: NewMemory): Promise<"saved" | "already" | "full">;
  /** All of them: pinned ones first, then the last changed first. */
  list(actor: Actor): Promise<Memory[]>;
  /** Null when it isn't there. */
  change(actor: Actor, id: string, change: MemoryChange): Promise<Memory | null>;
  /** False when it isn't there. */
  remove(actor: Actor, id: string): Promise<boolean>;
  /** @returns how many */
  removeAll(actor: Actor): Promise<number>;
}

/** The audit names it: no spaces, nothing that could be somebody's words. */
export function checkMemoryId(id: string): string {
  if (/^[\w.:/-]{1,256}$/.test(id)) return id;
  throw new StoreError("INVALID", "a memory id must be 1 to 256 of A-Z a-z 0-9 _ . : / -");
}

/** @returns the text as it can be stored */
export function checkMemoryText(text: string): string {
  const clean = Buffer.from(text.replaceAll("\0", "\ufffd")).toString().trim();
  if (clean === "") throw new StoreError("INVALID", "a memory must not be empty");
  if (clean.length > MAX_MEMORY_CHARS)
    throw new StoreError("TOO_LARGE", `a memory of more than ${MAX_MEMORY_CHARS} characters`);
  return clean;
}
