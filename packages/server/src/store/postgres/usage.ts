/** Usage on PostgreSQL: the mark that a key was counted and the counting are one statement. */
import { sql } from "kysely";
import { checkDuration } from "../rules/arguments.ts";
import { checkDay, checkPage, checkUsage } from "../rules/ledger-arguments.ts";
import { MOST_USAGE, type UsageLedger } from "../ports/usage.ts";
import type { Db } from "./database.ts";
import { ago } from "./session-row.ts";

export function postgresUsage(db: Db): UsageLedger {
  return {
    async add(tenant, usage) {
      const model = checkUsage(usage);
      const { key, day = null, turns, calls, input_tokens, output_tokens, total_tokens } = usage;
      const { rows } = await sql`
        with mark as (
          insert into usage_marks (tenant_id, key) values (${tenant}, ${key})
          on conflict do nothing returning tenant_id
        )
        insert into usage_days as d
          (tenant_id, day, model, turns, calls, input_tokens, output_tokens, total_tokens)
        select tenant_id, coalesce(${day}::text, to_char(clock_timestamp() at time zone 'utc', 'YYYY-MM-DD')),
          ${model}::text, ${turns}::bigint, ${calls}::bigint, ${input_tokens}::bigint, ${output_tokens}::bigint,
          ${total_tokens}::bigint
        from mark
        on conflict (tenant_id, day, model) do update set
          turns = least(d.turns + excluded.turns, ${MOST_USAGE}::bigint),
          calls = least(d.calls + excluded.calls, ${MOST_USAGE}::bigint),
          input_tokens = least(d.input_tokens + excluded.input_tokens, ${MOST_USAGE}::bigint),
          output_tokens = least(d.output_tokens + excluded.output_tokens, ${MOST_USAGE}::bigint),
          total_tokens = least(d.total_tokens + excluded.total_tokens, ${MOST_USAGE}::bigint)
        returning day`.execute(db);
      return rows.length > 0;
    },

    async list(tenant, from, to) {
      checkDay(from);
      checkDay(to);
      return await db
        .selectFrom("usage_days")
        .select(["day", "model", "turns", "calls", "input_tokens", "output_tokens", "total_tokens"])
        .where("tenant_id", "=", tenant)
        .where("day", ">=", from)
        .where("day", "<=", to)
        .orderBy("day")
        .orderBy("model")
        .execute();
    },

    async pruneMarks({ olderThanMs, limit }) {
      const { numDeletedRows } = await db
        .deleteFrom("usage_marks")
        .where((eb) =>
          eb(
            eb.refTuple("tenant_id", "key"),
            "in",
            eb
              .selectFrom("usage_marks")
              .select(["tenant_id", "key"])
              .where("marked_at", "<=", ago(checkDuration(olderThanMs, "olderThanMs")))
              .orderBy("marked_at")
              .limit(checkPage(limit))
              .$asTuple("tenant_id", "key"),
          ),
        )
        .executeTakeFirst();
      return Number(numDeletedRows);
    },
  };
}
