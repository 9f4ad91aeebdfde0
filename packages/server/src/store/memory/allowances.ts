/** Allowances in memory. */
import type { Env } from "../../util/env.ts";
import type { Allowance, Allowances } from "../ports/allowances.ts";
import { MAX_BATCH } from "../ports/sessions.ts";
import type { Ref } from "../refs.ts";
import { checkAllowance } from "../rules/ledger-arguments.ts";
import { requireSession, sessionRow } from "./session-rows.ts";
import { type MemoryTables, type Rows, table } from "./tables.ts";

interface AllowanceRow extends Allowance {
  readonly n: number;
}

const ALLOWANCES = table<AllowanceRow>("allowances", "session");

const keyOf = (agent: string, tool: string): string => JSON.stringify([agent, tool]);

function ofTenant(rows: Rows, ref: Ref): AllowanceRow[] {
  return sessionRow(rows, ref) === undefined ? [] : rows.of(ALLOWANCES, ref.session);
}

export function memoryAllowances(tables: MemoryTables, env: Env): Allowances {
  return {
    add: (ref, allowance) =>
      tables.run((rows) => {
        checkAllowance(allowance);
        requireSession(rows, ref);
        const { agent, tool, by = null } = allowance;
        const key = keyOf(agent, tool);
        if (rows.get(ALLOWANCES, ref.session, key) !== undefined) return "already";
        const n = rows.next("allowances");
        rows.put(ALLOWANCES, ref.session, key, { agent, tool, by, at: env.now(), n });
        return "added";
      }),
    find: (ref, agent, tool) =>
      tables.run((rows) => {
        const row = ofTenant(rows, ref).find((one) => one.agent === agent && one.tool === tool);
        return row === undefined ? null : allowanceOf(row);
      }),
    list: (ref) =>
      tables.run((rows) =>
        ofTenant(rows, ref)
          .toSorted((a, b) => a.n - b.n)
          .slice(0, MAX_BATCH)
          .map(allowanceOf),
      ),
    remove: (ref, agent, tool) =>
      tables.run(
        (rows) =>
          sessionRow(rows, ref) !== undefined && rows.remove(ALLOWANCES, ref.session, keyOf(agent, tool)),
      ),
  };
}

function allowanceOf({ n: _, ...allowance }: AllowanceRow): Allowance {
  return allowance;
}

/** The allowance stays; whoever gave it is not named any more. */
export function forgetAllower(rows: Rows, session: string, user: string): void {
  for (const row of rows.of(ALLOWANCES, session))
    if (row.by === user) rows.put(ALLOWANCES, session, keyOf(row.agent, row.tool), { ...row, by: null });
}
