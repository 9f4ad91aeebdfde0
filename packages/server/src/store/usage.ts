/**
 * `UsageLedger` is the part of the store for the usage of tenants, API keys and users by day and model, and
 * `postgresUsage` its implementation.
 *
 * Invariant: one statement marks a usage key and adds its counts for the tenant, the API key and the user, so a repeat
 * adds nothing. Concurrent transactions add to different shards of a count, so none waits for another; readers add up
 * the shards. The counts outlive the sessions they came from. Those of a user are erased with the user; the sums of the
 * tenant and of the keys stay.
 */
import type { Usage } from "@turnstream/protocol";
import { sql } from "kysely";
import type { Actor } from "../util/refs.ts";
import type { Db } from "./database/database.ts";
import { deleteOldest } from "./database/delete-oldest.ts";
import { ago } from "./database/session-row.ts";
import { existingTenant } from "./database/tenant-row.ts";
import { StoreError } from "./errors.ts";
import { checkIds, checkCount, checkText, checkDuration } from "./rules/arguments.ts";
import { COST_UNIT } from "./rules/limits.ts";

/** What one turn or call has used. */
export interface UsageAdd extends Usage {
  /** An idempotency key within the tenant, such as a turn id. */
  readonly key: string;
  /** The user whose turn it was. Default: it counts for the tenant only. */
  readonly user?: string;
  /** The id of the API key behind the turn. Default: it counts for no key. */
  readonly apiKey?: string | null;
  /** `YYYY-MM-DD` in UTC. @default today, by the database's clock */
  readonly day?: string;
  /** @default "" */
  readonly model?: string;
  readonly turns: number;
  /** In the currency of the agent's `pricing`, rounded to millionths. @default 0 */
  readonly cost?: number;
}

export interface UsageDay extends Usage {
  readonly day: string;
  readonly model: string;
  readonly turns: number;
  readonly cost: number;
}

/** Sums stop here: the largest integer that every JSON reader represents exactly. */
export const MAX_USAGE = Number.MAX_SAFE_INTEGER;

export interface UsageLedger {
  /** Adds usage. Returns false and adds nothing if the key was counted before. A sum stops at MAX_USAGE. */
  add(tenant: string, usage: UsageAdd): Promise<boolean>;
  /** Returns the days from `from` to `to`, both included, ordered by day and then model. */
  list(tenant: string, from: string, to: string): Promise<UsageDay[]>;
  /** The same for one user. */
  listUser(actor: Actor, from: string, to: string): Promise<UsageDay[]>;
  /** The same for one API key. */
  listKey(tenant: string, apiKey: string, from: string, to: string): Promise<UsageDay[]>;
  /** Deletes old idempotency keys that will not be repeated. The counts stay. */
  pruneMarks(page: { readonly olderThanMs: number; readonly limit: number }): Promise<number>;
}

/** @returns the model and the cost as they can be stored */
export function checkUsage(usage: UsageAdd): { readonly model: string; readonly costMicros: number } {
  checkIds({ key: usage.key, user: usage.user, apiKey: usage.apiKey ?? undefined }, "usage");
  if (usage.day !== undefined) checkDay(usage.day);
  const { turns, calls, input_tokens, output_tokens, total_tokens } = usage;
  for (const count of [turns, calls, input_tokens, output_tokens, total_tokens]) checkCount(count, "usage");
  const costMicros = checkCount(Math.round((usage.cost ?? 0) * COST_UNIT), "usage cost in millionths");
  return { model: checkText(usage.model ?? "", "usage model"), costMicros };
}

/** Checks the format, and that the day exists. */
export function checkDay(day: string): void {
  const time = /^\d{4}-\d\d-\d\d$/.test(day) ? Date.parse(day) : Number.NaN;
  if (Number.isNaN(time) || new Date(time).toISOString().slice(0, 10) !== day) {
    throw new StoreError("INVALID", "day must be an existing day, as YYYY-MM-DD");
  }
}

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
      const { key, user = null, apiKey = null, day = null } = usage;
      const { turns, calls, input_tokens, output_tokens, total_tokens } = usage;
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
      const isOld = sql`marked_at <= ${ago(checkDuration(olderThanMs, "olderThanMs"))}`;
      return deleteOldest(db, "usage_marks", { key: ["tenant_id", "key"], isOld, by: sql`marked_at`, limit });
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
