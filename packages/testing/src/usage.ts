/**
 * `memoryUsage` implements the usage ledger in memory. `sumUsage` is for the limits.
 *
 * Invariant: a usage key is counted once, for the tenant and the user in one `tables.run`.
 */
import {
  checkDay,
  checkUsage,
  COST_UNIT,
  type Env,
  MAX_USAGE,
  type UsageAdd,
  type UsageDay,
  type UsageLedger,
  type UseOwner,
  type UseScope,
} from "@turnstream/server/internal";
import { compareText } from "./session-rows.ts";
import { createPart, type MemoryTables, type Rows, table } from "./tables.ts";
import { requireTenant } from "./tenants.ts";

/** Whose sums a row has: those of a user, of a key, or of the tenant. */
interface UsageOf {
  readonly scope: UseScope;
  /** Empty for the tenant. */
  readonly id: string;
}

/** The cost is in millionths. */
interface UsageRow extends UsageDay, UsageOf {}

const DAYS = table<UsageRow>("usage_days");
/** By tenant and key. */
export const MARKS = table<true>("usage_marks");

export function memoryUsage(tables: MemoryTables, env: Env): UsageLedger {
  return createPart<UsageLedger>(tables, {
    add(rows, tenant, usage) {
      const { model, costMicros } = checkUsage(usage);
      requireTenant(rows, tenant);
      const { key, user, apiKey, day = dayOf(env.now()) } = usage;
      if (rows.get(MARKS, tenant, key) !== undefined) return false;
      rows.put(MARKS, tenant, key, true);
      const added = { ...usage, cost: costMicros };
      addTo(rows, tenant, { ...WHOLE, day, model }, added);
      if (user !== undefined) addTo(rows, tenant, { scope: "user", id: user, day, model }, added);
      if (typeof apiKey === "string") addTo(rows, tenant, { scope: "key", id: apiKey, day, model }, added);
      return true;
    },

    list: (rows, tenant, from, to) => listDays(rows, tenant, WHOLE, from, to),
    listUser: (rows, { tenant, user }, from, to) =>
      listDays(rows, tenant, { scope: "user", id: user }, from, to),
    listKey: (rows, tenant, apiKey, from, to) =>
      listDays(rows, tenant, { scope: "key", id: apiKey }, from, to),

    pruneMarks: () => 0,
  });
}

function dayOf(now: number): string {
  return new Date(now).toISOString().slice(0, 10);
}

const WHOLE: UsageOf = { scope: "tenant", id: "" };

type RowId = Pick<UsageRow, "scope" | "id" | "day" | "model">;

function rowKey({ scope, id, day, model }: RowId): string {
  return JSON.stringify([scope, id, day, model]);
}

function addTo(rows: Rows, tenant: string, of: RowId, usage: UsageAdd & { readonly cost: number }): void {
  const before = rows.get(DAYS, tenant, rowKey(of));
  rows.put(DAYS, tenant, rowKey(of), {
    ...of,
    turns: sum(before?.turns, usage.turns),
    calls: sum(before?.calls, usage.calls),
    input_tokens: sum(before?.input_tokens, usage.input_tokens),
    output_tokens: sum(before?.output_tokens, usage.output_tokens),
    total_tokens: sum(before?.total_tokens, usage.total_tokens),
    cost: sum(before?.cost, usage.cost),
  });
}

function sum(before: number | undefined, more: number): number {
  return Math.min((before ?? 0) + more, MAX_USAGE);
}

function listDays(rows: Rows, tenant: string, { scope, id }: UsageOf, from: string, to: string): UsageDay[] {
  checkDay(from);
  checkDay(to);
  return rows
    .of(DAYS, tenant)
    .filter((row) => row.scope === scope && row.id === id && row.day >= from && row.day <= to)
    .toSorted((a, b) => compareText(a.day, b.day) || compareText(a.model, b.model))
    .map(({ scope: _, id: __, ...day }) => ({ ...day, cost: day.cost / COST_UNIT }));
}

function total(days: readonly UsageDay[], name: "total_tokens" | "cost"): number {
  return days.reduce((all, day) => all + day[name], 0);
}

/** Sums the tokens and the cost of ended turns today and in this month. */
export function sumUsage(rows: Rows, { tenant, user, apiKey }: UseOwner, scope: UseScope, now: number) {
  const today = dayOf(now);
  const id = { user, key: apiKey ?? "", tenant: "" }[scope];
  const days = listDays(rows, tenant, { scope, id }, `${today.slice(0, 8)}01`, today);
  const ofToday = days.filter(({ day }) => day === today);
  return {
    tokensPerDay: total(ofToday, "total_tokens"),
    tokensPerMonth: total(days, "total_tokens"),
    costPerDay: total(ofToday, "cost"),
    costPerMonth: total(days, "cost"),
  };
}
