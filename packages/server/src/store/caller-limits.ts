/**
 * `CallerLimits` is the part of the store for limits on what tenants, API keys and users may use: the stored values,
 * and the counts that are compared with them. `postgresLimits` is its implementation.
 *
 * Invariant: `findExceeded` and `findExceededBytes` count what the transaction has added. A lock per user, and near the
 * limit a lock per API key and per tenant, lasts from the count until the transaction ends, so no limit is exceeded.
 * Stored bytes have such a lock for each limit. The count is a statement of its own, after the lock, so that it sees
 * what other transactions have committed. Locks are taken after those of the session (`database/session-row.ts`): the
 * user's, the key's, the tenant's. Tokens and cost are those of ended turns, and those that running turns have
 * journaled.
 */
import { sql } from "kysely";
import type { Actor } from "../util/refs.ts";
import type { Db } from "./database/database.ts";
import { inTransaction } from "./database/session-row.ts";
import { lockTenantRow } from "./database/tenant-row.ts";
import { MAX_BATCH } from "./rules/arguments.ts";
import {
  type LimitTarget,
  type LimitSource,
  type LimitName,
  type LimitValues,
  type UseOwner,
  type ByUseScope,
  type TurnLimits,
  type ExceededLimit,
  type UsageLimits,
  checkLimitTarget,
  checkLimitValues,
  findInScopes,
  findExceededUsageLimit,
  hasLimit,
  type UseScope,
  findExceededTurnLimit,
  isFarBelow,
  findExceededBytesLimit,
  type UseCounts,
  hasUsageLimit,
  type UsageCounts,
  COST_UNIT,
} from "./rules/limits.ts";

export interface StoredLimit {
  readonly target: LimitTarget;
  readonly source: LimitSource;
  readonly name: LimitName;
  /** Null for no limit. */
  readonly value: number | null;
}

export interface CallerLimits {
  /** Returns the limits of the tenant, of each user, and of this user. */
  find(actor: Actor): Promise<StoredLimit[]>;
  /** Returns the limits that are set in a tenant, at most 1,000: the tenant's first, then by user and name. */
  list(tenant: string): Promise<StoredLimit[]>;
  /**
   * Replaces all limits that this source has set for the target.
   * @throws StoreError with NOT_FOUND if the tenant does not exist, with INVALID for an unknown limit or value.
   */
  replace(tenant: string, target: LimitTarget, source: LimitSource, values: LimitValues): Promise<void>;
  /**
   * Compares the queued messages, the turns and the usage of a user, their API key and their tenant with the limits.
   * For a transaction that has added a message or a turn; it must be the last call before the end.
   */
  findExceeded(owner: UseOwner, limits: ByUseScope<TurnLimits>): Promise<ExceededLimit | null>;
  /** Compares the usage alone, without a lock. For a turn that is about to call a model. */
  findExceededUsage(owner: UseOwner, limits: ByUseScope<UsageLimits>): Promise<ExceededLimit | null>;
  /** Compares the bytes of all uploads with the limits. For a transaction that has added a chunk. */
  findExceededBytes(owner: UseOwner, limits: ByUseScope<number | null>): Promise<ExceededLimit | null>;
}

export function postgresLimits(db: Db): CallerLimits {
  return {
    find: ({ tenant, user }) => readLimits(db, tenant, ["", user]),
    list: (tenant) => readLimits(db, tenant),
    replace: (tenant, target, source, values) =>
      inTransaction(db, async (tx) => {
        checkLimitTarget(target);
        checkLimitValues(target.scope, values);
        // Two concurrent replacements run one after the other.
        await lockTenantRow(tx, tenant);
        const user_id = target.scope === "tenant" ? "" : (target.user ?? "");
        const row = { tenant_id: tenant, scope: target.scope, user_id, source };
        await tx
          .deleteFrom("caller_limits")
          .where((eb) => eb.and(row))
          .execute();
        const rows = Object.entries(values).map(([name, value]) => ({ ...row, name, value: value ?? null }));
        if (rows.length > 0) await tx.insertInto("caller_limits").values(rows).execute();
      }),
    findExceeded: (owner, limits) => inTransaction(db, (tx) => findExceeded(tx, owner, limits)),
    async findExceededUsage(owner, limits) {
      const row = await readCounts(db, owner, limits);
      return findInScopes(owner, (scope) =>
        findExceededUsageLimit(scope, usageCounts(row[`${scope}_used`]), limits[scope], row.now),
      );
    },
    findExceededBytes: (owner, limits) => inTransaction(db, (tx) => findExceededBytes(tx, owner, limits)),
  };
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

async function findExceeded(tx: Db, owner: UseOwner, limits: ByUseScope<TurnLimits>) {
  await lock(tx, `limits/user/${JSON.stringify([owner.tenant, owner.user])}`);
  let counts = await countUse(tx, owner, limits);
  const findIn = (scope: UseScope) => findExceededTurnLimit(scope, counts[scope], limits[scope], counts.now);
  const ofUser = findIn("user");
  if (ofUser !== null) return ofUser;
  for (const scope of owner.apiKey === null ? (["tenant"] as const) : (["key", "tenant"] as const)) {
    const isFar = (name: "queuedMessages" | "runningTurns") =>
      isFarBelow(counts[scope][name], limits[scope][name]);
    if (!isFar("queuedMessages") || !isFar("runningTurns")) {
      const id = scope === "key" ? JSON.stringify([owner.tenant, owner.apiKey]) : owner.tenant;
      await lock(tx, `limits/${scope}/${id}`);
      counts = await countUse(tx, owner, limits);
    }
    const exceeded = findIn(scope);
    if (exceeded !== null) return exceeded;
  }
  return null;
}

/** The counts are spread over several rows, so only the locks keep concurrent transactions apart. */
async function findExceededBytes(tx: Db, owner: UseOwner, limits: ByUseScope<number | null>) {
  const { tenant, user, apiKey } = owner;
  if (limits.user !== null) await lock(tx, `bytes/user/${JSON.stringify([tenant, user])}`);
  if (limits.key !== null && apiKey !== null) await lock(tx, `bytes/key/${JSON.stringify([tenant, apiKey])}`);
  if (limits.tenant !== null) await lock(tx, `bytes/tenant/${tenant}`);
  const { rows } = await sql<{ readonly scope: UseScope; readonly bytes: number }>`
    select case user_id when '' then 'tenant' else 'user' end as scope, sum(bytes)::bigint as bytes
    from stored_bytes where tenant_id = ${tenant} and user_id in ('', ${user}) group by 1
    union all
    select 'key', sum(bytes)::bigint from stored_key_bytes
    where tenant_id = ${tenant} and key_id = ${apiKey} having count(*) > 0`.execute(tx);
  const bytesOf = (scope: UseScope) => rows.find((row) => row.scope === scope)?.bytes ?? 0;
  const bytes = { user: bytesOf("user"), key: bytesOf("key"), tenant: bytesOf("tenant") };
  return findExceededBytesLimit(owner, bytes, limits);
}

/** The lock lasts until the transaction ends. Two names with the same hash only wait for each other. */
async function lock(tx: Db, name: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`.execute(tx);
}

type Fragment = ReturnType<typeof sql>;

/** Conditions on rows of messages and turns, and the days of ended turns, of each scope. */
function rowsOf({ tenant, user, apiKey }: UseOwner): ByUseScope<{ of: Fragment; days: Fragment }> {
  const ofTenant = sql`tenant_id = ${tenant}`;
  return {
    user: {
      of: sql`${ofTenant} and owner = ${user}`,
      days: sql`usage_user_days where ${ofTenant} and user_id = ${user}`,
    },
    key: {
      of: sql`${ofTenant} and key_id = ${apiKey}`,
      days: sql`usage_key_days where ${ofTenant} and key_id = ${apiKey}`,
    },
    tenant: { of: ofTenant, days: sql`usage_days where ${ofTenant}` },
  };
}

/** Tokens of today and of this month, then the costs in millionths. Null if nothing has to be counted. */
type UsedColumn = readonly [number, number, number, number] | null;

/** Queued messages and turns. */
type TurnsColumn = readonly [number, number];

/** Stops counting one row beyond the limit. */
async function countUse(tx: Db, owner: UseOwner, limits: ByUseScope<TurnLimits>) {
  const { user, key, tenant } = rowsOf(owner);
  const turns = ({ of }: typeof user, { queuedMessages, runningTurns }: TurnLimits) => sql`json_build_array(
    (select count(*) from (
      select from waiting_messages where ${of} and body is not null limit ${most(queuedMessages)}) q),
    (select count(*) from (
      select session_id from waiting_messages where ${of} and body is not null
      union select session_id from running_turns where ${of} limit ${most(runningTurns)}) t))`;
  const row = await readCounts<Record<`${UseScope}_turns`, TurnsColumn>>(
    tx,
    owner,
    limits,
    sql`,
    ${turns(user, limits.user)} as user_turns,
    ${turns(key, limits.key)} as key_turns,
    ${turns(tenant, limits.tenant)} as tenant_turns`,
  );
  const countsOf = (scope: UseScope): UseCounts => {
    const [queuedMessages, runningTurns] = row[`${scope}_turns`];
    return { queuedMessages, runningTurns, ...usageCounts(row[`${scope}_used`]) };
  };
  return { now: row.now, user: countsOf("user"), key: countsOf("key"), tenant: countsOf("tenant") };
}

type UsageRow = { readonly now: number } & Record<`${UseScope}_used`, UsedColumn>;

/** Reads the usage of each scope that has a limit, and the columns `more`. */
async function readCounts<More>(
  db: Db,
  owner: UseOwner,
  limits: ByUseScope<UsageLimits>,
  more = sql``,
): Promise<UsageRow & More> {
  const { user, key, tenant } = rowsOf(owner);
  const used = ({ of, days }: typeof user, scopeLimits: UsageLimits) =>
    hasUsageLimit(scopeLimits)
      ? sql`(
        select json_build_array(today_tokens + r.tokens, month_tokens + r.tokens,
          today_micros + r.micros, month_micros + r.micros)
        from (select coalesce(sum(total_tokens) filter (where day = today), 0) as today_tokens,
            coalesce(sum(total_tokens), 0) as month_tokens,
            coalesce(sum(cost_micros) filter (where day = today), 0) as today_micros,
            coalesce(sum(cost_micros), 0) as month_micros
          from ${days} and day >= month_start) d,
        (select coalesce(sum(used_tokens), 0) as tokens, coalesce(sum(used_micros), 0) as micros
          from running_turns where ${of}) r)`
      : sql`null`;
  const { rows } = await sql<UsageRow & More>`
    with clock as (
      select clock_timestamp()::timestamptz(3) as now,
        to_char(clock_timestamp() at time zone 'utc', 'YYYY-MM-DD') as today,
        to_char(clock_timestamp() at time zone 'utc', 'YYYY-MM-01') as month_start)
    select now,
      ${used(user, limits.user)} as user_used,
      ${used(key, limits.key)} as key_used,
      ${used(tenant, limits.tenant)} as tenant_used${more}
    from clock`.execute(db);
  const [row] = rows;
  if (row === undefined) throw new TypeError("a select without a condition returns a row");
  return row;
}

/** How many rows to count. */
function most(limit: number | null): number {
  return limit === null ? 0 : Math.min(limit, MAX_COUNT) + 1;
}

/** A larger limit of the database's `limit` would not be a bigint. */
const MAX_COUNT = 1_000_000_000;

function usageCounts(used: UsedColumn): UsageCounts {
  const [tokensPerDay, tokensPerMonth, dayMicros, monthMicros] = used ?? [0, 0, 0, 0];
  return {
    tokensPerDay,
    tokensPerMonth,
    costPerDay: dayMicros / COST_UNIT,
    costPerMonth: monthMicros / COST_UNIT,
  };
}
