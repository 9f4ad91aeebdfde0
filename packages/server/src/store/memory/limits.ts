/**
 * `memoryLimits` implements limits and their counts in memory. `eraseLimitsOfUser` is for the erasure of a user.
 *
 * Invariant: it applies the same rules as PostgreSQL (rules/limits.ts). Transactions run one at a time, so no lock is
 * needed.
 */
import type { Env } from "../../util/env.ts";
import type { CallerLimits, StoredLimit } from "../ports/limits.ts";
import { MAX_BATCH } from "../ports/sessions.ts";
import type { Actor, SessionRef } from "../../util/refs.ts";
import {
  checkLimitTarget,
  checkLimitValues,
  findExceededBytesLimit,
  findExceededTurnLimit,
  type LimitTarget,
  type LimitName,
} from "../rules/limits.ts";
import { countUploadedBytes } from "./files.ts";
import { countTurns } from "./running.ts";
import { compareText, SESSIONS } from "./session-rows.ts";
import { type MemoryTables, type Rows, table } from "./tables.ts";
import { requireTenant } from "./tenants.ts";
import { sumUsage } from "./usage.ts";

const LIMITS_SET = table<StoredLimit>("caller_limits", "tenant");

export function memoryLimits(tables: MemoryTables, env: Env): CallerLimits {
  return {
    find: ({ tenant, user }) =>
      tables.run((rows) =>
        listLimits(rows, tenant).filter(
          ({ target }) => target.scope === "tenant" || target.user === null || target.user === user,
        ),
      ),
    list: (tenant) => tables.run((rows) => listLimits(rows, tenant).slice(0, MAX_BATCH)),
    replace: (tenant, target, source, values) =>
      tables.run((rows) => {
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
      }),
    findExceeded: (actor, limits) =>
      tables.run((rows) => {
        const now = env.now();
        const count = (user: string | null) => ({
          ...countTurns(rows, sessionsOf(rows, actor.tenant, user)),
          ...sumUsage(rows, actor.tenant, user, now),
        });
        return (
          findExceededTurnLimit("user", count(actor.user), limits.user, now) ??
          findExceededTurnLimit("tenant", count(null), limits.tenant, now)
        );
      }),
    findExceededBytes: ({ tenant, user }, limits) =>
      tables.run((rows) => {
        const count = (of: string | null) => countUploadedBytes(rows, sessionsOf(rows, tenant, of));
        return findExceededBytesLimit({ user: count(user), tenant: count(null) }, limits);
      }),
  };
}

function sessionsOf(rows: Rows, tenant: string, user: string | null): SessionRef[] {
  return rows
    .of(SESSIONS, tenant)
    .filter((row) => user === null || row.user === user)
    .map(({ id }) => ({ tenant, session: id }));
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

export function eraseLimitsOfUser(rows: Rows, { tenant, user }: Actor): void {
  for (const row of rows.of(LIMITS_SET, tenant))
    if (row.target.scope === "user" && row.target.user === user) rows.remove(LIMITS_SET, tenant, rowKey(row));
}
