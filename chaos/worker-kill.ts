/**
 * `workerKill` tests promise 8: a worker dies, and every turn that it had ends well. Worker processes are killed with
 * -9 at random moments and at chosen ones: while a model streams, right after a block has ended, while tools run, right
 * after a takeover, and late in a step of thousands of events. Other workers take over.
 *
 * Invariant: at least one worker is always alive.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { EventType } from "@turnstream/protocol";
import { until } from "@turnstream/testkit/util/until.ts";
import { atMoment } from "./at-moment.ts";
import { checkPlan } from "./check-plan.ts";
import type { Figure, RunOptions, Scenario } from "./scenario.ts";
import type { Listener, TurnFollower } from "./turn-follower.ts";
import { listOnceKeys, type Plan, randomPlan, randomText } from "./turn-plan.ts";
import { median } from "@turnstream/testkit/util/median.ts";
import { TurnEnvironment, findTurn } from "./turn-environment.ts";
import type { WorkerProcess } from "./worker-process.ts";

const ABOUT = "kills workers with -9 in mid-turn: every turn ends well in another worker";
const WORKERS = 3;
const CONCURRENCY = 12;
const TURNS_PER_SESSION = 3;
/** Short enough that most turns end between two kills. */
const SLOWNESS = 0.7;
const TAKEOVER_MS = 5_000;
/** At least this share of the turns of a full run must be cut off. */
const CUT_SHARE = 1 / 4;
/**
 * Turns are added up to this multiple until enough were cut off, because a fast machine ends turns between the kills.
 */
const MOST_WORK = 5;
/** How long to wait for a chosen moment. */
const AIM_MS = 6_000;
const LONGEST_PAUSE_MS = 4_000;

/** More than one page of the log, before the kill and after it. */
const LONG_EVENTS = 2_100;
const LONG_THOUGHTS = 1_000;
/** One such turn per this many others. */
const TURNS_PER_LONG = 100;

const TAKEOVER: readonly EventType[] = ["turn.takeover"];
const AIMS: readonly (readonly EventType[] | null)[] = [
  null,
  ["thinking.delta", "text.delta", "tool_call.delta"],
  ["thinking.end", "text.end", "tool_call.end"],
  ["tool_result.start", "tool_result.delta"],
  TAKEOVER,
];

interface Found {
  turns: number;
  kills: number;
  /** Turns cut off late in a step of thousands of events. */
  long: number;
  /** Kills that hit at least one turn in flight. */
  hits: number;
  aimed: number[];
  /** Kills that hit a turn with several running sub-agents. */
  beside: number;
  /** Turns in flight in the killed workers. */
  cut: number;
  takeovers: number[];
  problems: string[];
  illegal: string[];
  unknown: number;
  voided: number;
  failures: string[];
  readonly unknownKeys: Set<string>;
  readonly doneKeys: Set<string>;
  readonly onceKeys: Set<string>;
}

async function run({ times, random, progress }: RunOptions): Promise<Figure[]> {
  return TurnEnvironment.use(async (environment) => {
    const found: Found = {
      turns: 0,
      kills: 0,
      long: 0,
      hits: 0,
      aimed: AIMS.map(() => 0),
      beside: 0,
      cut: 0,
      takeovers: [],
      problems: [],
      illegal: [],
      unknown: 0,
      voided: 0,
      failures: [],
      unknownKeys: new Set(),
      doneKeys: new Set(),
      onceKeys: new Set(),
    };
    await environment.launchReadyWorkers(WORKERS);
    for (let n = 0; n < Math.ceil(times / TURNS_PER_LONG); n++)
      await cutLong(environment, longPlan(`long${n}`, random), found);
    let isOver = false;
    const killing = killOn(environment, found, random, () => isOver);
    // The failure is reported where `killing` is awaited.
    killing.catch(() => undefined);
    let next = 0;
    const leftToDo = (): number => {
      const isCutEnough = found.cut >= cutGoal(times) && found.takeovers.length >= takeoverGoal(times);
      const isEnough = isCutEnough && found.beside >= besideGoal(times);
      return (isEnough ? times : times * MOST_WORK) - next;
    };
    const work = async (): Promise<void> => {
      for (let left = leftToDo(); left > 0; left = leftToDo()) {
        const count = Math.min(TURNS_PER_SESSION, left, Math.ceil(times / CONCURRENCY));
        const plans = Array.from({ length: count }, () => randomPlan(`t${++next}`, random, SLOWNESS));
        await playSession(environment, plans, found);
        progress(`${found.turns} of ${times}: ${JSON.stringify(summary(found))}`);
      }
    };
    await Promise.all(Array.from({ length: Math.min(CONCURRENCY, times) }, work));
    isOver = true;
    await killing;
    for (const worker of environment.workers) found.failures.push(...worker.failures);
    return figures(environment, found, times, progress);
  });
}

function cutGoal(times: number): number {
  return Math.max(1, Math.floor(times * CUT_SHARE));
}

/** Fewer than the turns cut off: a turn whose last events were already in flight needs no takeover. */
function takeoverGoal(times: number): number {
  return Math.max(1, Math.floor(times / 5));
}

function besideGoal(times: number): number {
  return Math.max(1, Math.floor(times / 50));
}

function hasSubAgents({ running }: TurnFollower): boolean {
  const open = running?.runs.filter(({ parent, status }) => parent !== null && status === "running") ?? [];
  return open.length >= 2;
}

async function playSession(
  environment: TurnEnvironment,
  plans: readonly Plan[],
  found: Found,
): Promise<void> {
  const ref = await environment.createSession();
  const follower = environment.follow(ref);
  const messages = new Map<string, Plan>();
  for (const plan of plans) {
    const message = await environment.send(ref, plan);
    messages.set(message, plan);
    await follower.untilEnded(message);
  }
  await environment.untilIdle(ref);
  await follower.stop();
  const { state, events, illegal } = await environment.checkSession(ref);
  found.illegal.push(...illegal, ...follower.illegal);
  for (const event of events) if (event.type === "turn.takeover") found.voided += event.blocks.length;
  for (const [message, plan] of messages) {
    found.turns++;
    const turn = findTurn(state, message);
    const cuts = events.filter((event) => event.type === "turn.takeover" && event.turn === turn?.id).length;
    if (turn === undefined) {
      found.problems.push(`${plan.name}: the turn is missing`);
      continue;
    }
    const { problems, unknown, done } = checkPlan(turn, plan, cuts > 0);
    found.problems.push(...problems);
    found.unknown += unknown.length;
    for (const key of unknown) found.unknownKeys.add(key);
    for (const key of done) found.doneKeys.add(key);
    for (const key of listOnceKeys(plan)) found.onceKeys.add(key);
  }
}

/** A plan whose model streams for a long time before anything is journaled. Its worker dies late in that step. */
function longPlan(name: string, random: () => number): Plan {
  const step = {
    think: "hm",
    thoughts: LONG_THOUGHTS,
    text: `Then ${randomText(random, 8)}`,
    calls: [{ tool: "again", key: `${name}.a`, ms: 10 } as const],
  };
  return { name, steps: [step], final: `Done with ${name}`, paceMs: 40 };
}

async function cutLong(environment: TurnEnvironment, plan: Plan, found: Found): Promise<void> {
  const played = playSession(environment, [plan], found);
  // The failure is reported where `played` is awaited.
  played.catch(() => undefined);
  await until("a long step", () => [...environment.followers].some(({ state }) => state.seq > LONG_EVENTS), {
    everyMs: 5,
  });
  const [follower] = environment.followers;
  const victim = aliveOf(environment).find(({ name }) => name === follower?.owner);
  if (victim !== undefined && follower?.running !== undefined) {
    await victim.kill();
    found.long++;
    environment.keepWorkers(WORKERS);
  }
  await played;
}

/** Kills one worker after the other, and starts another for each. */
async function killOn(
  environment: TurnEnvironment,
  found: Found,
  random: () => number,
  isOver: () => boolean,
): Promise<void> {
  const waiting = new Map<TurnFollower, number>();
  const onEntry: Listener = ({ event }, follower) => {
    const killedAt = waiting.get(follower);
    if (killedAt === undefined) return;
    if (event.type === "turn.takeover") found.takeovers.push(performance.now() - killedAt);
    // Its last events may have arrived after the kill.
    if (event.type === "turn.takeover" || event.type === "turn.end") waiting.delete(follower);
  };
  for (let n = 0; ; n++) {
    const aim = n % AIMS.length;
    // A takeover follows soon after the previous kill.
    if (AIMS[aim] !== TAKEOVER) await sleep(random() * LONGEST_PAUSE_MS);
    if (isOver()) return;
    const victim = await chosen(environment, AIMS[aim] ?? null, random);
    if (victim === null) continue;
    const killedAt = performance.now();
    victim.signal("SIGKILL");
    const cut = [...environment.followers].filter(
      ({ owner, running }) => owner === victim.name && running !== undefined,
    );
    for (const follower of cut) {
      waiting.set(follower, killedAt);
      follower.listeners.add(onEntry);
    }
    found.kills++;
    found.cut += cut.length;
    if (cut.length > 0) {
      found.hits++;
      if (cut.some(hasSubAgents)) found.beside++;
      found.aimed[aim] = (found.aimed[aim] ?? 0) + 1;
    }
    await victim.exited;
    environment.keepWorkers(WORKERS);
    // Wait for all workers, so that turns make progress between two kills. Only a kill after a takeover comes sooner.
    if (AIMS[(n + 1) % AIMS.length] !== TAKEOVER)
      await until("all workers", () => {
        // Also for a worker that stood still until another one had its lease.
        environment.keepWorkers(WORKERS);
        return aliveOf(environment).length >= WORKERS;
      });
  }
}

function aliveOf({ workers }: TurnEnvironment): WorkerProcess[] {
  return workers.filter((worker) => !worker.hasExited && worker.isReady);
}

/** Picks any worker that has a turn or, with an aim, the one that writes such an event next. */
async function chosen(
  environment: TurnEnvironment,
  aim: readonly EventType[] | null,
  random: () => number,
): Promise<WorkerProcess | null> {
  const alive = () => aliveOf(environment);
  if (aim === null) {
    const owners = new Set(
      [...environment.followers].flatMap(({ owner, running }) => (running === undefined ? [] : [owner])),
    );
    const busy = alive().filter(({ name }) => owners.has(name));
    return busy[Math.floor(random() * busy.length)] ?? null;
  }
  const skip = aim === TAKEOVER ? 0 : Math.floor(random() * 20);
  let seen = 0;
  let victim: WorkerProcess | null = null;
  await atMoment(environment.followers, {
    timeoutMs: AIM_MS,
    act: ({ event }, { owner }) => {
      if (!aim.includes(event.type) || seen++ < skip) return false;
      victim = alive().find(({ name }) => name === owner) ?? null;
      // Kill immediately: the next event follows within a millisecond.
      victim?.signal("SIGKILL");
      return victim !== null;
    },
  });
  return victim;
}

function summary({
  kills,
  hits,
  beside,
  cut,
  takeovers,
  problems,
  illegal,
  unknown,
  voided,
  failures,
}: Found) {
  return {
    kills,
    hits,
    beside,
    cut,
    takeoverMs: Math.round(median(takeovers)),
    problems: problems.length,
    first: problems[0] ?? illegal[0],
    illegal: illegal.length,
    unknown,
    voided,
    failures: failures.length,
  };
}

async function figures(
  environment: TurnEnvironment,
  found: Found,
  times: number,
  progress: RunOptions["progress"],
): Promise<Figure[]> {
  const effects = new Map<string, number>();
  for (const { key } of await environment.readEffects()) effects.set(key, (effects.get(key) ?? 0) + 1);
  const twice = [...found.onceKeys].filter((key) => (effects.get(key) ?? 0) > 1);
  const without = [...found.doneKeys].filter((key) => !effects.has(key));
  const again = [...effects].filter(([key, count]) => count > 1 && !found.onceKeys.has(key)).length;
  const unknownDone = [...found.unknownKeys].filter((key) => effects.has(key)).length;
  const { running, journal } = await environment.countLeftovers();
  for (const problem of [...found.problems, ...found.illegal, ...new Set(found.failures)].slice(0, 40))
    progress(problem);
  return [
    { figure: "turns", value: found.turns, atLeast: times },
    { figure: "kills", value: found.kills, atLeast: Math.max(1, Math.floor(times / 20)) },
    {
      figure: "kills that hit turns in flight",
      value: found.hits,
      atLeast: Math.max(1, Math.floor(times / 20)),
    },
    ...(
      [
        "at random",
        "while a model streamed",
        "after a block's end",
        "while a tool ran",
        "after a takeover",
      ] as const
    ).map((when, n) => ({
      figure: `of those ${when}`,
      value: found.aimed[n] ?? 0,
      atLeast: times >= 100 ? Math.floor(times / 200) : 0,
    })),
    {
      figure: "of those while several sub-agents of a turn ran",
      value: found.beside,
      atLeast: besideGoal(times),
    },
    {
      figure: "turns cut off after thousands of events of one step",
      value: found.long,
      atLeast: Math.ceil(times / TURNS_PER_LONG),
    },
    { figure: "turns cut off by a kill", value: found.cut, atLeast: cutGoal(times) },
    { figure: "turns that did not end as planned", value: found.problems.length, exactly: 0 },
    { figure: "events that broke a rule", value: found.illegal.length, exactly: 0 },
    { figure: "duplicate effects of non-idempotent tools", value: twice.length, exactly: 0 },
    { figure: "results without an effect", value: without.length, exactly: 0 },
    { figure: "idempotent tools that ran again", value: again },
    { figure: "tools cut off, outcome unknown", value: found.unknown },
    { figure: "of those that took effect", value: unknownDone },
    { figure: "superseded blocks", value: found.voided, atLeast: 1 },
    { figure: "turns left running", value: running, exactly: 0 },
    { figure: "journal rows left", value: journal, exactly: 0 },
    { figure: "unexpected errors in workers", value: found.failures.length },
    {
      figure: "takeovers measured",
      value: found.takeovers.length,
      atLeast: takeoverGoal(times),
    },
    {
      figure: "takeover, median",
      value: Math.round(median(found.takeovers)),
      atMost: TAKEOVER_MS,
      unit: "ms",
    },
    { figure: "takeover, slowest", value: Math.round(Math.max(...found.takeovers)), unit: "ms" },
  ];
}

export const workerKill: Scenario = { promise: 8, about: ABOUT, times: 500, short: 12, run };
