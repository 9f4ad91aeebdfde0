/**
 * `benchTurnCost` counts what a typical turn costs PostgreSQL: transactions that write, top-level statements by
 * `pg_stat_statements`, and WAL. It also counts the connections of a busy worker. It takes half a minute.
 *
 * Invariant: the load of the idle worker over the same time is subtracted. Foreign-key checks are no top-level
 * statements; `begin` and `commit` are.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { runSql } from "@turnstream/testkit/servers/run-sql.ts";
import { figure, type Measurement } from "./measure.ts";
import {
  DATABASE,
  openSessions,
  openTurnsEnvironment,
  runTurns,
  type TurnsEnvironment,
} from "./turns-environment.ts";
import { WorkerProcess } from "./worker-process.ts";

const TURNS = 30;
const PARALLEL_TURNS = 60;
const IDLE_MS = 15_000;
/** The turn's end is in the log before its last commit. */
const SETTLE_MS = 1_000;
const SHOWN_CHARS = 110;
/** Rarer statements are polls whose rate varies. */
const SHOWN_CALLS = 0.05;

const SERVER = {
  config: {
    shared_preload_libraries: "pg_stat_statements",
    "pg_stat_statements.track": "top",
    autovacuum: "off",
    checkpoint_timeout: "1h",
    max_wal_size: "10GB",
    full_page_writes: "off",
  },
};

interface Cost {
  readonly writes: number;
  readonly wal: number;
  readonly statements: ReadonlyMap<string, number>;
  readonly at: number;
}

async function readCost({ backend }: TurnsEnvironment): Promise<Cost> {
  // Uses the server's default database, so that these queries aren't counted.
  const rows = await runSql(
    backend.postgres.url,
    `select regexp_replace(query, '\\s+', ' ', 'g') as query, sum(calls)::float as calls,
       pg_snapshot_xmax(pg_current_snapshot())::text::float as xid,
       pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float as wal
     from pg_stat_statements join pg_database on pg_database.oid = dbid where datname = '${DATABASE}' group by 1`,
  );
  return {
    writes: Number(rows[0]?.["xid"]),
    wal: Number(rows[0]?.["wal"]),
    statements: new Map(rows.map(({ query, calls }) => [String(query), Number(calls)])),
    at: performance.now(),
  };
}

function subtract(before: Cost, after: Cost): Cost {
  const statements = [...after.statements].map(([query, calls]): [string, number] => [
    query,
    calls - (before.statements.get(query) ?? 0),
  ]);
  return {
    writes: after.writes - before.writes,
    wal: after.wal - before.wal,
    statements: new Map(statements),
    at: after.at - before.at,
  };
}

/** The cost of one turn, without the load of the idle worker. */
function perTurn(spent: Cost, idle: Cost): Cost {
  const share = (of: number, ofIdle: number): number => (of - (ofIdle * spent.at) / idle.at) / TURNS;
  const statements = [...spent.statements].map(([query, calls]): [string, number] => [
    query,
    share(calls, idle.statements.get(query) ?? 0),
  ]);
  return {
    writes: share(spent.writes, idle.writes),
    wal: share(spent.wal, idle.wal),
    statements: new Map(statements),
    at: spent.at,
  };
}

/** The most connections that the worker has while many turns run. */
async function countConnections(environment: TurnsEnvironment): Promise<number> {
  const { postgres } = environment.backend;
  const others = `datname = '${DATABASE}' and application_name <> 'bench-gateway'`;
  let most = 0;
  const over = new AbortController();
  const refs = await openSessions(environment, PARALLEL_TURNS);
  const running = runTurns(environment, refs, "typical").finally(() => over.abort());
  while (!over.signal.aborted) {
    const [row] = await runSql(
      postgres.url,
      `select count(*)::int as n from pg_stat_activity where ${others}`,
    );
    most = Math.max(most, Number(row?.["n"]));
    await sleep(100);
  }
  await running;
  return most;
}

export async function benchTurnCost(): Promise<Measurement[]> {
  const environment = await openTurnsEnvironment(SERVER);
  try {
    await runSql(environment.backend.postgres.url, "create extension pg_stat_statements");
    const worker = await WorkerProcess.start(environment);
    const refs = await openSessions(environment, TURNS);
    await runTurns(environment, await openSessions(environment, 4), "typical");
    await sleep(SETTLE_MS);
    const idleFrom = await readCost(environment);
    await sleep(IDLE_MS);
    const before = await readCost(environment);
    await runTurns(environment, refs, "typical", TURNS * 30);
    await sleep(SETTLE_MS);
    const after = await readCost(environment);
    const connections = await countConnections(environment);
    await worker.shutdown();
    const turn = perTurn(subtract(before, after), subtract(idleFrom, before));
    return [...figuresOf(turn), figure("a worker: connections", connections, "at most at a time", 8)];
  } finally {
    await environment.backend.close();
  }
}

function figuresOf({ writes, statements, wal }: Cost): Measurement[] {
  const counted = [...statements].toSorted(([, a], [, b]) => b - a);
  const sum = counted.reduce((all, [, calls]) => all + calls, 0);
  return [
    ...counted
      .filter(([, calls]) => calls >= SHOWN_CALLS)
      .map(([query, calls]) => figure(`statement: ${query.slice(0, SHOWN_CHARS)}`, calls, "per turn")),
    figure("a typical turn: write transactions", writes, "transaction ids assigned", 10),
    figure("a typical turn: statements", sum, "top-level, including begin and commit", 45),
    figure("a typical turn: WAL", wal / 1024, "KB, without full-page images"),
  ];
}
