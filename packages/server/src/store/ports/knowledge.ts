/**
 * The sub-port of knowledge bases: texts of a tenant that agents find by words and read by lines. A base is a name; it is
 * there as long as it has objects. Every call is for one tenant. Never reads files: see knowledge/import.ts.
 */
import type { Json } from "@turnstream/protocol";

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
    query: { readonly words: string; readonly limit: number },
  ): Promise<KnowledgeHit[]>;
  /** From 1, both included, at most MAX_LINES. Null when there is no such object. */
  lines(
    tenant: string,
    base: string,
    id: string,
    range: { readonly from: number; readonly to: number },
  ): Promise<KnowledgeLines | null>;
}
