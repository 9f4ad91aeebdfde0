/**
 * `measureSteps` measures what a step costs PostgreSQL. It runs turns with one call per step, turns with two, and turns
 * of one step without calls. From these it derives the cost of a turn, a model step and a call. The engine's own
 * transactions are included.
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

/** The cost per turn of this agent, without the load of an idle worker. */
async function costOf(environment: TurnsEnvironment, agent: string, idle: IdleCost): Promise<Cost> {
  const worker = await WorkerProcess.start(environment, { countsStatements: true });
  const refs = await openSessions(environment, TURNS);
  const before = await readCounters(environment);
  const { statements: sentBefore } = await worker.measure();
  for (const ref of refs) await runTurns(environment, [ref], agent);
  // The turn's end is in the log before its last commit.
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
    figure("a model step: of these writing", stepOf("writes"), "transaction ids assigned"),
    figure(
      "a model step: statements",
      stepOf("statements"),
      "round trips to PostgreSQL, including begin and commit",
    ),
    figure("a tool call: transactions", callOf("commits"), "committed", 3),
    figure("a tool call: of these writing", callOf("writes"), "transaction ids assigned"),
    figure("a tool call: statements", callOf("statements"), "round trips to PostgreSQL"),
    figure("a model step with one call: transactions", stepOf("commits") + callOf("commits"), "committed", 3),
    figure("a non-idempotent tool: additional transactions", markOf("commits"), "committed"),
    figure(
      "a turn with one step: transactions",
      of("instant", "commits"),
      "committed, including send and the engine",
    ),
    figure("a turn with one step: of these writing", of("instant", "writes"), "transaction ids assigned"),
  ];
}
