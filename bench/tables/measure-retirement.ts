/**
 * `measureRetirement` compares dropping the partition of an expired week with deleting the same rows, as retention would
 * do without partitions. Deleted rows also have to be vacuumed, which is not measured. PostgreSQL removes the files of a
 * dropped table after it has released its locks, so the bound is on the statements of others during the drop.
 */
import { runSql } from "@turnstream/testkit/servers/run-sql.ts";
import { figure, type Measurement } from "../measure.ts";
import type { TablesSize } from "./tables.ts";
import type { TablesEnvironment } from "./turn-ends.ts";

const ROW_BYTES = 4_000;
const ROWS_PER_SESSION = 100;
const MAX_WAIT_MS = 1_000;
/** Weeks long before the first one that a worker has created. */
const DROPPED = 100;
const DELETED = 101;

export async function measureRetirement(
  { url }: TablesEnvironment,
  { retiredBytes }: TablesSize,
): Promise<Measurement[]> {
  for (const period of [DROPPED, DELETED]) await runSql(url, ...fill(period, retiredBytes));
  const [size] = await runSql(
    url,
    `select pg_total_relation_size('turnstream.archived_events_${DROPPED}')::text as bytes`,
  );
  const timed = async (statement: string): Promise<number> => {
    const since = performance.now();
    await runSql(url, "set search_path = turnstream", statement);
    return performance.now() - since;
  };
  const deleting = await timed(`delete from archived_events where period = ${DELETED}`);
  const drop = timed(`select drop_archive_period(${DROPPED})`);
  const waited = await slowestUntil(drop, () =>
    timed(`select count(*) from archived_events where tenant_id = 'other' and period = ${DELETED}`),
  );
  const dropping = await drop;
  const [left] = await runSql(
    url,
    `select count(*)::text as count from turnstream.archive_periods where period = ${DROPPED}`,
  );
  return [
    figure("retired period", Number(size?.["bytes"]) / 1024 ** 2, "MB"),
    figure("drop the period", dropping, "ms"),
    figure("longest statement of others during the drop", waited, "ms", MAX_WAIT_MS),
    figure("delete the same rows", deleting, "ms"),
    figure("periods that were not dropped", Number(left?.["count"]), "", 0),
  ];
}

/** Measures again and again until `end` resolves. @returns the longest time */
async function slowestUntil(end: Promise<unknown>, measure: () => Promise<number>): Promise<number> {
  const over = new AbortController();
  void end.finally(() => over.abort()).catch(() => {});
  let slowest = 0;
  while (!over.signal.aborted) slowest = Math.max(slowest, await measure());
  return slowest;
}

/** Not compressed, so that the size is as large as the content. */
function fill(period: number, bytes: number): string[] {
  const name = `archived_events_${period}`;
  return [
    "set search_path = turnstream",
    `create table ${name} (like archived_events including all)`,
    `alter table ${name} alter column events set storage external`,
    `alter table archived_events attach partition ${name} for values in (${period})`,
    `insert into archive_periods values (${period}, clock_timestamp() - interval '1 hour')`,
    `insert into archived_events (tenant_id, session_id, period, last_seq, events)
      select 'retired', 's-' || n / ${ROWS_PER_SESSION}, ${period}, n, json_build_array(repeat('x', ${ROW_BYTES}))
      from generate_series(1, ${Math.ceil(bytes / ROW_BYTES)}) n`,
    "checkpoint",
  ];
}
