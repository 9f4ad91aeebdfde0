/** People's numbers on PostgreSQL. */
import { sql } from "kysely";
import { checkCount } from "../rules/arguments.ts";
import type { People } from "../ports/people.ts";
import type { Db } from "./database.ts";

export function postgresPeople(db: Db): People {
  const find = (tenant: string, user: string) =>
    db
      .selectFrom("people")
      .select("number")
      .where("tenant_id", "=", tenant)
      .where("user_id", "=", user)
      .executeTakeFirst();
  return {
    async numberOf(tenant, user) {
      const there = await find(tenant, user);
      if (there !== undefined) return there.number;
      const { number } = await db
        .insertInto("people")
        .values({ tenant_id: tenant, user_id: user })
        // An update that changes nothing, so that the row of somebody who was faster is returned.
        .onConflict((conflict) =>
          conflict.columns(["tenant_id", "user_id"]).doUpdateSet({ user_id: sql`excluded.user_id` }),
        )
        .returning("number")
        .executeTakeFirstOrThrow();
      return number;
    },

    async nameOf(tenant, number) {
      const row = await db
        .selectFrom("people")
        .select("user_id")
        .where("number", "=", checkCount(number, "number"))
        .where("tenant_id", "=", tenant)
        .executeTakeFirst();
      return row?.user_id ?? null;
    },

    async forget(tenant, user) {
      const { numDeletedRows } = await db
        .deleteFrom("people")
        .where("tenant_id", "=", tenant)
        .where("user_id", "=", user)
        .executeTakeFirst();
      return numDeletedRows > 0n;
    },
  };
}
