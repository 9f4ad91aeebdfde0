/**
 * `frozenWorker` tests promise 9: a worker that is frozen past its lease and wakes up changes nothing. It is frozen
 * while a model streams, between a model step and its tools, and while tools run. Other workers take over, and it wakes
 * up right then or after its turns have ended.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { EventType } from "@turnstream/protocol";
import type { LogEntry } from "@turnstream/server/internal";
import { until } from "@turnstream/testkit/util/until.ts";
import { runSql } from "@turnstream/testkit/servers/run-sql.ts";
import { atMoment } from "./at-moment.ts";
import { checkPlan } from "./check-plan.ts";
import { type Figure, NEVER_MS, type RunOptions, type Scenario } from "./scenario.ts";
import type { TurnFollower } from "./turn-follower.ts";
import { type Plan, randomPlan } from "./turn-plan.ts";
import { TurnEnvironment } from "./turn-environment.ts";
import type { WorkerProcess } from "./worker-process.ts";

const WORKERS = 4;
const CONCURRENCY = 2;
const TURNS = 3;
/** Shorter than the default, so that a hundred rounds end in time. */
const TTL_MS = 1_000;
const SLOWNESS = 0.4;
const AIM_MS = 3_000;
/** How soon after waking up it must detect that its lease is lost. */
const LEARN_MS = 2_000;
/** How long it is observed after that. */
const AFTER_MS = 400;

const AIMS: readonly (readonly EventType[])[] = [
  ["thinking.delta", "text.delta", "tool_call.delta"],
  ["tool_call.end"],
  ["tool_result.start", "tool_result.delta"],
  ["thinking.end", "text.end", "tool_result.end"],
];

/** Records in the database which process wrote each journal row. */
const NOTES = [
  "create table journal_notes (session text not null, who text not null)",
  `create function note_journal() returns trigger language plpgsql as $$ begin
    insert into journal_notes values (new.session_id, current_setting('application_name')); return null; end $$`,
  "create trigger note_journal after insert on turn_journal for each row execute function note_journal()",
];

const COUNTS = {
  cut: 0,
  events: 0,
  journal: 0,
  journalBefore: 0,
  starts: 0,
  /** Tools that it had called before the freeze and that took effect after it woke up. */
  late: 0,
  unreported: 0,
  problems: 0,
  illegal: 0,
  early: 0,
  /** Journal rows in its turns that no worker had taken over yet when it woke up. */
  untaken: 0,
};

async function run({ times, random, progress }: RunOptions): Promise<Figure[]> {
  return TurnEnvironment.use(async (environment) => {
    await runSql(environment.backend.databaseUrl, ...NOTES);
    await environment.launchReadyWorkers(WORKERS, { ttlMs: TTL_MS, stays: true });
    const sum = { ...COUNTS };
    const aimed = AIMS.map(() => 0);
    let slowestMs = 0;
    let tries = 0;
    let wanted = 0;
    let done = 0;
    const frozen = new Set<string>();
    const work = async (): Promise<void> => {
      while (wanted < times) {
        const n = wanted++;
        const aim = n % AIMS.length;
        let round: Awaited<ReturnType<typeof freezeOnce>> = null;
        while (round === null) {
          if (tries > 3 * times) throw new Error("too few turns could be frozen");
          round = await freezeOnce(environment, {
            name: `f${tries++}`,
            aim: AIMS[aim] ?? [],
            early: n % 8 < 4,
            frozen,
            random,
            progress,
          });
        }
        done++;
        aimed[aim] = (aimed[aim] ?? 0) + 1;
        for (const key of Object.keys(sum) as (keyof typeof sum)[]) sum[key] += round[key];
        slowestMs = Math.max(slowestMs, round.learnMs);
        progress(`${done} of ${times}: ${JSON.stringify({ ...sum, slowestMs: Math.round(slowestMs) })}`);
      }
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, work));
    const { running, journal } = await environment.countLeftovers();
    const share = Math.floor(times / 5);
    return [
      { figure: "freezes past the lease, in mid-turn", value: times, exactly: times },
      ...[
        "while a model streamed",
        "between a step and its tools",
        "while a tool ran",
        "after a block's end",
      ].map((when, n) => ({ figure: `of those ${when}`, value: aimed[n] ?? 0, atLeast: share })),
      { figure: "of those woken while their turn ran elsewhere", value: sum.early, atLeast: share },
      { figure: "turns taken over", value: sum.cut, atLeast: times },
      {
        figure: "journal rows of the frozen worker before the freeze",
        value: sum.journalBefore,
        atLeast: times,
      },
      { figure: "events of the frozen worker after the takeover", value: sum.events, exactly: 0 },
      { figure: "journal rows of the frozen worker after it woke up", value: sum.journal, exactly: 0 },
      { figure: "journal rows of the frozen worker in turns not taken over yet", value: sum.untaken },
      { figure: "tools that the frozen worker started after it woke up", value: sum.starts, exactly: 0 },
      { figure: "effects of tools that the frozen worker had started before the freeze", value: sum.late },
      { figure: "workers that did not detect the lost lease", value: sum.unreported, exactly: 0 },
      {
        figure: "slowest detection of the lost lease",
        value: Math.round(slowestMs),
        atMost: LEARN_MS,
        unit: "ms",
      },
      { figure: "turns that did not end as planned", value: sum.problems, exactly: 0 },
      { figure: "events that broke a rule", value: sum.illegal, exactly: 0 },
      { figure: "turns left running", value: running, exactly: 0 },
      { figure: "journal rows left", value: journal, exactly: 0 },
    ];
  });
}

interface Round {
  readonly name: string;
  readonly aim: readonly EventType[];
  /** Wakes the worker as soon as its turns are taken over, not only after they have ended. */
  readonly early: boolean;
  /** The names of all workers that were ever frozen. */
  readonly frozen: Set<string>;
  readonly random: () => number;
  readonly progress: (text: string) => void;
}

async function freezeOnce(
  environment: TurnEnvironment,
  round: Round,
): Promise<(typeof COUNTS & { learnMs: number }) | null> {
  const { name, aim, early, frozen, random, progress } = round;
  // On a busy machine a worker can be too slow for its lease. It counts as lost too.
  const well = environment.workers.filter(
    (worker) => !worker.hasExited && !worker.hasLostLease && !frozen.has(worker.name),
  );
  for (let n = well.length; n < WORKERS; n++) environment.launchWorker({ ttlMs: TTL_MS, stays: true });
  const plays: { follower: TurnFollower; plan: Plan; message: string }[] = [];
  const entries = new Map<TurnFollower, LogEntry[]>();
  for (let n = 0; n < TURNS; n++) {
    const ref = await environment.createSession();
    const follower = environment.follow(ref);
    const seen: LogEntry[] = [];
    entries.set(follower, seen);
    follower.listeners.add((entry) => seen.push(entry));
    const plan = randomPlan(`${name}.${n}`, random, SLOWNESS);
    plays.push({ follower, plan, message: await environment.send(ref, plan) });
  }
  const own = new Set(plays.map(({ follower }) => follower));
  const victim = await frozenAt(environment, own, aim, frozen, Math.floor(random() * 12));
  const cut = plays.filter(
    ({ follower }) => follower.owner === victim?.name && follower.running !== undefined,
  );
  const counts = { ...COUNTS, cut: cut.length, learnMs: 0 };
  if (victim !== null) {
    // It may have frozen right after it committed the end of a turn. Then there is nothing to take over.
    const isTaken = ({ follower }: (typeof plays)[number]) =>
      follower.owner !== victim.name || follower.running === undefined;
    // A worker frozen inside a transaction locks its rows until the database ends the transaction.
    const since = performance.now();
    await until("the takeovers", () => cut.every(isTaken), { timeoutMs: 60_000 });
    // Wait until the lease has expired in any case.
    await sleep(Math.max(0, since + 2 * TTL_MS - performance.now()));
    if (!early) await Promise.all(cut.map(({ follower, message }) => follower.untilEnded(message)));
    if (cut.some(({ follower }) => follower.running !== undefined)) counts.early++;
    await wake(environment, victim, counts);
  }
  for (const { follower, message, plan } of plays) {
    await follower.untilEnded(message);
    await environment.untilIdle(follower.ref);
    await follower.stop();
    const { state, illegal } = await environment.checkSession(follower.ref);
    counts.illegal += illegal.length + follower.illegal.length;
    const turn = state.turns.toArray().find((each) => each.message?.id === message);
    const problems =
      turn === undefined ? ["the turn is missing"] : checkPlan(turn, plan, follower.takeovers > 0).problems;
    counts.problems += problems.length;
    for (const problem of [...problems, ...illegal]) progress(problem);
    for (const each of frozen) {
      const late = afterTakeover(entries.get(follower) ?? [], each);
      counts.events += late.length;
      if (late.length > 0)
        progress(`${each} in ${follower.ref.session}: ${toText(entries.get(follower) ?? [])}`);
    }
  }
  if (victim !== null) await victim.kill();
  return victim === null || cut.length === 0 ? null : counts;
}

/** Freezes the worker that writes such an event in one of these sessions. */
async function frozenAt(
  environment: TurnEnvironment,
  followers: ReadonlySet<TurnFollower>,
  aim: readonly EventType[],
  frozen: Set<string>,
  skip: number,
): Promise<WorkerProcess | null> {
  let seen = 0;
  let victim: WorkerProcess | null = null;
  await atMoment(followers, {
    timeoutMs: AIM_MS,
    act: ({ event }, { owner }) => {
      if (!aim.includes(event.type) || seen++ < skip) return false;
      const others = environment.workers.filter((worker) => worker.name !== owner && isWell(worker, frozen));
      victim = environment.workers.find((worker) => worker.name === owner && isWell(worker, frozen)) ?? null;
      if (victim === null || others.length === 0) return false;
      frozen.add(victim.name);
      victim.signal("SIGSTOP");
      return true;
    },
  });
  const stopped = victim as WorkerProcess | null;
  if (stopped === null || !frozen.has(stopped.name)) return null;
  await stopped.freeze();
  return stopped;
}

function isWell(worker: WorkerProcess, frozen: ReadonlySet<string>): boolean {
  return !worker.hasExited && worker.isReady && !worker.hasLostLease && !frozen.has(worker.name);
}

async function wake(
  environment: TurnEnvironment,
  victim: WorkerProcess,
  counts: typeof COUNTS & { learnMs: number },
): Promise<void> {
  // In turns that no worker has taken over yet, it still owns the epoch and its journal rows are valid.
  const untaken = new Set(
    [...environment.followers].flatMap(({ owner, ref }) => (owner === victim.name ? [ref.session] : [])),
  );
  const before = await journaledBy(environment, victim.name);
  const effects = new Set((await environment.readEffects()).map(({ n }) => n));
  const wokenAt = performance.now();
  const wokenClock = Date.now();
  victim.signal("SIGCONT");
  const isReported = () => victim.hasLostLease || victim.hasExited;
  while (!isReported() && performance.now() - wokenAt < NEVER_MS) await sleep(1);
  counts.learnMs = (victim.find("lost")?.at ?? performance.now()) - wokenAt;
  if (!isReported()) counts.unreported++;
  await sleep(AFTER_MS);
  for (const count of before.values()) counts.journalBefore += count;
  for (const [session, count] of await journaledBy(environment, victim.name)) {
    const more = count - (before.get(session) ?? 0);
    if (untaken.has(session)) counts.untaken += more;
    else counts.journal += more;
  }
  for (const { n, executor, calledAt } of await environment.readEffects()) {
    if (effects.has(n) || executor !== victim.name) continue;
    if (calledAt < wokenClock) counts.late++;
    else counts.starts++;
  }
}

/** Counts the journal rows of a worker by session. */
async function journaledBy({ backend }: TurnEnvironment, name: string): Promise<Map<string, number>> {
  const query = `select session, count(*) from journal_notes where who = '${name}' group by 1`;
  const rows = await runSql(backend.databaseUrl, query);
  return new Map(rows.map((row) => [String(row["session"]), Number(row["count"])]));
}

/** Entries of a worker after another worker has claimed. */
function afterTakeover(entries: readonly LogEntry[], name: string): LogEntry[] {
  let mine = 0;
  let others = 0;
  const late: LogEntry[] = [];
  for (const entry of entries) {
    const { epoch, writer } = entry;
    if (!writer.startsWith("worker-")) continue;
    if (!writer.startsWith(`${name}.`)) others = Math.max(others, epoch);
    // A late entry, or a turn that it got back.
    else if (mine > 0 && others > mine) late.push(entry);
    else mine = epoch;
  }
  return late;
}

/** Lists writers and event types for a message. */
function toText(entries: readonly LogEntry[]): string {
  return entries.map(({ writer, event }) => `${writer} ${event.type}`).join(", ");
}

export const frozenWorker: Scenario = {
  promise: 9,
  about: "freezes a worker in mid-turn past its lease, lets others take over, wakes it up",
  times: 100,
  short: 4,
  run,
};
