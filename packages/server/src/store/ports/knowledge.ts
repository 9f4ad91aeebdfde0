/**
 * `Knowledge` and `Memories` are the sub-ports of knowledge bases and of memories about a user. A knowledge base
 * contains texts of a tenant, which agents search by terms and read by lines. Does not read files; see
 * `knowledge/import.ts`.
 *
 * Invariant: a call never reads or changes data of another tenant, or memories of another user. An object is stored
 * completely or not at all. A base is only a name, and exists while it has objects. Memory ids contain no text of a
 * user, because the audit contains them.
 */
import type { Json } from "@turnstream/protocol";
import { StoreError } from "../errors.ts";
import { isId } from "../../util/names.ts";
import type { Actor } from "../../util/refs.ts";

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
  /** The part of the text that matches best, for display. */
  readonly snippet: string;
  /** Higher is better. Comparable only within one result. */
  readonly score: number;
}

export interface KnowledgeLines {
  readonly object: KnowledgeObject;
  /** The number of the first returned line. Only lines that exist are returned. */
  readonly from: number;
  readonly lines: readonly string[];
}

export const MAX_HITS = 50;
export const MAX_LINES = 2_000;
export const MAX_BASES = 20;
export const MAX_QUERY_CHARS = 1_000;

/** The sub-port of knowledge bases. Every call is for one tenant. */
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
  get(tenant: string, base: string, id: string): Promise<KnowledgeObject | null>;
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
  /** Returns lines counted from 1, both ends included, at most MAX_LINES. Returns null if there is no such object. */
  lines(
    tenant: string,
    base: string,
    id: string,
    range: { readonly from: number; readonly to: number },
  ): Promise<KnowledgeLines | null>;
}

/** A text that an agent was asked to remember about a user, across all their sessions. */
export interface Memory {
  readonly id: string;
  readonly text: string;
  /** Pinned memories come first and are the last to be omitted. */
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

/** The sub-port of memories. Every call is for one user of one tenant. Does not read sessions. */
export interface Memories {
  /**
   * Stores a memory. Returns "already" if the user has this id (the first one stays), and "full" if the user has
   * MAX_MEMORIES.
   * @throws StoreError with NOT_FOUND if the tenant does not exist, with TOO_LARGE above MAX_MEMORY_CHARS.
   */
  save(actor: Actor, memory: NewMemory): Promise<"saved" | "already" | "full">;
  /** Returns all memories: pinned ones first, then the most recently changed. */
  list(actor: Actor): Promise<Memory[]>;
  /** Returns null if it does not exist. */
  change(actor: Actor, id: string, change: MemoryChange): Promise<Memory | null>;
  /** Returns false if it does not exist. */
  remove(actor: Actor, id: string): Promise<boolean>;
  /** @returns how many */
  removeAll(actor: Actor): Promise<number>;
}

/** The audit trail contains this id, so it must not be able to contain text of a user. */
export function checkMemoryId(id: string): string {
  if (isId(id) && /^[\w.:/-]+$/.test(id)) return id;
  throw new StoreError("INVALID", "memory id must be 1 to 256 of A-Z a-z 0-9 _ . : / -, and not . or ..");
}

/** @returns the text as it can be stored */
export function checkMemoryText(text: string): string {
  const clean = Buffer.from(text.replaceAll("\0", "\ufffd")).toString().trim();
  if (clean === "") throw new StoreError("INVALID", "memory text must not be empty");
  if (clean.length > MAX_MEMORY_CHARS)
    throw new StoreError("TOO_LARGE", `memory text must have at most ${MAX_MEMORY_CHARS} characters`);
  return clean;
}
