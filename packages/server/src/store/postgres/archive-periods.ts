/**
 * `periodOf` returns the period of a session, and `maintainPeriods` creates and retires the periods of archived events.
 *
 * Invariant: a statement that reads archived events has the period as a parameter, so that the planner reads one
 * partition. A session that is used longer than its period is copied to the current one. Its rows in the old partition
 * stay until that is dropped, at least `MIN_AGE_MS` later, so a concurrent reader with the old period finds all of them.
 * No turn of it runs meanwhile, so nothing is added that this reader would miss.
 */
import { sql } from "kysely";
import type { ArchiveMaintenance } from "../ports/archive.ts";
import { MAX_BATCH } from "../ports/sessions.ts";
import { checkDuration, checkLimit } from "../rules/arguments.ts";
import type { SessionRef } from "../../util/refs.ts";
import type { Db } from "./database.ts";
import { ago } from "./session-row.ts";

/** Longer than any read that started before the last session was copied. */
const MIN_AGE_MS = 10 * 60 * 1_000;

const NO_PERIOD = -1;

export const currentPeriod = sql<number>`current_archive_period()`;

/** Returns a period that never exists if there is no such session. */
export async function periodOf(db: Db, { tenant, session }: SessionRef): Promise<number> {
  const row = await db
    .selectFrom("sessions")
    .select("period")
    .where("tenant_id", "=", tenant)
    .where("id", "=", session)
    .executeTakeFirst();
  return row?.period ?? NO_PERIOD;
}

export async function maintainPeriods(
  db: Db,
  query: { readonly retentionMs: number | null; readonly limit: number },
): Promise<ArchiveMaintenance> {
  await sql`select create_archive_periods()`.execute(db);
  const limit = checkLimit(query.limit, MAX_BATCH);
  if (query.retentionMs === null) return { moved: 0, dropped: 0 };
  const expired = ago(checkDuration(query.retentionMs, "retentionMs"));
  const { rows } = await sql<{ period: number; is_empty: boolean }>`
    select period, coalesce(emptied_at <= ${ago(MIN_AGE_MS)}, false) as is_empty from archive_periods
    where period < archive_period(${expired}) and period < current_archive_period()
    order by period limit 1`.execute(db);
  const [oldest] = rows;
  if (oldest === undefined) return { moved: 0, dropped: 0 };
  if (oldest.is_empty) return { moved: 0, dropped: (await dropPeriod(db, oldest.period)) ? 1 : 0 };
  let moved = 0;
  while (moved < limit && (await moveSession(db, oldest.period, query.retentionMs))) moved++;
  await sql`update archive_periods set emptied_at = clock_timestamp()
    where period = ${oldest.period} and emptied_at is null
      and not exists (select from sessions where period = ${oldest.period})`.execute(db);
  return { moved, dropped: 0 };
}

/** One statement copies the events of one session, under its lock. @returns false if none is left, but expired ones and those in use */
async function moveSession(db: Db, period: number, retentionMs: number): Promise<boolean> {
  const { rows } = await sql`
    with held as materialized (
      select tenant_id, id, current_archive_period() as new_period from sessions
      where period = ${period} and updated_at >= ${ago(retentionMs)} and not exists (select from running_turns r
        where r.tenant_id = sessions.tenant_id and r.session_id = sessions.id)
      limit 1 for no key update skip locked
    ), copied as (
      insert into archived_events (tenant_id, session_id, period, last_seq, events)
      select e.tenant_id, e.session_id, held.new_period, e.last_seq, e.events from held
      join archived_events e on e.tenant_id = held.tenant_id and e.session_id = held.id and e.period = ${period}
    ), moved as (
      update sessions set period = held.new_period from held
      where sessions.tenant_id = held.tenant_id and sessions.id = held.id
    )
    select from held`.execute(db);
  return rows.length > 0;
}

async function dropPeriod(db: Db, period: number): Promise<boolean> {
  const { rows } = await sql<{ is_dropped: boolean }>`
    select drop_archive_period(${period}) as is_dropped`.execute(db);
  return rows[0]?.is_dropped === true;
}
