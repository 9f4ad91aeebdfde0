/**
 * The sub-port of memories: what an agent was asked to remember of a person, over all their sessions. Every call is for
 * one person of one tenant. Never reads a session.
 */
import { StoreError } from "../errors.ts";
import type { Actor } from "../refs.ts";

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
