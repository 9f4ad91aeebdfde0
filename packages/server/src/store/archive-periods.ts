/**
 * `maintainPeriods` creates and retires the periods of archived events, turns and the journal.
 *
 * Invariant: a statement that reads these tables compares their period with `periodOf`, so that the planner reads one
 * partition. A session that is used longer than its period is copied to the current one. Its rows in the old partitions
 * stay until those are dropped, at least `MIN_AGE_MS` later, so a concurrent reader with the old period finds all of
 * them. No process runs a turn of it meanwhile, so nothing is added that this reader would miss.
 */
import { sql } from "kysely";
import type { SessionRef } from "../util/refs.ts";
import type { ArchiveMaintenance } from "./archive.ts";
import type { Db } from "./database/database.ts";
import { ago, inTransaction } from "./database/session-row.ts";
import { checkLimit, MAX_BATCH, checkDuration } from "./rules/arguments.ts";
import { lockTurn } from "./turn-queue.ts";

/** Longer than any read that started before the last session was copied. */
const MIN_AGE_MS = 10 * 60 * 1_000;

/** The columns of the partitioned tables after tenant, session and period. */
const COPIED = {
  archived_events: ["last_seq", "events"],
  turns: ["id", "start_seq", "end_seq", "status", "open", "message", "snapshot", "v"],
  turn_journal: ["turn", "key", "n", "value", "kept"],
} as const;

/** The tables whose rows are in the partitions of their session's period. */
export const PARTITIONED = Object.keys(COPIED) as (keyof typeof COPIED)[];

export const currentPeriod = sql<number>`current_archive_period()`;

export async function maintainPeriods(
  db: Db,
  query: { readonly retentionMs: number | null; readonly limit: number },
): Promise<ArchiveMaintenance> {
  await sql`select create_archive_periods()`.execute(db);
  const limit = checkLimit(query.limit, MAX_BATCH);
  const { retentionMs } = query;
  if (retentionMs === null) return { moved: 0, dropped: 0 };
  const expired = ago(checkDuration(retentionMs, "retentionMs"));
  const { rows } = await sql<{ period: number; is_empty: boolean }>`
    select period, coalesce(emptied_at <= ${ago(MIN_AGE_MS)}, false) as is_empty from archive_periods
    where period < archive_period(${expired}) and period < current_archive_period()
    order by period`.execute(db);
  let [moved, dropped] = [0, 0];
  // A period with a session that can't be moved now delays no other period.
  for (const { period, is_empty } of rows) {
    if (is_empty) {
      if (await dropPeriod(db, period)) dropped++;
      continue;
    }
    while (moved < limit && (await moveSession(db, period, retentionMs))) moved++;
    await sql`update archive_periods set emptied_at = clock_timestamp()
      where period = ${period} and emptied_at is null
        and not exists (select from sessions where period = ${period})`.execute(db);
  }
  return { moved, dropped };
}

/** Copies the rows of one session, under its lock. @returns false if none is left, but expired ones and those in use */
function moveSession(db: Db, period: number, retentionMs: number): Promise<boolean> {
  return inTransaction(db, async (tx) => {
    // With a timeout, a long session would never be copied, and its period never be dropped.
    await sql`select set_config('statement_timeout', '0', true)`.execute(tx);
    const { rows } = await sql<SessionRef>`
      select tenant_id as tenant, id as session from sessions
      where period = ${period} and updated_at >= ${ago(retentionMs)} and not ${isRunning}
      limit 1 for no key update skip locked`.execute(tx);
    const [ref] = rows;
    if (ref === undefined) return false;
    // Statements of their own, so that they see what was written before the locks. No process starts a turn under them.
    await lockTurn(tx, ref);
    const { rows: found } = await sql<{ period: number }>`
      update sessions set period = ${currentPeriod}
      where tenant_id = ${ref.tenant} and id = ${ref.session} and not ${isRunning}
      returning period`.execute(tx);
    const [moved] = found;
    if (moved === undefined) return false;
    for (const name of PARTITIONED) {
      const columns = sql.join(COPIED[name].map((column) => sql.ref(column)));
      await sql`insert into ${sql.table(name)} (tenant_id, session_id, period, ${columns})
        select tenant_id, session_id, ${moved.period}::integer, ${columns} from ${sql.table(name)}
        where tenant_id = ${ref.tenant} and session_id = ${ref.session} and period = ${period}::integer`.execute(
        tx,
      );
    }
    return true;
  });
}

/** True for a session with a turn that is not parked: a process writes, or will soon. */
const isRunning = sql`exists (select from running_turns r
  where r.tenant_id = sessions.tenant_id and r.session_id = sessions.id and r.parked_at is null)`;

async function dropPeriod(db: Db, period: number): Promise<boolean> {
  for (let isDropped = false; ; isDropped = true) {
    const { rows } = await sql<{ is_dropped: boolean }>`
      select drop_archive_period(${period}) as is_dropped`.execute(db);
    if (rows[0]?.is_dropped !== true) return isDropped;
  }
}
