/**
 * What a step costs PostgreSQL. Turns with one call per step, with two, and with none but one step: from these follow the
 * shares of a turn, of a model step and of a call. The engine's own transactions are among them.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { figure, type Measurement } from "./measure.ts";
import { STEPS } from "./turns-agents.ts";
import { subtractCounters, readCounters } from "./turns-counters.ts";
import type { IdleCost } from "./turns-latency.ts";
import { openSessions, runTurns, type TurnsEnvironment } from "./turns-environment.ts";
import { WorkerProcess } from "./worker-process.ts";

const TURNS = 20;

interface Cost {
  readonly commits: number;
  readonly writes: number;
  readonly statements: number;
}

/** Per turn of this agent, without what a worker does anyway. */
async function costOf(environment: TurnsEnvironment, agent: string, idle: IdleCost): Promise<Cost> {
  const worker = await WorkerProcess.start(environment, { countsStatements: true });
  const refs = await openSessions(environment, TURNS);
  const before = await readCounters(environment);
  const { statements: sentBefore } = await worker.measure();
  for (const ref of refs) await runTurns(environment, [ref], agent);
  // Its end is told before its last commit.
  await sleep(500);
  const { statements: sent } = await worker.measure();
  const spent = subtractCounters(before, await readCounters(environment));
  await worker.shutdown();
  return {
    commits: (spent.commits - idle.commitsPerSecond * spent.seconds) / TURNS,
    writes: (spent.writes - idle.writesPerSecond * spent.seconds) / TURNS,
    statements: (sum(sent) - sum(sentBefore)) / TURNS,
  };
}

function sum(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((all, count) => all + count, 0);
}

export async function measureSteps(environment: TurnsEnvironment, idle: IdleCost): Promise<Measurement[]> {
  const costs: Record<string, Cost> = {};
  for (const agent of ["instant", "one_call", "two_calls", "careful_call"]) {
    costs[agent] = await costOf(environment, agent, idle);
  }
  const of = (agent: string, kind: keyof Cost) => costs[agent]?.[kind] ?? Number.NaN;
  const calls = STEPS - 1;
  const callOf = (kind: keyof Cost) => (of("two_calls", kind) - of("one_call", kind)) / calls;
  const stepOf = (kind: keyof Cost) => (of("one_call", kind) - of("instant", kind)) / calls - callOf(kind);
  const markOf = (kind: keyof Cost) => (of("careful_call", kind) - of("one_call", kind)) / calls;
  return [
    figure("a model step: transactions", stepOf("commits"), "committed", 3),
    figure("a model step: of these writing", stepOf("writes"), "transaction ids given out"),
    figure(
      "a model step: statements",
      stepOf("statements"),
      "rounds to PostgreSQL, begin and commit included",
    ),
    figure("a tool call: transactions", callOf("commits"), "committed", 3),
    figure("a tool call: of these writing", callOf("writes"), "transaction ids given out"),
    figure("a tool call: statements", callOf("statements"), "rounds to PostgreSQL"),
    figure("a model step with one call: transactions", stepOf("commits") + callOf("commits"), "committed", 3),
    figure("a tool that may not run twice: transactions more", markOf("commits"), "committed"),
    figure(
      "a turn with one step: transactions",
      of("instant", "commits"),
      "committed, send and engine included",
    ),
    figure("a turn with one step: of these writing", of("instant", "writes"), "transaction ids given out"),
  ];
}
