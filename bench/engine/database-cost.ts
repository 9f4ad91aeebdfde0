/**
 * `readCost` reads what PostgreSQL has done since its start: writing transactions, statements of clients and WAL.
 * `COUNTING` are the settings of the server that this needs. Read-only, and excludes its own statements.
 */
import { runSql } from "@turnstream/testkit/servers/run-sql.ts";
import { DATABASE, type TurnsEnvironment } from "../turns-environment.ts";

export interface DatabaseCost {
  /** Transactions that got an id, because they wrote. */
  readonly writes: number;
  /** How often clients sent each statement, including `begin` and `commit`. */
  readonly statements: ReadonlyMap<string, number>;
  readonly walBytes: number;
  readonly seconds: number;
}

/** Without full-page images and autovacuum, WAL doesn't depend on when the server last made a checkpoint. */
export const COUNTING = {
  config: {
    shared_preload_libraries: "pg_stat_statements",
    "pg_stat_statements.max": "5000",
    full_page_writes: "off",
    autovacuum: "off",
    checkpoint_timeout: "1h",
    max_wal_size: "10GB",
    max_connections: "500",
  },
};

export async function startCounting({ backend }: TurnsEnvironment): Promise<void> {
  await runSql(backend.postgres.url, "create extension pg_stat_statements");
}

export async function readCost({ backend }: TurnsEnvironment): Promise<DatabaseCost> {
  // The server's default database, so that this statement isn't counted.
  const rows = await runSql(
    backend.postgres.url,
    `select regexp_replace(query, '\\s+', ' ', 'g') as query, sum(calls)::text as calls,
       pg_snapshot_xmax(pg_current_snapshot())::text as writes,
       pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::text as wal
     from pg_stat_statements s join pg_database d on d.oid = s.dbid where d.datname = '${DATABASE}' group by 1`,
  );
  return {
    writes: Number(rows[0]?.["writes"]),
    statements: new Map(rows.map(({ query, calls }) => [String(query), Number(calls)])),
    walBytes: Number(rows[0]?.["wal"]),
    seconds: performance.now() / 1_000,
  };
}

export function countStatements({ statements }: DatabaseCost): number {
  return [...statements.values()].reduce((sum, calls) => sum + calls, 0);
}

export function subtractCost(before: DatabaseCost, after: DatabaseCost): DatabaseCost {
  return combine(after, before, (later, earlier) => later - earlier);
}

/** Returns the cost per turn, without what the idle workers would have done in the same time. */
export function costPerTurn(spent: DatabaseCost, idle: DatabaseCost, turns: number): DatabaseCost {
  const scale = spent.seconds / idle.seconds;
  return combine(spent, idle, (of, ofIdle) => (of - ofIdle * scale) / turns);
}

function combine(a: DatabaseCost, b: DatabaseCost, value: (a: number, b: number) => number): DatabaseCost {
  return {
    writes: value(a.writes, b.writes),
    statements: new Map([...a.statements].map(([text, n]) => [text, value(n, b.statements.get(text) ?? 0)])),
    walBytes: value(a.walBytes, b.walBytes),
    seconds: value(a.seconds, b.seconds),
  };
}
