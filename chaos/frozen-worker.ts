/**
 * `frozenWorker` tests promise 9: a worker that is frozen past its lease and wakes up changes nothing. It is frozen
 * while a model streams, between a model step and its tools, and while tools run. Other workers take over, and it wakes
 * up right then or after its turns have ended.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { EventType } from "@turnstream/protocol";
import { until } from "@turnstream/testkit/util/until.ts";
import { runSql } from "@turnstream/testkit/servers/run-sql.ts";
import { signalAtMoment } from "./at-moment.ts";
import { Figures } from "./figures.ts";
import { NEVER_MS, type RunOptions, type Scenario } from "./scenario.ts";
import { TurnEnvironment } from "./turn-environment.ts";
import type { TurnFollower } from "./turn-follower.ts";
import { type LoadedTurn, TurnLoad } from "./turn-load.ts";
import { randomPlan } from "./turn-plan.ts";
import type { WorkerProcess } from "./worker-process.ts";

const WORKERS = 4;
const CONCURRENCY = 2;
const TURNS = 3;
/** Shorter than the default, so that a hundred rounds end in time. */
const TTL_MS = 1_000;
const SETTINGS = { ttlMs: TTL_MS, stays: true };
const SLOWNESS = 0.4;
const AIM_MS = 3_000;
/** How soon after waking up it must detect that its lease is lost. */
const LEARN_MS = 2_000;
/** How long it is observed after that. */
const AFTER_MS = 400;

const MOMENTS = {
  "of those while a model streamed": ["thinking.delta", "text.delta", "tool_call.delta"],
  "of those between a step and its tools": ["tool_call.end"],
  "of those while a tool ran": ["tool_result.start", "tool_result.delta"],
  "of those after a block's end": ["thinking.end", "text.end", "tool_result.end"],
} satisfies Record<string, readonly EventType[]>;

type Moment = keyof typeof MOMENTS;

/** Records in the database which process wrote each journal row. */
const NOTES = [
  "create table journal_notes (session text not null, who text not null)",
  `create function note_journal() returns trigger language plpgsql as $$ begin
    insert into journal_notes values (new.session_id, current_setting('application_name')); return null; end $$`,
  "create trigger note_journal after insert on turn_journal for each row execute function note_journal()",
];

function createFigures(times: number, progress: RunOptions["progress"]) {
  const share = { atLeast: Math.floor(times / 5) };
  return new Figures(progress, {
    "freezes past the lease, in mid-turn": { exactly: times },
    "of those while a model streamed": share,
    "of those between a step and its tools": share,
    "of those while a tool ran": share,
    "of those after a block's end": share,
    "of those woken while their turn ran elsewhere": share,
    "turns taken over": { atLeast: times },
    "journal rows of the frozen worker before the freeze": { atLeast: times },
    "events of the frozen worker after the takeover": { exactly: 0 },
    "journal rows of the frozen worker after it woke up": { exactly: 0 },
    "tools that the frozen worker started after it woke up": { exactly: 0 },
    "workers that did not detect the lost lease": { exactly: 0 },
    "slowest detection of the lost lease": { atMost: LEARN_MS, unit: "ms" },
  });
}

async function run({ times, random, progress }: RunOptions) {
  return TurnEnvironment.use(async (environment) => {
    await runSql(environment.backend.databaseUrl, ...NOTES);
    await environment.launchReadyWorkers(WORKERS, SETTINGS);
    const figures = createFigures(times, progress);
    const load = new TurnLoad(environment, progress, times);
    const freezer = new Freezer(environment, load, figures, random);
    const moments = Object.keys(MOMENTS) as Moment[];
    let next = 0;
    let tries = 0;
    const work = async (): Promise<void> => {
      while (next < times) {
        const n = next++;
        while (!(await freezer.freeze(`f${tries++}`, moments[n % moments.length] as Moment, n % 8 < 4)))
          if (tries > 3 * times) throw new Error("too few turns could be frozen");
        figures.print(`${n + 1} of ${times}`);
      }
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, work));
    return [...figures.list(), ...(await load.figures())];
  });
}

class Freezer {
  readonly #environment: TurnEnvironment;
  readonly #load: TurnLoad;
  readonly #figures: ReturnType<typeof createFigures>;
  readonly #random: () => number;

  constructor(
    environment: TurnEnvironment,
    load: TurnLoad,
    figures: ReturnType<typeof createFigures>,
    random: () => number,
  ) {
    this.#environment = environment;
    this.#load = load;
    this.#figures = figures;
    this.#random = random;
  }

  /**
   * @param isEarly wakes the worker as soon as its turns are taken over, not only after they have ended
   * @returns false if no turn was frozen
   */
  async freeze(name: string, moment: Moment, isEarly: boolean): Promise<boolean> {
    this.#environment.keepWorkers(WORKERS, SETTINGS);
    const plans = Array.from({ length: TURNS }, (_, n) => randomPlan(`${name}.${n}`, this.#random, SLOWNESS));
    const turns = await Promise.all(plans.map((plan) => this.#load.send(plan)));
    const followers = turns.map(({ follower }) => follower);
    for (const follower of followers) this.#countLate(follower);
    const victim = await signalAtMoment(this.#environment, followers, {
      signal: "SIGSTOP",
      events: MOMENTS[moment],
      skip: Math.floor(this.#random() * 12),
      needsOther: true,
      timeoutMs: AIM_MS,
    });
    await victim?.freeze();
    const frozen = victim === null ? [] : this.#environment.listTurns(victim);
    const cut = turns.filter(({ follower }) => frozen.includes(follower));
    if (victim !== null && cut.length > 0) {
      this.#figures.add(moment);
      await this.#observe(victim, cut, isEarly);
    } else await victim?.kill();
    for (const turn of turns) await this.#load.judge(turn);
    await victim?.kill();
    return cut.length > 0;
  }

  /** Lets other workers take over, and wakes the worker up. */
  async #observe(victim: WorkerProcess, cut: readonly LoadedTurn[], isEarly: boolean): Promise<void> {
    const followers = cut.map(({ follower }) => follower);
    this.#figures.add("freezes past the lease, in mid-turn");
    this.#figures.add("turns taken over", cut.length);
    // It may have frozen right after it committed the end of a turn. Then there is nothing to take over.
    const isTaken = () => !this.#environment.listTurns(victim).some((each) => followers.includes(each));
    const since = performance.now();
    // A worker frozen inside a transaction locks its rows until the database ends the transaction.
    await until("the takeovers", isTaken, { timeoutMs: 60_000 });
    // Wait until the lease has expired in any case.
    await sleep(Math.max(0, since + 2 * TTL_MS - performance.now()));
    if (!isEarly) await Promise.all(cut.map(({ follower, message }) => follower.untilEnded(message)));
    if (followers.some(({ running }) => running !== undefined))
      this.#figures.add("of those woken while their turn ran elsewhere");
    await this.#wake(victim, followers);
  }

  /** Counts entries of frozen workers after another worker had the turn: late ones, and turns that they got back. */
  #countLate(follower: TurnFollower): void {
    const former = new Set<string>();
    let last = "";
    follower.listeners.add(({ writer, event }) => {
      const [, name] = /^(worker-\d+)\./.exec(writer) ?? [];
      if (name === undefined) return;
      if (last !== "" && name !== last) former.add(last);
      const isFrozen = this.#environment.workers.some((each) => each.name === name && each.wasFrozen);
      if (former.has(name) && isFrozen)
        this.#figures.report("events of the frozen worker after the takeover", [`${writer} ${event.type}`]);
      else last = name;
    });
  }

  async #wake(victim: WorkerProcess, cut: readonly TurnFollower[]): Promise<void> {
    const before = await this.#countJournaled(victim, cut);
    const wokenAt = performance.now();
    const wokenClock = Date.now();
    victim.signal("SIGCONT");
    const isReported = () => victim.hasLostLease || victim.hasExited;
    while (!isReported() && performance.now() - wokenAt < NEVER_MS) await sleep(1);
    const learnedAt = victim.find("lost")?.at ?? performance.now();
    this.#figures.raise("slowest detection of the lost lease", learnedAt - wokenAt);
    if (!isReported()) this.#figures.add("workers that did not detect the lost lease");
    await sleep(AFTER_MS);
    this.#figures.add("journal rows of the frozen worker before the freeze", before);
    const after = await this.#countJournaled(victim, cut);
    this.#figures.add("journal rows of the frozen worker after it woke up", after - before);
    const effects = await this.#environment.readEffects();
    const started = effects.filter(
      ({ executor, calledAt }) => executor === victim.name && calledAt >= wokenClock,
    );
    this.#figures.report(
      "tools that the frozen worker started after it woke up",
      started.map(({ key }) => key),
    );
  }

  /** Counts the journal rows that a worker wrote in turns which other workers have now. */
  async #countJournaled({ name }: WorkerProcess, cut: readonly TurnFollower[]): Promise<number> {
    const sessions = ["", ...cut.map(({ ref }) => ref.session)].map((session) => `'${session}'`).join();
    const query = `select count(*) from journal_notes where who = '${name}' and session in (${sessions})`;
    return Number((await runSql(this.#environment.backend.databaseUrl, query))[0]?.["count"]);
  }
}

export const frozenWorker: Scenario = {
  promise: 9,
  about: "freezes a worker in mid-turn past its lease, lets others take over, wakes it up",
  times: 100,
  short: 4,
  run,
};
