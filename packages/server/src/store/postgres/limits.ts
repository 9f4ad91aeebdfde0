/**
 * `postgresLimits` implements limits and their counts on PostgreSQL.
 *
 * Invariant: a lock per user, and near the limit a lock per tenant, lasts from the count until the transaction ends.
 * The count is a statement of its own, after the lock, so that it sees what other transactions have committed. Locks
 * are taken after those of the session (session-row.ts), the user's before the tenant's.
 */
import { sql } from "kysely";
import { StoreError } from "../errors.ts";
import type { CallerLimits, StoredLimit } from "../ports/limits.ts";
import { MAX_BATCH } from "../ports/sessions.ts";
import type { Actor } from "../../util/refs.ts";
import {
  checkLimitTarget,
  checkLimitValues,
  COST_UNIT,
  findExceededBytesLimit,
  findExceededTurnLimit,
  hasLimit,
  isFarBelow,
  type LimitTarget,
  type TurnLimits,
  type UseCounts,
} from "../rules/limits.ts";
import type { Db } from "./database.ts";
import { inTransaction } from "./session-row.ts";

export function postgresLimits(db: Db): CallerLimits {
  return {
    find: ({ tenant, user }) => readLimits(db, tenant, ["", user]),
    list: (tenant) => readLimits(db, tenant),
    replace: (tenant, target, source, values) =>
      inTransaction(db, async (tx) => {
        checkLimitTarget(target);
        checkLimitValues(target.scope, values);
        await lockTenant(tx, tenant);
        const row = { tenant_id: tenant, scope: target.scope, user_id: userColumn(target), source };
        await tx
          .deleteFrom("caller_limits")
          .where((eb) => eb.and(row))
          .execute();
        const rows = Object.entries(values).map(([name, value]) => ({ ...row, name, value: value ?? null }));
        if (rows.length > 0) await tx.insertInto("caller_limits").values(rows).execute();
      }),
    findExceeded: (actor, limits) => inTransaction(db, (tx) => findExceeded(tx, actor, limits)),
    async findExceededBytes({ tenant, user }, limits) {
      const rows = await db
        .selectFrom("stored_bytes")
        .select(["user_id", "bytes"])
        .where("tenant_id", "=", tenant)
        .where("user_id", "in", ["", user])
        .execute();
      const bytesOf = (id: string) => rows.find((row) => row.user_id === id)?.bytes ?? 0;
      return findExceededBytesLimit({ user: bytesOf(user), tenant: bytesOf("") }, limits);
    },
  };
}

/** Two concurrent replacements run one after the other. Blocks nothing else. */
async function lockTenant(tx: Db, tenant: string): Promise<void> {
  const row = await tx
    .selectFrom("tenants")
    .select("id")
    .where("id", "=", tenant)
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (row === undefined) throw new StoreError("NOT_FOUND", `tenant ${tenant}`);
}

function userColumn(target: LimitTarget): string {
  return target.scope === "tenant" ? "" : (target.user ?? "");
}

async function readLimits(db: Db, tenant: string, users?: readonly string[]): Promise<StoredLimit[]> {
  let query = db
    .selectFrom("caller_limits")
    .select(["scope", "user_id", "source", "name", "value"])
    .where("tenant_id", "=", tenant)
    .orderBy("scope")
    .orderBy("user_id")
    .orderBy("name")
    .orderBy("source")
    .limit(MAX_BATCH);
  if (users !== undefined) query = query.where("user_id", "in", users);
  return (await query.execute()).flatMap(({ scope, user_id, source, name, value }) => {
    const target: LimitTarget = scope === "tenant" ? { scope } : { scope, user: user_id || null };
    // A newer version may have stored a limit that this one doesn't know.
    return hasLimit(scope, name) ? [{ target, source, name, value }] : [];
  });
}

async function findExceeded(
  tx: Db,
  actor: Actor,
  limits: { readonly user: TurnLimits; readonly tenant: TurnLimits },
) {
  await lock(tx, `limits/user/${JSON.stringify([actor.tenant, actor.user])}`);
  const counts = await countUse(tx, actor, limits);
  const ofUser = findExceededTurnLimit("user", counts.user, limits.user, counts.now);
  if (ofUser !== null) return ofUser;
  const isFar = (name: "queuedMessages" | "runningTurns") =>
    isFarBelow(counts.tenant[name], limits.tenant[name]);
  if (isFar("queuedMessages") && isFar("runningTurns"))
    return findExceededTurnLimit("tenant", counts.tenant, limits.tenant, counts.now);
  await lock(tx, `limits/tenant/${actor.tenant}`);
  const again = await countUse(tx, actor, limits);
  return findExceededTurnLimit("tenant", again.tenant, limits.tenant, again.now);
}

/** The lock lasts until the transaction ends. Two names with the same hash only wait for each other. */
async function lock(tx: Db, name: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`.execute(tx);
}

interface CountRow {
  readonly now: number;
  readonly user_queued: number;
  readonly user_turns: number;
  readonly tenant_queued: number;
  readonly tenant_turns: number;
  readonly user_used: readonly [number, number, number, number] | null;
  readonly tenant_used: readonly [number, number, number, number] | null;
}

/** Stops counting one row beyond the limit. */
async function countUse(
  tx: Db,
  { tenant, user }: Actor,
  limits: { readonly user: TurnLimits; readonly tenant: TurnLimits },
): Promise<{ readonly now: number; readonly user: UseCounts; readonly tenant: UseCounts }> {
  const ofUser = sql`tenant_id = ${tenant} and owner = ${user}`;
  const ofTenant = sql`tenant_id = ${tenant}`;
  const queued = (of: typeof ofUser, limit: number | null) => sql`
    (select count(*) from (
      select from waiting_messages where ${of} and body is not null limit ${most(limit)}) q)`;
  const turns = (of: typeof ofUser, limit: number | null) => sql`
    (select count(*) from (
      select session_id from waiting_messages where ${of} and body is not null
      union select session_id from running_turns where ${of} limit ${most(limit)}) t)`;
  const sums = sql`json_build_array(
    coalesce(sum(total_tokens) filter (where day = today), 0), coalesce(sum(total_tokens), 0),
    coalesce(sum(cost_micros) filter (where day = today), 0), coalesce(sum(cost_micros), 0))`;
  const { rows } = await sql<CountRow>`
    with clock as (
      select clock_timestamp()::timestamptz(3) as now,
        to_char(clock_timestamp() at time zone 'utc', 'YYYY-MM-DD') as today,
        to_char(clock_timestamp() at time zone 'utc', 'YYYY-MM-01') as month_start)
    select now,
      ${queued(ofUser, limits.user.queuedMessages)} as user_queued,
      ${turns(ofUser, limits.user.runningTurns)} as user_turns,
      ${queued(ofTenant, limits.tenant.queuedMessages)} as tenant_queued,
      ${turns(ofTenant, limits.tenant.runningTurns)} as tenant_turns,
      (select ${sums} from usage_user_days
        where tenant_id = ${tenant} and user_id = ${user} and day >= month_start) as user_used,
      (select ${sums} from usage_days where tenant_id = ${tenant} and day >= month_start) as tenant_used
    from clock`.execute(tx);
  const [row] = rows;
  if (row === undefined) throw new TypeError("a select without a condition returns a row");
  return {
    now: row.now,
    user: useCounts(row.user_queued, row.user_turns, row.user_used),
    tenant: useCounts(row.tenant_queued, row.tenant_turns, row.tenant_used),
  };
}

/** How many rows to count. */
function most(limit: number | null): number {
  return limit === null ? 0 : Math.min(limit, MAX_COUNT) + 1;
}

/** A larger limit of the database's `limit` would not be a bigint. */
const MAX_COUNT = 1_000_000_000;

function useCounts(queuedMessages: number, runningTurns: number, used: CountRow["user_used"]): UseCounts {
  const [tokensPerDay = 0, tokensPerMonth = 0, dayMicros = 0, monthMicros = 0] = used ?? [];
  return {
    queuedMessages,
    runningTurns,
    tokensPerDay,
    tokensPerMonth,
    costPerDay: dayMicros / COST_UNIT,
    costPerMonth: monthMicros / COST_UNIT,
  };
}
