/**
 * `postgresMemories` implements memories about users on PostgreSQL.
 *
 * Invariant: saves of one user run one at a time, under an advisory lock, so that a user never has more than
 * `MAX_MEMORIES`. Every statement filters by tenant and user.
 */
import { sql } from "kysely";
import {
  checkMemoryId,
  checkMemoryText,
  MAX_MEMORIES,
  type Memories,
  type Memory,
} from "../ports/knowledge.ts";
import type { Actor } from "../../util/refs.ts";
import type { Db } from "./database.ts";
import { bytewiseOrder, clock, inTransaction } from "./session-row.ts";
import { existingTenant } from "./tenant-row.ts";
import { defined } from "../../util/defined.ts";

const COLUMNS = ["id", "text", "pinned", "created_at", "updated_at"] as const;

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
    async list(actor) {
      const rows = await owned(db, actor)
        .select(COLUMNS)
        .orderBy("pinned", "desc")
        .orderBy("updated_at", "desc")
        .orderBy(bytewiseOrder("id"))
        .execute();
      return rows.map(memoryOf);
    },
    async change(actor, id, { text, pinned }) {
      const row = await db
        .updateTable("memories")
        .set({
          updated_at: clock,
          ...(text === undefined ? {} : { text: checkMemoryText(text) }),
          ...defined({ pinned }),
        })
        .where("tenant_id", "=", actor.tenant)
        .where("user_id", "=", actor.user)
        .where("id", "=", id)
        .returning(COLUMNS)
        .executeTakeFirst();
      return row === undefined ? null : memoryOf(row);
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
    removeAll: (actor) => removeMemories(db, actor),
  };
}

/** @returns how many */
export async function removeMemories(db: Db, actor: Actor): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom("memories")
    .where("tenant_id", "=", actor.tenant)
    .where("user_id", "=", actor.user)
    .executeTakeFirst();
  return Number(numDeletedRows);
}

function owned(db: Db, actor: Actor) {
  return db.selectFrom("memories").where("tenant_id", "=", actor.tenant).where("user_id", "=", actor.user);
}

function memoryOf(row: {
  id: string;
  text: string;
  pinned: boolean;
  created_at: number;
  updated_at: number;
}): Memory {
  const { id, text, pinned } = row;
  return { id, text, pinned, createdAt: row.created_at, updatedAt: row.updated_at };
}
