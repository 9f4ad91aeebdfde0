/** Archived turns in memory: their table, and reading it. */
import type { TurnSnapshot } from "@turnstream/protocol";
import { checkCount, checkLimit } from "../rules/arguments.ts";
import type { Ref } from "../refs.ts";
import { MAX_BATCH, MAX_PAGE } from "../ports/sessions.ts";
import type { TurnRecord, Turns } from "../ports/turns.ts";
import { sessionRow } from "./session-rows.ts";
import { type MemoryTables, type Rows, table } from "./tables.ts";

interface TurnRow extends Omit<TurnRecord, "snapshot"> {
  readonly snapshot: string;
}

export const TURNS = table<TurnRow>("turns", "session");

export function memoryTurns(tables: MemoryTables): Turns {
  return {
    get: (ref, id) =>
      tables.run((rows) => {
        const row = turnsOf(rows, ref).find((one) => one.id === id);
        return row === undefined ? null : recordOf(row);
      }),
    list: (ref, { limit, before }) =>
      tables.run((rows) => {
        const end = before === undefined ? Infinity : checkCount(before, "before");
        return turnsOf(rows, ref)
          .filter((row) => row.start < end)
          .toReversed()
          .slice(0, checkLimit(limit, MAX_PAGE))
          .map(recordOf);
      }),
    open: (ref) =>
      tables.run((rows) =>
        turnsOf(rows, ref)
          .filter((row) => row.open)
          .slice(0, MAX_BATCH)
          .map(recordOf),
      ),
  };
}

/** Ascending by start. */
export function turnsOf(rows: Rows, ref: Ref): TurnRow[] {
  if (sessionRow(rows, ref) === undefined) return [];
  return rows.of(TURNS, ref.session).toSorted((a, b) => a.start - b.start);
}

export function recordOf(row: TurnRow): TurnRecord {
  return { ...row, snapshot: JSON.parse(row.snapshot) as TurnSnapshot };
}
