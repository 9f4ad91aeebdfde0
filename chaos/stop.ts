/**
 * `stop` tests promise 10 without sockets: a turn continues when its clients disconnect, and a stopped turn stops.
 * Turns have sub-agents two deep and three wide, and tools that ignore their abort signal. In half of the rounds every
 * reader disconnects and the turn must end by itself. In the other half two processes send a hundred stops at once,
 * sometimes after the worker was killed.
 */
import { listBlocks, type SessionEvent, type Turn } from "@turnstream/protocol";
import { until } from "@turnstream/testkit/util/until.ts";
import { checkPlan } from "./check-plan.ts";
import type { Figure, RunOptions, Scenario } from "./scenario.ts";
import { StopperProcess } from "./stopper-process.ts";
import type { TurnFollower } from "./turn-follower.ts";
import type { Plan, PlanCall } from "./turn-plan.ts";
import { TurnEnvironment, findTurn } from "./turn-environment.ts";

const WORKERS = 2;
const STOPPERS = 2;
const CONCURRENCY = 3;
export const CALLS = 100;
const WIDE = 3;
/** How long a stop may take. */
export const STOP_MS = 2_000;
/** Longer than any round: only a stop ends such a tool. */
export const FOREVER_MS = 120_000;

interface Found {
  left: number;
  stopped: number;
  afterKill: number;
  open: number;
  slowestMs: number;
  slowestAfterKillMs: number;
  notOnce: number;
  failures: number;
  problems: string[];
}

type Kind = "leave" | "stop" | "kill and stop";

async function run({ times, random, progress }: RunOptions): Promise<Figure[]> {
  return TurnEnvironment.use(async (environment) => {
    await environment.launchReadyWorkers(WORKERS);
    const { databaseUrl, redisUrl } = environment.backend;
    const stoppers = await Promise.all(
      Array.from({ length: STOPPERS }, (_, n) =>
        StopperProcess.launch({ name: `stopper-${n}`, databaseUrl, redisUrl }),
      ),
    );
    const found: Found = {
      left: 0,
      stopped: 0,
      afterKill: 0,
      open: 0,
      slowestMs: 0,
      slowestAfterKillMs: 0,
      notOnce: 0,
      failures: 0,
      problems: [],
    };
    try {
      // These rounds run alone, because a kill also hits the turns of other rounds.
      const kills = Math.max(1, Math.floor(times / 20));
      for (let n = 0; n < kills; n++)
        await playStop(environment, stoppers, `k${n}`, "kill and stop", random, found);
      let next = kills;
      const work = async (): Promise<void> => {
        while (next < times) {
          const n = next++;
          if (n % 2 === 0) await playLeave(environment, `l${n}`, found);
          else await playStop(environment, stoppers, `s${n}`, "stop", random, found);
          progress(`${n + 1} of ${times}: ${JSON.stringify(found)}`);
        }
      };
      await Promise.all(Array.from({ length: CONCURRENCY }, work));
    } finally {
      await Promise.all(stoppers.map((stopper) => stopper.kill()));
    }
    for (const problem of found.problems.slice(0, 20)) progress(problem);
    const { running, journal } = await environment.countLeftovers();
    return [
      { figure: "turns that all clients left", value: found.left, atLeast: Math.floor(times / 3) },
      { figure: "turns stopped", value: found.stopped, atLeast: Math.floor(times / 3) },
      { figure: "turns stopped while their worker was dead", value: found.afterKill, atLeast: 1 },
      { figure: "concurrent calls to stop one turn", value: CALLS, exactly: CALLS },
      { figure: "calls that failed", value: found.failures, exactly: 0 },
      { figure: "stops with more or fewer than one receipt", value: found.notOnce, exactly: 0 },
      { figure: "tools and sub-agents that ran when stopped", value: found.open, atLeast: found.stopped * 9 },
      { figure: "turns that did not end as required", value: found.problems.length, exactly: 0 },
      { figure: "slowest stop", value: found.slowestMs, atMost: STOP_MS, unit: "ms" },
      { figure: "slowest stop after a kill", value: found.slowestAfterKillMs, unit: "ms" },
      { figure: "turns left running", value: running, exactly: 0 },
      { figure: "journal rows left", value: journal, exactly: 0 },
    ];
  });
}

/** A plan with sub-agents in sub-agents, and tools at the innermost level. */
export function createNestedPlan(name: string, ms: number): Plan {
  const three = (make: (side: string) => PlanCall) =>
    Array.from({ length: WIDE }, (_, n) => make(`${name}.${n}`));
  const tool = (key: string, n: number): PlanCall => ({ tool: n % 2 === 0 ? "again" : "once", key, ms });
  const inner = (key: string, n: number): PlanCall => ({
    tool: "inner",
    plan: {
      name: key,
      steps: [{ think: "", text: "", calls: [tool(`${key}.t`, n)] }],
      final: `inner ${key}`,
      paceMs: 1,
    },
  });
  const helper = (side: string): PlanCall => ({
    tool: "helper",
    plan: {
      name: side,
      steps: [
        {
          think: `on ${side}`,
          text: "",
          calls: [inner(`${side}.a`, 0), inner(`${side}.b`, 1), inner(`${side}.c`, 2)],
        },
      ],
      final: `helper ${side}`,
      paceMs: 1,
    },
  });
  const beside = tool(`${name}.beside`, 0);
  return {
    name,
    steps: [{ think: `nested ${name}`, text: "", calls: [...three(helper), beside] }],
    final: `Done with ${name}`,
    paceMs: 2,
  };
}

/** Counts the running tools of a turn. */
export function countRunningTools({ running }: TurnFollower): number {
  if (running === undefined) return 0;
  const names = new Set(["again", "once"]);
  return listBlocks(running).filter(
    (block) => block.kind === "tool_result" && block.end === null && names.has(block.name),
  ).length;
}

export const TOOLS = WIDE * WIDE + 1;

async function playLeave(environment: TurnEnvironment, name: string, found: Found): Promise<void> {
  const plan = createNestedPlan(name, 400);
  const ref = await environment.createSession();
  const follower = environment.follow(ref);
  // At each event, because a process that stands still sees all tools end at once.
  let isRunning = false;
  follower.listeners.add(() => {
    isRunning ||= countRunningTools(follower) > 0;
  });
  const message = await environment.send(ref, plan);
  await until("the tools to run", () => isRunning);
  await follower.stop();
  found.left++;
  // No client is attached from here on.
  await environment.untilIdle(ref);
  const { state, events, illegal } = await environment.checkSession(ref);
  const turn = findTurn(state, message);
  found.problems.push(
    ...illegal,
    ...(turn === undefined
      ? [`${name}: the turn is missing`]
      : checkPlan(turn, plan, isTakenOver(events)).problems),
  );
}

/** On a busy machine a worker can be too slow for its lease, so a takeover can happen without a kill. */
export function isTakenOver(events: readonly SessionEvent[]): boolean {
  return events.some(({ type }) => type === "turn.takeover");
}

async function playStop(
  environment: TurnEnvironment,
  stoppers: readonly StopperProcess[],
  name: string,
  kind: Kind,
  random: () => number,
  found: Found,
): Promise<void> {
  const ref = await environment.createSession();
  const follower = environment.follow(ref);
  let endedAt = 0;
  follower.listeners.add(({ event }) => {
    if (event.type === "turn.end") endedAt = Date.now();
  });
  const message = await environment.send(ref, createNestedPlan(name, FOREVER_MS));
  // Some turns are stopped while they still start their tools, most after all tools run.
  const enough = random() < 0.2 ? 1 + Math.floor(random() * TOOLS) : TOOLS;
  await until("the tools to run", () => countRunningTools(follower) >= enough, { everyMs: 2 });
  if (kind === "kill and stop") await replaceOwner(environment, follower);
  const open = (follower.running?.open ?? 0) + (follower.running?.runs.length ?? 0);
  const receipts = await Promise.all(stoppers.map((stopper) => stopper.stop(ref, CALLS / stoppers.length)));
  await follower.untilEnded(message);
  await environment.untilIdle(ref);
  await follower.stop();
  const tookMs = endedAt - Math.min(...receipts.map(({ at }) => at));
  if (kind === "stop") found.slowestMs = Math.max(found.slowestMs, tookMs);
  else found.slowestAfterKillMs = Math.max(found.slowestAfterKillMs, tookMs);
  if (kind !== "stop") found.afterKill++;
  found.stopped++;
  found.open += open;
  found.failures += receipts.reduce((sum, { failures }) => sum + failures, 0);
  const first = receipts.flatMap((each) => each.receipts).filter((receipt) => receipt === "stopping").length;
  if (first !== 1) found.notOnce++;
  const { state, events, illegal } = await environment.checkSession(ref);
  const turn = findTurn(state, message);
  const problems = turn === undefined ? ["the turn is missing"] : checkStopped(turn, events, enough);
  found.problems.push(...illegal, ...follower.illegal, ...problems.map((problem) => `${name}: ${problem}`));
}

async function replaceOwner(environment: TurnEnvironment, { owner }: TurnFollower): Promise<void> {
  const worker = environment.workers.find(({ name }) => name === owner);
  await worker?.kill();
  environment.keepWorkers(WORKERS);
}

export function checkStopped(turn: Turn, events: readonly SessionEvent[], enough: number): string[] {
  const problems: string[] = [];
  if (turn.status !== "user_stopped")
    problems.push(`ended with status ${turn.status}, expected user_stopped`);
  const ends = events.filter((event) => event.type === "turn.end" && event.turn === turn.id);
  if (ends.length !== 1) problems.push(`${ends.length} ends`);
  const notices = listBlocks(turn).filter(({ kind }) => kind === "notice");
  if (notices.length !== 1) problems.push(`${notices.length} notices`);
  if (turn.open > 0) problems.push(`${turn.open} blocks left open`);
  for (const { id, status } of turn.runs) {
    if (status !== "cancelled" && status !== "superseded") problems.push(`run ${id} is ${status}`);
  }
  const calls = listBlocks(turn).filter((block) => block.kind === "tool_call");
  const results = listBlocks(turn).filter((block) => block.kind === "tool_result");
  for (const { call } of calls) {
    const own = results.filter((result) => result.call === call);
    if (own.length !== 1 || own[0]?.end === null) problems.push(`${own.length} results of ${call}`);
    // A non-idempotent tool that a dead worker had started is cancelled too, because the user stopped the turn.
    if (own[0]?.status !== "cancelled") problems.push(`the result of ${call} is ${own[0]?.status}`);
  }
  if (results.length < enough) problems.push(`only ${results.length} results`);
  const last = events.filter((event) => "turn" in event && event.turn === turn.id).slice(-3);
  const order = last.map(({ type }) => type).join();
  if (order !== "notice.stopped,run.end,turn.end") problems.push(`ended with ${order}`);
  return problems;
}

export const stop: Scenario = {
  promise: 10,
  about: "disconnects all clients from some turns, and stops others with a hundred calls at once",
  times: 100,
  short: 4,
  run,
};
