/** Usage in memory. */
import { checkDuration } from "../rules/arguments.ts";
import type { Env } from "../../util/env.ts";
import { checkDay, checkPage, checkUsage } from "../rules/ledger-arguments.ts";
import { MOST_USAGE, type UsageDay, type UsageLedger } from "../ports/usage.ts";
import { requireTenant } from "./ledger-rows.ts";
import { compareText } from "./session-rows.ts";
import { type MemoryTables, table } from "./tables.ts";

const DAYS = table<UsageDay>("usage_days", "tenant");
const MARKS = table<{ readonly tenant: string; readonly key: string; readonly at: number }>(
  "usage_marks",
  "tenant",
);

export function memoryUsage(tables: MemoryTables, env: Env): UsageLedger {
  return {
    add: (tenant, usage) =>
      tables.run((rows) => {
        const model = checkUsage(usage);
        requireTenant(rows, tenant);
        const { key, day = new Date(env.now()).toISOString().slice(0, 10) } = usage;
        if (rows.get(MARKS, tenant, key) !== undefined) return false;
        rows.put(MARKS, tenant, key, { tenant, key, at: env.now() });
        const place = JSON.stringify([day, model]);
        const before = rows.get(DAYS, tenant, place);
        rows.put(DAYS, tenant, place, {
          day,
          model,
          turns: sum(before?.turns, usage.turns),
          calls: sum(before?.calls, usage.calls),
          input_tokens: sum(before?.input_tokens, usage.input_tokens),
          output_tokens: sum(before?.output_tokens, usage.output_tokens),
          total_tokens: sum(before?.total_tokens, usage.total_tokens),
        });
        return true;
      }),

    list: (tenant, from, to) =>
      tables.run((rows) => {
        checkDay(from);
        checkDay(to);
        const inside = rows.of(DAYS, tenant).filter(({ day }) => day >= from && day <= to);
        return inside.toSorted((a, b) => compareText(a.day, b.day) || compareText(a.model, b.model));
      }),

    pruneMarks: ({ olderThanMs, limit }) =>
      tables.run((rows) => {
        const before = env.now() - checkDuration(olderThanMs, "olderThanMs");
        const old = rows
          .all(MARKS)
          .filter(({ at }) => at <= before)
          .slice(0, checkPage(limit));
        for (const { tenant, key } of old) rows.remove(MARKS, tenant, key);
        return old.length;
      }),
  };
}

function sum(before: number | undefined, more: number): number {
  return Math.min((before ?? 0) + more, MOST_USAGE);
}
