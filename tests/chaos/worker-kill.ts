/**
 * `workerKill` tests promise 8: a worker dies, and every turn that it had ends well. Worker processes are killed with
 * -9 at random moments and at chosen ones: while a model streams, right after a block has ended, while tools run, right
 * after a takeover, and late in a step of thousands of events. Other workers take over.
 *
 * Invariant: at least one worker is always alive.
 */
import type { SessionEvent } from "@turnstream/protocol";
import { setTimeout as sleep } from "node:timers/promises";
import { median } from "@turnstream/testkit/util/median.ts";
import { until } from "@turnstream/testkit/util/until.ts";
import { measureTakeovers, signalAtMoment } from "./at-moment.ts";
import { isMet, type RunOptions, type Scenario } from "./scenario.ts";
import type { TurnFollower } from "./turn-follower.ts";
import { type LoadedTurn, runTurns, type TurnRun } from "./turn-load.ts";
import { type Plan, randomPlan, randomText } from "./turn-plan.ts";
import type { WorkerProcess } from "./worker-process.ts";

const WORKERS = 3;
const CONCURRENCY = 12;
const TURNS_PER_SESSION = 3;
/** Short enough that most turns end between two kills. */
const SLOWNESS = 0.7;
const TAKEOVER_MS = 5_000;
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

const AFTER_TAKEOVER = "of those after a takeover";
const MOMENTS = {
  "of those at random": null,
  "of those while a model streamed": ["thinking.delta", "text.delta", "tool_call.delta"],
  "of those after a block's end": ["thinking.end", "text.end", "tool_call.end"],
  "of those while a tool ran": ["tool_result.start", "tool_result.delta"],
  [AFTER_TAKEOVER]: ["turn.takeover"],
} satisfies Record<string, readonly SessionEvent["type"][] | null>;

type Moment = keyof typeof MOMENTS;

function createBounds(times: number) {
  const share = (part: number) => Math.max(1, Math.floor(times * part));
  const perMoment = { atLeast: times >= 100 ? Math.floor(times / 200) : 0 };
  return {
    "kills that hit turns in flight": { atLeast: share(1 / 20) },
    ...(Object.fromEntries(Object.keys(MOMENTS).map((moment) => [moment, perMoment])) as Record<
      Moment,
      typeof perMoment
    >),
    "of those while several sub-agents of a turn ran": { atLeast: share(1 / 50) },
    "turns cut off after thousands of events of one step": { atLeast: Math.ceil(times / TURNS_PER_LONG) },
    "turns cut off by a kill": { atLeast: share(1 / 4) },
    // Fewer than the turns cut off: a turn whose last events were already on their way needs no takeover.
    "takeovers measured": { atLeast: share(1 / 5) },
    "takeover, median": { atMost: TAKEOVER_MS, unit: "ms" },
    "takeover, slowest": { unit: "ms" },
  };
}

type Run = TurnRun<keyof ReturnType<typeof createBounds>>;

class Killer {
  isOver = false;
  readonly #run: Run;
  readonly #takeovers: number[] = [];

  constructor(turnRun: Run) {
    this.#run = turnRun;
  }

  /** Kills one worker after the other, and starts another for each. */
  async killAll(): Promise<void> {
    const { environment, random } = this.#run;
    const moments = Object.keys(MOMENTS) as Moment[];
    for (let n = 0; ; n++) {
      const moment = moments[n % moments.length] as Moment;
      // A takeover follows soon after the previous kill. Before other kills, all workers make progress.
      if (moment !== AFTER_TAKEOVER) {
        await environment.keepReadyWorkers(WORKERS);
        await sleep(random() * LONGEST_PAUSE_MS);
      }
      if (this.isOver) return;
      const victim = await this.#kill(moment);
      if (victim === null) continue;
      await victim.exited;
      environment.keepWorkers(WORKERS);
    }
  }

  async #kill(moment: Moment): Promise<WorkerProcess | null> {
    const { environment, figures, random } = this.#run;
    const events = MOMENTS[moment];
    const skip = moment === AFTER_TAKEOVER ? 0 : Math.floor(random() * 20);
    const aim = { signal: "SIGKILL", events: events ?? [], skip, timeoutMs: AIM_MS } as const;
    const victim =
      events === null ? this.#killAny() : await signalAtMoment(environment, environment.followers, aim);
    if (victim === null) return null;
    const cut = this.#measure(victim);
    if (cut.length === 0) return victim;
    figures.add("kills that hit turns in flight");
    figures.add(moment);
    if (cut.some(hasSubAgents)) figures.add("of those while several sub-agents of a turn ran");
    return victim;
  }

  /** Counts the turns of a worker that was just killed, and measures their takeovers. */
  #measure(victim: WorkerProcess): TurnFollower[] {
    const { environment, figures } = this.#run;
    const cut = environment.listTurns(victim);
    figures.add("turns cut off by a kill", cut.length);
    measureTakeovers(cut, (tookMs) => {
      this.#takeovers.push(tookMs);
      figures.add("takeovers measured");
      figures.set("takeover, median", median(this.#takeovers));
      figures.raise("takeover, slowest", tookMs);
    });
    return cut;
  }

  /** Kills any worker that has a turn. */
  #killAny(): WorkerProcess | null {
    const { environment, random } = this.#run;
    const busy = environment.readyWorkers.filter((worker) => environment.listTurns(worker).length > 0);
    const victim = busy[Math.floor(random() * busy.length)] ?? null;
    victim?.signal("SIGKILL");
    return victim;
  }
}

async function run(options: RunOptions) {
  const { times } = options;
  return runTurns(options, createBounds(times), async (turnRun) => {
    const { environment, load, figures, random } = turnRun;
    await environment.launchReadyWorkers(WORKERS);
    for (let n = 0; n < Math.ceil(times / TURNS_PER_LONG); n++) await cutLong(turnRun, `long${n}`);
    const killer = new Killer(turnRun);
    const killing = killer.killAll();
    // The failure is reported where `killing` is awaited.
    killing.catch(() => undefined);
    let next = 0;
    const leftToDo = () => (figures.list().every(isMet) ? times : times * MOST_WORK) - next;
    const work = async (): Promise<void> => {
      for (let left = leftToDo(); left > 0; left = leftToDo()) {
        const count = Math.min(TURNS_PER_SESSION, left, Math.ceil(times / CONCURRENCY));
        const plans = Array.from({ length: count }, () => randomPlan(`t${++next}`, random, SLOWNESS));
        await playSession(turnRun, plans);
        figures.print(`${load.judged} of ${times}`);
      }
    };
    await Promise.all(Array.from({ length: Math.min(CONCURRENCY, times) }, work));
    killer.isOver = true;
    await killing;
  });
}

function hasSubAgents({ running }: TurnFollower): boolean {
  const open = running?.runs.filter(({ parent, status }) => parent !== null && status === "running") ?? [];
  return open.length >= 2;
}

async function playSession({ environment, load }: Run, plans: readonly Plan[]): Promise<void> {
  const follower = environment.follow(await environment.createSession());
  const turns: LoadedTurn[] = [];
  for (const plan of plans) {
    const turn = await load.send(plan, follower);
    await follower.untilEnded(turn.message);
    turns.push(turn);
  }
  for (const turn of turns) await load.judge(turn);
}

/** Kills the worker of a turn whose model streams for a long time before anything is journaled, late in that step. */
async function cutLong({ environment, load, figures, random }: Run, name: string): Promise<void> {
  const calls = [{ tool: "again", key: `${name}.a`, ms: 10 } as const];
  const step = { think: "hm", thoughts: LONG_THOUGHTS, text: `Then ${randomText(random, 8)}`, calls };
  const turn = await load.send({ name, steps: [step], final: `Done with ${name}`, paceMs: 40 });
  await until("a long step", () => turn.follower.state.seq > LONG_EVENTS, { everyMs: 5 });
  const victim = environment.findOwner(turn.follower);
  if (victim !== undefined) {
    await victim.kill();
    figures.add("turns cut off after thousands of events of one step");
    await environment.keepReadyWorkers(WORKERS);
  }
  await load.judge(turn);
}

export const workerKill: Scenario = {
  promise: 8,
  about: "kills workers with -9 in mid-turn: every turn ends well in another worker",
  times: 500,
  short: 12,
  run,
};
