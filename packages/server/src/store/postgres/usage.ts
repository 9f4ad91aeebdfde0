/**
 * `postgresUsage` implements the usage ledger on PostgreSQL.
 *
 * Invariant: one statement marks a usage key and adds its counts for the tenant, the API key and the user, so a repeat
 * adds nothing. Concurrent transactions add to different shards of a count, so none waits for another.
 * Readers add up the shards.
 */
import { sql } from "kysely";
import { MAX_USAGE, type UsageDay, type UsageLedger } from "../ports/usage.ts";
import { checkDuration } from "../rules/arguments.ts";
import { checkDay, checkPage, checkUsage } from "../rules/ledger-arguments.ts";
import { COST_UNIT } from "../rules/limits.ts";
import type { Db } from "./database.ts";
import { ago } from "./session-row.ts";
import { existingTenant } from "./tenant-row.ts";

const COUNTS = ["turns", "calls", "input_tokens", "output_tokens", "total_tokens", "cost_micros"] as const;

const countColumns = sql.raw(COUNTS.join(", "));
const sumColumns = sql.raw(
  COUNTS.map((name) => `least(sum(${name}), ${MAX_USAGE})::bigint as ${name}`).join(", "),
);
/** Adds the counts of a row that exists. `d` is the name of the table. */
const addCounts = sql.raw(
  COUNTS.map((name) => `${name} = least(d.${name} + excluded.${name}, ${MAX_USAGE}::bigint)`).join(", "),
);

export function postgresUsage(db: Db): UsageLedger {
  return {
    async add(tenant, usage) {
      const { model, costMicros } = checkUsage(usage);
      const {
        key,
        user = null,
        apiKey = null,
        day = null,
        turns,
        calls,
        input_tokens,
        output_tokens,
        total_tokens,
      } = usage;
      const { rows } = await sql`
        with mark as (
          insert into usage_marks (tenant_id, key) values (${existingTenant(tenant)}, ${key})
          on conflict do nothing returning tenant_id
        ), used as materialized (
          select tenant_id, free_shard(tenant_id) as shard,
            coalesce(${day}::text, to_char(clock_timestamp() at time zone 'utc', 'YYYY-MM-DD')) as day,
            ${model}::text as model, ${turns}::bigint as turns, ${calls}::bigint as calls,
            ${input_tokens}::bigint as input_tokens, ${output_tokens}::bigint as output_tokens,
            ${total_tokens}::bigint as total_tokens, ${costMicros}::bigint as cost_micros
          from mark
        ), of_user as (
          insert into usage_user_days as d (tenant_id, user_id, day, model, shard, ${countColumns})
          select tenant_id, ${user}::text, day, model, shard, ${countColumns} from used where ${user}::text is not null
          on conflict (tenant_id, user_id, day, model, shard) do update set ${addCounts}
        ), of_key as (
          insert into usage_key_days as d (tenant_id, key_id, day, model, shard, ${countColumns})
          select tenant_id, ${apiKey}::text, day, model, shard, ${countColumns} from used
          where ${apiKey}::text is not null
          on conflict (tenant_id, key_id, day, model, shard) do update set ${addCounts}
        )
        insert into usage_days as d (tenant_id, day, model, shard, ${countColumns})
        select tenant_id, day, model, shard, ${countColumns} from used
        on conflict (tenant_id, day, model, shard) do update set ${addCounts}
        returning day`.execute(db);
      return rows.length > 0;
    },

    list: (tenant, from, to) => listDays(db, sql`usage_days where tenant_id = ${tenant}`, from, to),
    listUser: ({ tenant, user }, from, to) =>
      listDays(db, sql`usage_user_days where tenant_id = ${tenant} and user_id = ${user}`, from, to),
    listKey: (tenant, apiKey, from, to) =>
      listDays(db, sql`usage_key_days where tenant_id = ${tenant} and key_id = ${apiKey}`, from, to),

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
              .forUpdate()
              .skipLocked()
              .$asTuple("tenant_id", "key"),
          ),
        )
        .executeTakeFirst();
      return Number(numDeletedRows);
    },
  };
}

/** @param rows a table with a condition */
async function listDays(db: Db, rows: ReturnType<typeof sql>, from: string, to: string): Promise<UsageDay[]> {
  checkDay(from);
  checkDay(to);
  const found = await sql<Omit<UsageDay, "cost"> & { readonly cost_micros: number }>`
    select day, model, ${sumColumns} from ${rows} and day >= ${from} and day <= ${to}
    group by day, model order by day, model`.execute(db);
  return found.rows.map(({ cost_micros, ...row }) => ({ ...row, cost: cost_micros / COST_UNIT }));
}
