/** Allowances on PostgreSQL. */
import type { Selectable } from "kysely";
import type { Allowance, Allowances } from "../ports/allowances.ts";
import { MAX_BATCH } from "../ports/sessions.ts";
import type { Ref } from "../refs.ts";
import { checkAllowance } from "../rules/ledger-arguments.ts";
import type { Db } from "./database.ts";
import type { InteractionTables } from "./interaction-tables.ts";
import { requireSession } from "./session-row.ts";

export function postgresAllowances(db: Db): Allowances {
  const inSession = ({ tenant, session }: Ref) =>
    db.selectFrom("allowances").selectAll().where("session_id", "=", session).where("tenant_id", "=", tenant);
  return {
    async add(ref, allowance) {
      checkAllowance(allowance);
      await requireSession(db, ref);
      const { agent, tool, by = null } = allowance;
      const { numInsertedOrUpdatedRows } = await db
        .insertInto("allowances")
        .values({ session_id: ref.session, tenant_id: ref.tenant, agent, tool, by_user: by })
        .onConflict((conflict) => conflict.doNothing())
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
      const { numDeletedRows } = await db
        .deleteFrom("allowances")
        .where("session_id", "=", ref.session)
        .where("tenant_id", "=", ref.tenant)
        .where("agent", "=", agent)
        .where("tool", "=", tool)
        .executeTakeFirst();
      return numDeletedRows === 1n;
    },
  };
}

function allowanceOf(row: Selectable<InteractionTables["allowances"]>): Allowance {
  return { agent: row.agent, tool: row.tool, by: row.by_user, at: row.given_at };
}
