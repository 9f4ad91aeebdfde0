/** `readCounters` reads the servers' own counters. Read-only, and excludes its own queries where possible. */
import { setTimeout as sleep } from "node:timers/promises";
import { readdirSync, readFileSync } from "node:fs";
import { runSql } from "@turnstream/testkit/servers/run-sql.ts";
import { DATABASE, type TurnsEnvironment } from "./turns-environment.ts";

export interface Counters {
  /** Transactions that PostgreSQL committed, and how many of them wrote. */
  readonly commits: number;
  readonly writes: number;
  readonly redisCommands: number;
  readonly postgresMs: number;
  readonly redisMs: number;
  readonly at: number;
}

/** An idle connection reports its counters to the server after ten seconds. */
const REPORTED_MS = 11_500;
const TICKS_PER_SECOND = 100;

/** Waits until all connections have reported, so the counters are exact. `settled: false` skips the wait. */
export async function readCounters(
  environment: TurnsEnvironment,
  { settled = true } = {},
): Promise<Counters> {
  if (settled) await sleep(REPORTED_MS);
  // Uses the server's default database, so that this query isn't counted.
  const [row = {}] = await runSql(
    environment.backend.postgres.url,
    `select (select xact_commit from pg_stat_database where datname = '${DATABASE}') as commits,
       pg_snapshot_xmax(pg_current_snapshot())::text as xid`,
  );
  const info = String(await environment.backend.redis.command("INFO", "everything"));
  const read = (name: string) => Number(new RegExp(`^${name}:([\\d.]+)`, "m").exec(info)?.[1]);
  return {
    commits: Number(row["commits"]),
    writes: Number(row["xid"]),
    redisCommands: read("total_commands_processed"),
    postgresMs: processorTime(environment.backend.postgres.pid),
    redisMs: (read("used_cpu_user") + read("used_cpu_sys")) * 1000,
    at: performance.now(),
  };
}

/** CPU milliseconds of a process, its running children and its exited children. */
function processorTime(pid: number): number {
  let ticks = 0;
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const fields = statOf(name);
    const isIt = Number(name) === pid;
    if (!isIt && Number(fields[1]) !== pid) continue;
    const [user, system, endedUser, endedSystem] = fields.slice(11, 15).map(Number);
    ticks += (user ?? 0) + (system ?? 0) + (isIt ? (endedUser ?? 0) + (endedSystem ?? 0) : 0);
  }
  return (ticks * 1000) / TICKS_PER_SECOND;
}

/** Returns the fields after the process name, because the name can contain spaces and parentheses. */
function statOf(pid: string): string[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    return text.slice(text.lastIndexOf(")") + 2).split(" ");
  } catch {
    return [];
  }
}

export function subtractCounters(before: Counters, after: Counters): Counters & { readonly seconds: number } {
  return {
    commits: after.commits - before.commits,
    writes: after.writes - before.writes,
    redisCommands: after.redisCommands - before.redisCommands,
    postgresMs: after.postgresMs - before.postgresMs,
    redisMs: after.redisMs - before.redisMs,
    at: after.at,
    seconds: (after.at - before.at) / 1000,
  };
}
