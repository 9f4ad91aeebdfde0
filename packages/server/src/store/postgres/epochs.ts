/** Epochs on PostgreSQL: the row lock of the UPDATE is what makes each number unique. */
import { formatCursor } from "@turnstream/protocol";
import { sql } from "kysely";
import { checkCount, checkId, checkLimit, checkText } from "../rules/arguments.ts";
import { StoreError } from "../errors.ts";
import type { Epochs } from "../ports/epochs.ts";
import { MAX_PAGE } from "../ports/sessions.ts";
import type { Db } from "./database.ts";
import { isTenants, requireSession } from "./session-row.ts";

export function postgresEpochs(db: Db): Epochs {
  return {
    async next(ref, claim) {
      const seen = checkCount(claim.seen, "seen");
      const by = checkId(claim.by, "by");
      const reason = checkText(claim.reason, "reason");
      const ifEpoch = claim.ifEpoch === undefined ? null : checkCount(claim.ifEpoch, "ifEpoch");
      const row = await db
        .with("claimed", (qb) => {
          const claimed = qb
            .updateTable("sessions")
            .set({ epoch: sql<number>`greatest(epoch, ${seen}::bigint) + 1` })
            .where("id", "=", ref.session)
            .where("tenant_id", "=", ref.tenant)
            .returning(["id", "epoch", "archived_epoch", "archived_seq"]);
          return ifEpoch === null ? claimed : claimed.where("epoch", "=", ifEpoch);
        })
        .insertInto("session_epochs")
        .columns(["session_id", "epoch", "by", "reason"])
        .expression((eb) =>
          eb
            .selectFrom("claimed")
            .select([
              "id",
              "epoch",
              sql<string>`${by}::text`.as("by"),
              sql<string>`${reason}::text`.as("reason"),
            ]),
        )
        .returning((eb) => [
          "epoch",
          eb.selectFrom("claimed").select("archived_epoch").as("archived_epoch"),
          eb.selectFrom("claimed").select("archived_seq").as("archived_seq"),
        ])
        .executeTakeFirst();
      if (row === undefined) {
        await requireSession(db, ref);
        throw new StoreError("CONFLICT", `epoch of session ${ref.session}`);
      }
      const { epoch, archived_epoch, archived_seq } = row;
      return { epoch, archived: formatCursor({ epoch: archived_epoch ?? 0, seq: archived_seq ?? 0 }) };
    },
    list: (ref, limit) =>
      db
        .selectFrom("session_epochs")
        .select(["epoch", "by", "reason", "at"])
        .where("session_id", "=", ref.session)
        .where(isTenants(ref))
        .orderBy("epoch", "desc")
        .limit(checkLimit(limit, MAX_PAGE))
        .execute(),
  };
}
