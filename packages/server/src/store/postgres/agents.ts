/**
 * `postgresAgents` implements registered agents on PostgreSQL.
 *
 * Invariant: registrations run one at a time, under an advisory lock. So there are never more than `MAX_AGENTS` rows,
 * and workers that start together don't deadlock.
 */
import { sql } from "kysely";
import { type Agents, checkAgent, MAX_AGENTS, type RegisteredAgent, tooManyAgents } from "../ports/agents.ts";
import type { Db } from "./database.ts";
import { bytewiseOrder, clock, inTransaction } from "./session-row.ts";

export function postgresAgents(db: Db): Agents {
  return {
    async register(agents) {
      const rows = lastByName(agents.map(checkAgent));
      if (rows.length === 0) return;
      await inTransaction(db, async (tx) => {
        await sql`select pg_advisory_xact_lock(hashtextextended('agents', 0))`.execute(tx);
        await tx
          .insertInto("agents")
          .values(rows.map((row) => ({ ...row, inputs: [...row.inputs] })))
          .onConflict((on) =>
            on.column("name").doUpdateSet((eb) => ({
              label: eb.ref("excluded.label"),
              description: eb.ref("excluded.description"),
              inputs: eb.ref("excluded.inputs"),
              registered_at: clock,
            })),
          )
          .execute();
        const { count } = await tx
          .selectFrom("agents")
          .select((eb) => eb.fn.countAll<number>().as("count"))
          .executeTakeFirstOrThrow();
        if (count > MAX_AGENTS) throw tooManyAgents();
      });
    },
    async isKnown(name) {
      const row = await db.selectFrom("agents").select("name").where("name", "=", name).executeTakeFirst();
      return row !== undefined;
    },
    list: () =>
      db
        .selectFrom("agents")
        .select(["name", "label", "description", "inputs"])
        .orderBy(bytewiseOrder("name"))
        .limit(MAX_AGENTS)
        .execute(),
    async remove(name) {
      const { numDeletedRows } = await db.deleteFrom("agents").where("name", "=", name).executeTakeFirst();
      return numDeletedRows > 0n;
    },
  };
}

/** One statement can't update the same row twice. */
function lastByName(agents: readonly RegisteredAgent[]): RegisteredAgent[] {
  return [...new Map(agents.map((agent) => [agent.name, agent])).values()];
}
