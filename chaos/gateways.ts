/**
 * `gateways` runs two gateways and two workers as processes on one Redis and one PostgreSQL. Clients follow turns
 * through both gateways in every dialect, over sockets and event streams. Meanwhile a gateway is killed, Redis is
 * restarted or wiped, all clients disconnect, or a hundred calls stop the turn.
 */
import { FAULTS, type Found, GatewayRound } from "./gateway-round.ts";
import { GatewayEnvironment } from "./gateway-environment.ts";
import { CLIENT_KINDS } from "./client-kinds.ts";
import type { Figure, RunOptions, Scenario } from "./scenario.ts";
import { STOP_MS } from "./stop.ts";

const WORKERS = 2;
const GATEWAYS = 2;
/** How soon clients must resync after Redis has lost events that they saw. */
const REPORT_MS = 1_000;

async function run({ times, random, progress }: RunOptions): Promise<Figure[]> {
  const found: Found = {
    rounds: { none: 0, gateway: 0, redis: 0, leave: 0, stop: 0, wipe: 0 },
    viewers: 0,
    returns: 0,
    resyncs: 0,
    resyncsWithoutWipe: 0,
    slowestReportMs: 0,
    slowestStopMs: 0,
    firstStops: 0,
    problems: [],
  };
  const leftovers = await GatewayEnvironment.use(async (environment) => {
    const gateways = await Promise.all(Array.from({ length: GATEWAYS }, () => environment.launchGateway()));
    await environment.turns.launchReadyWorkers(WORKERS);
    const round = new GatewayRound(environment, gateways, random, found);
    for (let n = 0; n < times; n++) {
      environment.turns.keepWorkers(WORKERS);
      await round.run(`g${n}`, FAULTS[n % FAULTS.length] ?? "none");
      progress(`${n + 1} of ${times}: ${JSON.stringify({ ...found, problems: found.problems.length })}`);
    }
    for (const failure of environment.failures.slice(0, 10)) progress(failure);
    return environment.turns.countLeftovers();
  });
  for (const problem of found.problems.slice(0, 20)) progress(problem);
  const each = Math.floor(times / FAULTS.length);
  return [
    ...FAULTS.map((fault) => ({ figure: `turns: ${fault}`, value: found.rounds[fault], atLeast: each })),
    { figure: "clients", value: found.viewers, exactly: times * GATEWAYS * CLIENT_KINDS.length },
    { figure: "connections lost and reopened", value: found.returns, atLeast: each * CLIENT_KINDS.length },
    {
      figure: "clients that differ from the log, and turns that did not end as planned",
      value: found.problems.length,
      exactly: 0,
    },
    { figure: "resyncs after a wipe", value: found.resyncs, atLeast: found.rounds.wipe },
    {
      figure: "slowest resync after a wipe",
      value: Math.round(found.slowestReportMs),
      atMost: REPORT_MS,
      unit: "ms",
    },
    { figure: "resyncs without a wipe", value: found.resyncsWithoutWipe, exactly: 0 },
    {
      figure: "requests to stop that were the first of their turn (the others came over sockets)",
      value: found.firstStops,
      atMost: found.rounds.stop,
    },
    {
      figure: "slowest stop until all clients had received it",
      value: Math.round(found.slowestStopMs),
      atMost: STOP_MS,
      unit: "ms",
    },
    { figure: "turns left running", value: leftovers.running, exactly: 0 },
  ];
}

export const gateways: Scenario = {
  promise: 10,
  about: "kills gateways, restarts and wipes Redis, disconnects all clients and stops turns",
  times: 60,
  short: 6,
  run,
};
