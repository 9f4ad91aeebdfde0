/**
 * `postgresAllowances` and `postgresFormDrafts` implement allowances and form drafts on PostgreSQL.
 *
 * Invariant: the first allowance of a tool stays while its digest stays. Saving a draft locks the pending form first, so that a concurrent
 * decision never leaves a draft behind.
 */
import { type Selectable, sql } from "kysely";
import type { Json } from "@turnstream/protocol";
import { type Allowance, type Allowances, checkDraft, type FormDrafts } from "../ports/interactions.ts";
import { MAX_BATCH } from "../ports/sessions.ts";
import type { SessionRef } from "../../util/refs.ts";
import { checkAllowance } from "../rules/ledger-arguments.ts";
import type { Db } from "./database.ts";
import type { InteractionTables } from "./schema.ts";
import { clock, lockSessionRow, inTransaction, ofSession, requireSession, rowOf } from "./session-row.ts";

export function postgresAllowances(db: Db): Allowances {
  const inSession = (ref: SessionRef) => ofSession(db.selectFrom("allowances"), ref).selectAll();
  return {
    async add(ref, allowance) {
      checkAllowance(allowance);
      await requireSession(db, ref);
      const { agent, tool, digest, by = null } = allowance;
      const { numInsertedOrUpdatedRows } = await db
        .insertInto("allowances")
        .values({ ...rowOf(ref), agent, tool, digest, by_user: by })
        .onConflict((conflict) =>
          conflict
            .columns(["tenant_id", "session_id", "agent", "tool"])
            .doUpdateSet({ digest, by_user: by, given_at: clock })
            .where("allowances.digest", "<>", digest),
        )
        .executeTakeFirst();
      return numInsertedOrUpdatedRows === 1n ? "added" : "already";
    },
    async find(ref, agent, tool) {
      const row = await inSession(ref).where("agent", "=", agent).where("tool", "=", tool).executeTakeFirst();
      return row === undefined ? null : allowanceOf(row);
    },
    async list(ref) {
      return (await inSession(ref).orderBy("n").limit(MAX_BATCH).execute()).map(allowanceOf);
    },
    async remove(ref, agent, tool) {
      const { numDeletedRows } = await ofSession(db.deleteFrom("allowances"), ref)
        .where("agent", "=", agent)
        .where("tool", "=", tool)
        .executeTakeFirst();
      return numDeletedRows === 1n;
    },
  };
}

function allowanceOf(row: Selectable<InteractionTables["allowances"]>): Allowance {
  return { agent: row.agent, tool: row.tool, digest: row.digest, by: row.by_user, at: row.given_at };
}

/** `interactions.ts` deletes the draft when the form is decided. */
export function postgresFormDrafts(db: Db): FormDrafts {
  return {
    async save(ref, interaction, values) {
      const body = checkDraft(values);
      return inTransaction(db, async (tx) => {
        await lockSessionRow(tx, ref);
        // A shared lock: a concurrent decision waits and then finds the draft, or this query finds the decision.
        const form = await ofSession(tx.selectFrom("interactions"), ref)
          .select("id")
          .where("id", "=", interaction)
          .where("kind", "=", "form")
          .where("status", "=", "pending")
          .forShare()
          .executeTakeFirst();
        if (form === undefined) return null;
        const row = await tx
          .insertInto("form_drafts")
          .values({ ...rowOf(ref), interaction_id: interaction, body, version: 1, saved_at: clock })
          .onConflict((conflict) =>
            conflict.columns(["tenant_id", "session_id", "interaction_id"]).doUpdateSet({
              body,
              version: sql<number>`form_drafts.version + 1`,
              saved_at: clock,
            }),
          )
          .returningAll()
          .executeTakeFirstOrThrow();
        return draftOf(row);
      });
    },

    async get(ref, interaction) {
      const row = await db
        .selectFrom("form_drafts as d")
        .innerJoin("interactions as i", (join) =>
          join
            .onRef("i.tenant_id", "=", "d.tenant_id")
            .onRef("i.session_id", "=", "d.session_id")
            .onRef("i.id", "=", "d.interaction_id"),
        )
        .where("d.tenant_id", "=", ref.tenant)
        .where("d.session_id", "=", ref.session)
        .where("d.interaction_id", "=", interaction)
        .where("i.status", "=", "pending")
        .selectAll("d")
        .executeTakeFirst();
      return row === undefined ? null : draftOf(row);
    },
  };
}

function draftOf(row: { readonly body: Json; readonly version: number; readonly saved_at: number }) {
  return { values: row.body, version: row.version, savedAt: row.saved_at };
}
