/**
 * `benchApprovals` measures three thousand calls that wait for approval in one worker: the memory of each, the load on
 * PostgreSQL without decisions, and the time from a decision to the start of its tool. It uses private servers and
 * takes several minutes.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { decideApproval, type SessionRef } from "@turnstream/server";
import { runSql } from "@turnstream/testkit/servers/run-sql.ts";
import { median } from "@turnstream/testkit/util/median.ts";
import { figure, type Measurement, percentile } from "./measure.ts";
import { subtractCounters, readCounters } from "./turns-counters.ts";
import {
  createGate,
  openSessions,
  openTurnsEnvironment,
  send,
  type TurnsEnvironment,
  watchSessions,
} from "./turns-environment.ts";
import { WorkerProcess } from "./worker-process.ts";

const WAITING = 3_000;
/** In this time a worker polls each waiting call once. */
const IDLE_MS = 60_000;
const DECIDED = 200;
const AT_ONCE = 50;
/**
 * Longer than the default: the garbage collection of thousands of turns could delay a renewal, and this bench doesn't
 * measure leases.
 */
const TTL_MS = 30_000;
const NAME = `${WAITING} waiting approvals`;

export async function benchApprovals(): Promise<Measurement[]> {
  const environment = await openTurnsEnvironment();
  try {
    const worker = await WorkerProcess.start(environment, { countsStatements: true, ttlMs: TTL_MS });
    const refs = await openSessions(environment, WAITING);
    const empty = await worker.measure("clean");
    await askAll(environment, refs);
    const counters = await readCounters(environment);
    const before = await worker.measure("clean");
    await sleep(IDLE_MS);
    const after = await worker.measure();
    const spent = subtractCounters(counters, await readCounters(environment));
    const queries = sum(after.statements) - sum(before.statements);
    const times = await decideSome(environment, refs.slice(0, DECIDED));
    const { failures } = await worker.measure();
    const kilobytes = (bytes: number) => bytes / 1024 / WAITING;
    return [
      figure(`${NAME}: resident memory`, kilobytes(before.rss - empty.rss), "KB each"),
      figure(`${NAME}: heap in use`, kilobytes(before.heap - empty.heap), "KB each"),
      figure(`${NAME}: worker CPU`, (after.cpuMs - before.cpuMs) / IDLE_MS, "cores"),
      figure(`${NAME}: queries of the worker`, (queries * 1000) / IDLE_MS, "per second"),
      figure(`${NAME}: PostgreSQL transactions`, spent.commits / spent.seconds, "per second"),
      figure(`${NAME}: PostgreSQL CPU`, spent.postgresMs / 1000 / spent.seconds, "cores"),
      figure(`${NAME}: Redis commands`, spent.redisCommands / spent.seconds, "per second"),
      figure(`${NAME}: decision to tool start, median`, median(times), "ms"),
      figure(`${NAME}: decision to tool start, 99th`, percentile(times, 0.99), "ms"),
      { measure: `${NAME}: failures in the worker`, value: failures.length, atMost: 0 },
    ];
  } finally {
    await environment.backend.close();
  }
}

/** Starts the turns in small batches. Another bench measures how many turns a worker can start at once. */
export async function askAll(environment: TurnsEnvironment, refs: readonly SessionRef[]): Promise<void> {
  for (let n = 0; n < refs.length; n += AT_ONCE) {
    await Promise.all(refs.slice(n, n + AT_ONCE).map((ref) => send(environment, ref, "asking")));
    // Don't wait for the last calls of this batch: the next batch may start meanwhile.
    await waitFor(environment, n);
  }
  await waitFor(environment, refs.length);
}

async function waitFor({ backend }: TurnsEnvironment, count: number): Promise<void> {
  while (true) {
    const [row] = await runSql(
      backend.databaseUrl,
      "select count(*) from interactions where status = 'pending'",
    );
    if (Number(row?.["count"]) >= count) return;
    await sleep(100);
  }
}

/**
 * Decides one call after the other while all others wait. @returns milliseconds from each command to the tool's start
 */
export async function decideSome(
  environment: TurnsEnvironment,
  refs: readonly SessionRef[],
): Promise<number[]> {
  const times: number[] = [];
  for (const ref of refs) {
    const started = createGate();
    const stop = await watchSessions(environment, [ref], ({ type }) => {
      if (type === "tool_result.start") started.open();
    });
    const [asked] = await environment.backend.store.interactions.list(ref, { pending: true });
    if (asked === undefined) throw new Error(`no approval is pending in ${ref.session}`);
    const startedAt = performance.now();
    await Promise.all([
      decideApproval(environment.backend, ref, {
        key: asked.key,
        decision: "approve",
        userId: environment.actor.user,
      }),
      started.opened,
    ]);
    times.push(performance.now() - startedAt);
    await stop();
  }
  return times;
}

function sum(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((total, count) => total + count, 0);
}
