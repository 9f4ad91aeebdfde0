/**
 * `memoryLimits` implements limits and their counts in memory. `eraseLimitsOfUser` is for the erasure of a user.
 *
 * Invariant: it applies the same rules as PostgreSQL (rules/limits.ts). Transactions run one at a time, so no lock is
 * needed.
 */
import {
  type CallerLimits,
  checkLimitTarget,
  checkLimitValues,
  COST_UNIT,
  type Env,
  findExceededBytesLimit,
  findExceededTurnLimit,
  findExceededUsageLimit,
  findInScopes,
  type LimitName,
  type LimitTarget,
  MAX_BATCH,
  type SessionRef,
  type StoredLimit,
  type UseOwner,
  type UseScope,
} from "@turnstream/server/internal";
import { countUploadedBytes } from "./files.ts";
import { RUNNING, WAITING } from "./running-rows.ts";
import { compareText, SESSIONS } from "./session-rows.ts";
import { createPart, type MemoryTables, type Rows, table } from "./tables.ts";
import { requireTenant } from "./tenants.ts";
import { sumUsage } from "./usage.ts";

const LIMITS_SET = table<StoredLimit>("caller_limits");

export function memoryLimits(tables: MemoryTables, env: Env): CallerLimits {
  return createPart<CallerLimits>(tables, {
    find: (rows, { tenant, user }) =>
      listLimits(rows, tenant).filter(
        ({ target }) => target.scope === "tenant" || target.user === null || target.user === user,
      ),
    list: (rows, tenant) => listLimits(rows, tenant).slice(0, MAX_BATCH),
    replace(rows, tenant, target, source, values) {
      checkLimitTarget(target);
      checkLimitValues(target.scope, values);
      requireTenant(rows, tenant);
      for (const row of rows.of(LIMITS_SET, tenant))
        if (row.source === source && targetKey(row.target) === targetKey(target))
          rows.remove(LIMITS_SET, tenant, rowKey(row));
      for (const [name, value] of Object.entries(values)) {
        const row: StoredLimit = { target, source, name: name as LimitName, value: value ?? null };
        rows.put(LIMITS_SET, tenant, rowKey(row), row);
      }
    },
    findExceeded(rows, owner, limits) {
      const now = env.now();
      return findInScopes(owner, (scope) => {
        const counts = { ...countTurns(rows, owner, scope), ...countUsage(rows, owner, scope, now) };
        return findExceededTurnLimit(scope, counts, limits[scope], now);
      });
    },
    findExceededUsage(rows, owner, limits) {
      const now = env.now();
      return findInScopes(owner, (scope) =>
        findExceededUsageLimit(scope, countUsage(rows, owner, scope, now), limits[scope], now),
      );
    },
    findExceededBytes(rows, owner, limits) {
      const count = (scope: UseScope) =>
        countUploadedBytes(rows, sessionsOf(rows, owner, scope), isOfScope(owner, scope));
      const bytes = { user: count("user"), key: count("key"), tenant: count("tenant") };
      return findExceededBytesLimit(owner, bytes, limits);
    },
  });
}

function sessionsOf(rows: Rows, { tenant, user }: UseOwner, scope: UseScope): SessionRef[] {
  return rows
    .of(SESSIONS, tenant)
    .filter((row) => scope !== "user" || row.user === user)
    .map(({ id }) => ({ tenant, session: id }));
}

/** Only the scope of a key looks at the key: a user's and a tenant's rows are those of their sessions. */
function isOfScope({ apiKey }: UseOwner, scope: UseScope) {
  return (row: { readonly apiKey: string | null }): boolean => scope !== "key" || row.apiKey === apiKey;
}

/** Counts queued messages, and the sessions with a turn that runs or is about to start. */
function countTurns(rows: Rows, owner: UseOwner, scope: UseScope) {
  const isCounted = isOfScope(owner, scope);
  const sessions = sessionsOf(rows, owner, scope);
  const queued = sessions.map(
    (ref) => rows.of(WAITING, ref).filter((row) => row.body !== null && isCounted(row)).length,
  );
  const runs = (ref: SessionRef) => rows.of(RUNNING, ref).some(isCounted);
  return {
    queuedMessages: queued.reduce((sum, count) => sum + count, 0),
    runningTurns: sessions.filter((ref, n) => (queued[n] ?? 0) > 0 || runs(ref)).length,
  };
}

/** Sums the usage of ended turns, and what running turns have used so far. */
function countUsage(rows: Rows, owner: UseOwner, scope: UseScope, now: number) {
  const sums = sumUsage(rows, owner, scope, now);
  const isCounted = isOfScope(owner, scope);
  const running = sessionsOf(rows, owner, scope).flatMap((ref) => rows.of(RUNNING, ref));
  for (const turn of running.filter(isCounted)) {
    sums.tokensPerDay += turn.used.tokens;
    sums.tokensPerMonth += turn.used.tokens;
    sums.costPerDay += turn.used.micros / COST_UNIT;
    sums.costPerMonth += turn.used.micros / COST_UNIT;
  }
  return sums;
}

function targetKey(target: LimitTarget): string {
  return target.scope === "tenant" ? "tenant" : `user/${target.user ?? ""}`;
}

function rowKey({ target, source, name }: StoredLimit): string {
  return JSON.stringify([targetKey(target), name, source]);
}

function listLimits(rows: Rows, tenant: string): StoredLimit[] {
  return rows
    .of(LIMITS_SET, tenant)
    .toSorted(
      (a, b) =>
        compareText(targetKey(a.target), targetKey(b.target)) ||
        compareText(a.name, b.name) ||
        compareText(a.source, b.source),
    );
}
