/**
 * `frozenWorker` tests promise 9: a worker that is frozen past its lease and wakes up changes nothing. It is frozen
 * while a model streams, between a model step and its tools, and while tools run. Other workers take over, and it wakes
 * up right then or after its turns have ended.
 */
import type { SessionEvent } from "@turnstream/protocol";
import { setTimeout as sleep } from "node:timers/promises";
import { until } from "@turnstream/testkit/util/until.ts";
import { runSql } from "@turnstream/testkit/servers/run-sql.ts";
import { signalAtMoment } from "./at-moment.ts";
import { NEVER_MS, type RunOptions, type Scenario } from "./scenario.ts";
import type { TurnEnvironment } from "./turn-environment.ts";
import type { TurnFollower } from "./turn-follower.ts";
import { type LoadedTurn, runTurns, type TurnRun } from "./turn-load.ts";
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
} satisfies Record<string, readonly SessionEvent["type"][]>;

type Moment = keyof typeof MOMENTS;

/** Records in the database which process wrote each journal row. */
const NOTES = [
  "create table journal_notes (session text not null, who text not null)",
  `create function note_journal() returns trigger language plpgsql as $$ begin
    insert into journal_notes values (new.session_id, current_setting('application_name')); return null; end $$`,
  "create trigger note_journal after insert on turn_journal for each row execute function note_journal()",
];

function createBounds(times: number) {
  const share = { atLeast: Math.floor(times / 5) };
  return {
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
  };
}

type Run = TurnRun<keyof ReturnType<typeof createBounds>>;

async function run(options: RunOptions) {
  const { times } = options;
  return runTurns(options, createBounds(times), async (turnRun) => {
    const { environment, figures } = turnRun;
    await runSql(environment.backend.databaseUrl, ...NOTES);
    await environment.launchReadyWorkers(WORKERS, SETTINGS);
    const moments = Object.keys(MOMENTS) as Moment[];
    let next = 0;
    let tries = 0;
    const work = async (): Promise<void> => {
      while (next < times) {
        const n = next++;
        const moment = moments[n % moments.length] as Moment;
        while (!(await freeze(turnRun, `f${tries++}`, moment, n % 8 < 4)))
          if (tries > 3 * times) throw new Error("too few turns could be frozen");
        figures.print(`${n + 1} of ${times}`);
      }
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, work));
  });
}

/**
 * @param isEarly wakes the worker as soon as its turns are taken over, not only after they have ended
 * @returns false if no turn was frozen
 */
async function freeze(turnRun: Run, name: string, moment: Moment, isEarly: boolean): Promise<boolean> {
  const { environment, load, figures, random } = turnRun;
  environment.keepWorkers(WORKERS, SETTINGS);
  const plans = Array.from({ length: TURNS }, (_, n) => randomPlan(`${name}.${n}`, random, SLOWNESS));
  const turns = await Promise.all(plans.map((plan) => load.send(plan)));
  const followers = turns.map(({ follower }) => follower);
  for (const follower of followers) countLate(turnRun, follower);
  const victim = await signalAtMoment(environment, followers, {
    signal: "SIGSTOP",
    events: MOMENTS[moment],
    skip: Math.floor(random() * 12),
    needsOther: true,
    timeoutMs: AIM_MS,
  });
  await victim?.freeze();
  const frozen = victim === null ? [] : environment.listTurns(victim);
  const cut = turns.filter(({ follower }) => frozen.includes(follower));
  if (victim !== null && cut.length > 0) {
    figures.add(moment);
    await observe(turnRun, victim, cut, isEarly);
  } else await victim?.kill();
  for (const turn of turns) await load.judge(turn);
  await victim?.kill();
  return cut.length > 0;
}

/** Lets other workers take over, and wakes the worker up. */
async function observe(
  turnRun: Run,
  victim: WorkerProcess,
  cut: readonly LoadedTurn[],
  isEarly: boolean,
): Promise<void> {
  const { environment, figures } = turnRun;
  const followers = cut.map(({ follower }) => follower);
  figures.add("freezes past the lease, in mid-turn");
  figures.add("turns taken over", cut.length);
  // It may have frozen right after it committed the end of a turn. Then there is nothing to take over.
  const isTaken = () => !environment.listTurns(victim).some((each) => followers.includes(each));
  const since = performance.now();
  // A worker frozen inside a transaction locks its rows until the database ends the transaction.
  await until("the takeovers", isTaken, { timeoutMs: 60_000 });
  // Wait until the lease has expired in any case.
  await sleep(Math.max(0, since + 2 * TTL_MS - performance.now()));
  if (!isEarly) await Promise.all(cut.map(({ follower, message }) => follower.untilEnded(message)));
  if (followers.some(({ running }) => running !== undefined))
    figures.add("of those woken while their turn ran elsewhere");
  await wake(turnRun, victim, followers);
}

/** Counts entries of frozen workers after another worker had the turn: late ones, and turns that they got back. */
function countLate({ environment, figures }: Run, follower: TurnFollower): void {
  const former = new Set<string>();
  let last = "";
  follower.listeners.add(({ writer, event }) => {
    const [, name] = /^(worker-\d+)\./.exec(writer) ?? [];
    if (name === undefined) return;
    if (last !== "" && name !== last) former.add(last);
    const isFrozen = environment.workers.some((each) => each.name === name && each.wasFrozen);
    if (former.has(name) && isFrozen)
      figures.report("events of the frozen worker after the takeover", [`${writer} ${event.type}`]);
    else last = name;
  });
}

async function wake(
  { environment, figures }: Run,
  victim: WorkerProcess,
  cut: readonly TurnFollower[],
): Promise<void> {
  const before = await countJournaled(environment, victim, cut);
  const wokenAt = performance.now();
  const wokenClock = Date.now();
  victim.signal("SIGCONT");
  const isReported = () => victim.hasLostLease || victim.hasExited;
  while (!isReported() && performance.now() - wokenAt < NEVER_MS) await sleep(1);
  const learnedAt = victim.find("lost")?.at ?? performance.now();
  figures.raise("slowest detection of the lost lease", learnedAt - wokenAt);
  if (!isReported()) figures.add("workers that did not detect the lost lease");
  await sleep(AFTER_MS);
  figures.add("journal rows of the frozen worker before the freeze", before);
  const after = await countJournaled(environment, victim, cut);
  figures.add("journal rows of the frozen worker after it woke up", after - before);
  const effects = await environment.readEffects();
  const started = effects.filter(
    ({ executor, calledAt }) => executor === victim.name && calledAt >= wokenClock,
  );
  figures.report(
    "tools that the frozen worker started after it woke up",
    started.map(({ key }) => key),
  );
}

/** Counts the journal rows that a worker wrote in turns which other workers have now. */
async function countJournaled(
  { backend }: TurnEnvironment,
  { name }: WorkerProcess,
  cut: readonly TurnFollower[],
): Promise<number> {
  const sessions = ["", ...cut.map(({ ref }) => ref.session)].map((session) => `'${session}'`).join();
  const query = `select count(*) from journal_notes where who = '${name}' and session in (${sessions})`;
  return Number((await runSql(backend.databaseUrl, query))[0]?.["count"]);
}

export const frozenWorker: Scenario = {
  promise: 9,
  about: "freezes a worker in mid-turn past its lease, lets others take over, wakes it up",
  times: 100,
  short: 4,
  run,
};
