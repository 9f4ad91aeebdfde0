/** The journal in memory. */
import type { Json } from "@turnstream/protocol";
import { StoreError } from "../errors.ts";
import type { Journal } from "../ports/journal.ts";
import type { Ref } from "../refs.ts";
import { checkJournalEntry, checkKeptTurns } from "../rules/running.ts";
import { requireSession, sessionRow } from "./session-rows.ts";
import { type MemoryTables, type Rows, table } from "./tables.ts";

interface JournalRow {
  readonly turn: string;
  readonly key: string;
  readonly n: number;
  /** As JSON. */
  readonly value: string;
  readonly kept: boolean;
}

const JOURNAL = table<JournalRow>("turn_journal", "session");

export function memoryJournal(tables: MemoryTables): Journal {
  return {
    write: (ref, entry) =>
      tables.run((rows) => {
        const value = checkJournalEntry(entry);
        const { turn, key, epoch, kept = false } = entry;
        if (requireSession(rows, ref).epoch > epoch)
          throw new StoreError("FENCED", `session ${ref.session}, epoch ${epoch}`);
        if (rows.get(JOURNAL, ref.session, rowKey(entry)) !== undefined) return "already";
        const n = rows.next("turn_journal");
        rows.put(JOURNAL, ref.session, rowKey(entry), { turn, key, n, value, kept });
        return "written";
      }),
    read: (ref, turn) =>
      tables.run((rows) =>
        journalOf(rows, ref)
          .filter((row) => row.turn === turn)
          .map(({ key, value }) => ({ key, value: JSON.parse(value) as Json })),
      ),
    kept: (ref, turns) =>
      tables.run((rows) => {
        const wanted = new Set(checkKeptTurns(turns));
        return journalOf(rows, ref)
          .filter(({ turn, kept }) => kept && wanted.has(turn))
          .map(({ turn, key, value }) => ({ turn, key, value: JSON.parse(value) as Json }));
      }),
    close: (ref, turn) =>
      tables.run((rows) => {
        const dropped = journalOf(rows, ref).filter((row) => row.turn === turn && !row.kept);
        for (const row of dropped) rows.remove(JOURNAL, ref.session, rowKey(row));
        return dropped.length;
      }),
  };
}

/** Ids may have any character but NUL. */
function rowKey({ turn, key }: { readonly turn: string; readonly key: string }): string {
  return `${turn}\0${key}`;
}

function journalOf(rows: Rows, ref: Ref): JournalRow[] {
  if (sessionRow(rows, ref) === undefined) return [];
  return rows.of(JOURNAL, ref.session).toSorted((a, b) => a.n - b.n);
}

/** The number of the newest entry of a turn; 0 when there is none. */
export function newestEntry(rows: Rows, ref: Ref, turn: string): number {
  return journalOf(rows, ref).findLast((row) => row.turn === turn)?.n ?? 0;
}
