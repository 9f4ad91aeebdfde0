/** Shares on PostgreSQL. */
import { formatCursor } from "@turnstream/protocol";
import type { Env } from "../../util/env.ts";
import { MAX_BATCH } from "../ports/sessions.ts";
import type { Share, Shares } from "../ports/shares.ts";
import type { Db } from "./database.ts";
import { byBytes, clock, inTransaction, noSession } from "./session-row.ts";

export function postgresShares(db: Db, env: Env): Shares {
  return {
    create: (actor, session, id = env.id()) =>
      inTransaction(db, async (tx) => {
        const row = await tx
          .insertInto("shares")
          .columns(["id", "session_id", "up_to_epoch", "up_to_seq"])
          .expression((eb) =>
            eb
              .selectFrom("sessions")
              .select((of) => [of.val(id).as("id"), "sessions.id as of", "archived_epoch", "archived_seq"])
              .where("sessions.id", "=", session)
              .where("tenant_id", "=", actor.tenant)
              .where("user_id", "=", actor.user),
          )
          .returningAll()
          .executeTakeFirst();
        if (row === undefined) throw noSession({ tenant: actor.tenant, session });
        return shareOf({ ...row, tenant_id: actor.tenant });
      }),
    async revoke(actor, id) {
      const { numUpdatedRows } = await db
        .updateTable("shares")
        .from("sessions")
        .set({ revoked_at: clock })
        .whereRef("sessions.id", "=", "shares.session_id")
        .where("shares.id", "=", id)
        .where("tenant_id", "=", actor.tenant)
        .where("user_id", "=", actor.user)
        .where("revoked_at", "is", null)
        .executeTakeFirst();
      return numUpdatedRows === 1n;
    },
    async find(id) {
      const row = await liveShares(db).where("shares.id", "=", id).executeTakeFirst();
      return row === undefined ? null : shareOf(row);
    },
    async list(actor, session) {
      const rows = await liveShares(db)
        .where("session_id", "=", session)
        .where("tenant_id", "=", actor.tenant)
        .where("user_id", "=", actor.user)
        .orderBy("shares.created_at", "desc")
        .orderBy(byBytes("shares.id"), "desc")
        .limit(MAX_BATCH)
        .execute();
      return rows.toReversed().map(shareOf);
    },
  };
}

function liveShares(db: Db) {
  return db
    .selectFrom("shares")
    .innerJoin("sessions", "sessions.id", "shares.session_id")
    .select(["shares.id", "session_id", "tenant_id", "up_to_epoch", "up_to_seq", "shares.created_at"])
    .where("revoked_at", "is", null);
}

type Row = Awaited<ReturnType<ReturnType<typeof liveShares>["execute"]>>[number];

function shareOf(row: Row): Share {
  return {
    id: row.id,
    tenant: row.tenant_id,
    session: row.session_id,
    upTo: formatCursor({ epoch: row.up_to_epoch, seq: row.up_to_seq }),
    createdAt: row.created_at,
  };
}
