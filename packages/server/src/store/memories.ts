/**
 * `Memories` is the part of the store for memories about a user, and `postgresMemories` its implementation.
 *
 * Invariant: every statement filters by tenant and user. Saves of one user run one at a time, under an advisory lock,
 * so that a user never has more than `MAX_MEMORIES`. Ids contain no text of a user, because the audit contains them.
 */
import { sql } from "kysely";
import { defined } from "../util/defined.ts";
import { isId } from "../util/names.ts";
import type { Actor } from "../util/refs.ts";
import type { Db } from "./database/database.ts";
import { inTransaction, bytewiseOrder, clock } from "./database/session-row.ts";
import { existingTenant } from "./database/tenant-row.ts";
import { StoreError } from "./errors.ts";

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

/** The part of the store for memories. Every call is for one user of one tenant. Does not read sessions. */
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

const COLUMNS = ["id", "text", "pinned", "created_at as createdAt", "updated_at as updatedAt"] as const;

export function postgresMemories(db: Db): Memories {
  return {
    save: (actor, { id, text, pinned = false }) =>
      inTransaction(db, async (tx) => {
        const values = { id: checkMemoryId(id), text: checkMemoryText(text), pinned };
        // One save at a time per user: two concurrent counts could both be below the limit.
        await sql`select pg_advisory_xact_lock(hashtextextended(${JSON.stringify(["memories", actor.tenant, actor.user])}, 0))`.execute(
          tx,
        );
        const { count } = await owned(tx, actor)
          .select((eb) => eb.fn.countAll<number>().as("count"))
          .executeTakeFirstOrThrow();
        const there = await owned(tx, actor).select("id").where("id", "=", id).executeTakeFirst();
        if (there !== undefined) return "already";
        if (count >= MAX_MEMORIES) return "full";
        await tx
          .insertInto("memories")
          .values({ tenant_id: existingTenant(actor.tenant), user_id: actor.user, ...values })
          .execute();
        return "saved";
      }),
    list: (actor) =>
      owned(db, actor)
        .select(COLUMNS)
        .orderBy("pinned", "desc")
        .orderBy("updated_at", "desc")
        .orderBy(bytewiseOrder("id"))
        .execute(),
    async change(actor, id, { text, pinned }) {
      const row = await db
        .updateTable("memories")
        .set({
          updated_at: clock,
          ...defined({ text: text === undefined ? undefined : checkMemoryText(text), pinned }),
        })
        .where("tenant_id", "=", actor.tenant)
        .where("user_id", "=", actor.user)
        .where("id", "=", id)
        .returning(COLUMNS)
        .executeTakeFirst();
      return row ?? null;
    },
    async remove(actor, id) {
      const { numDeletedRows } = await db
        .deleteFrom("memories")
        .where("tenant_id", "=", actor.tenant)
        .where("user_id", "=", actor.user)
        .where("id", "=", id)
        .executeTakeFirst();
      return numDeletedRows > 0n;
    },
    async removeAll(actor) {
      const { numDeletedRows } = await db
        .deleteFrom("memories")
        .where("tenant_id", "=", actor.tenant)
        .where("user_id", "=", actor.user)
        .executeTakeFirst();
      return Number(numDeletedRows);
    },
  };
}

function owned(db: Db, actor: Actor) {
  return db.selectFrom("memories").where("tenant_id", "=", actor.tenant).where("user_id", "=", actor.user);
}
