/**
 * `decisions` tests promise 14: exactly one decision per approval. Two processes approve, edit and reject the same
 * calls at once: without further events, around the deadline, and while the turn is stopped. A worker process runs the
 * approved calls.
 */
import type { Turn } from "@turnstream/protocol";
import type { ApprovalDecision, SessionRef } from "@turnstream/server";
import {
  waitForApprovals,
  approvalPlan,
  createDecision,
  type Outcome,
  readOutcomes,
} from "./approval-turn.ts";
import { DeciderProcess } from "./decider-process.ts";
import { Figures } from "./figures.ts";
import type { Figure, RunOptions, Scenario } from "./scenario.ts";
import { TurnEnvironment } from "./turn-environment.ts";

const CALLS = 10;
const CONCURRENCY = 3;
const WAIT_SECONDS = 3;
/** Decisions on a call are aimed at random moments in this window around the deadline, or after a stop. */
const AIM_MS = 200;
/** Decisions on the same call differ from that moment by at most this time. */
const TOGETHER_MS = 20;
const KINDS = ["users", "deadline", "stop"] as const;
type Kind = (typeof KINDS)[number];
const DECISIONS = ["approve", "edit", "reject"] as const;

interface Played {
  readonly kind: Kind;
  readonly ref: SessionRef;
  readonly turn: Turn;
  readonly won: readonly ApprovalDecision[];
}

function createFigures(times: number, progress: RunOptions["progress"]) {
  const few = { atLeast: Math.floor(times / 100) };
  return new Figures(progress, {
    approvals: { atLeast: times },
    "won: approved": few,
    "won: edited": few,
    "won: rejected": few,
    "won: timed_out": few,
    "won: cancelled": few,
    "executions after a rejection, time-out or stop": { exactly: 0 },
    "calls not decided, logged and executed once": { exactly: 0 },
    "decisions that failed": { exactly: 0 },
    "events that broke a rule": { exactly: 0 },
    "findings of the history check": { exactly: 0 },
  });
}

async function run({ times, random, progress }: RunOptions): Promise<Figure[]> {
  const figures = createFigures(times, progress);
  return TurnEnvironment.use(async (environment) => {
    await environment.launchReadyWorkers(1, { asks: true });
    const deciders = await Promise.all(
      ["left", "right"].map((name) => DeciderProcess.launch(environment.settings(name))),
    );
    for (const decider of deciders) environment.own(decider);
    const played: Played[] = [];
    const turns = Math.ceil(times / CALLS);
    let next = 0;
    const work = async (): Promise<void> => {
      while (next < turns) {
        const n = next++;
        const kind = KINDS[n % KINDS.length] ?? "users";
        played.push(await playOne(environment, deciders, { name: `d${n}`, kind, random, figures }));
        progress(`${played.length} of ${turns} turns`);
      }
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, work));
    const effects = await environment.countEffects();
    for (const each of played) await judge(environment, each, effects, figures);
    figures.report("findings of the history check", environment.checkHistory().findings);
    return figures.list();
  });
}

interface Plan {
  readonly name: string;
  readonly kind: Kind;
  readonly random: () => number;
  readonly figures: ReturnType<typeof createFigures>;
}

async function playOne(
  environment: TurnEnvironment,
  deciders: readonly DeciderProcess[],
  { name, kind, random, figures }: Plan,
): Promise<Played> {
  const ref = await environment.createSession();
  const follower = environment.follow(ref);
  const wait = kind === "deadline" ? WAIT_SECONDS : 300;
  const message = await environment.send(ref, approvalPlan(name, CALLS, wait));
  const rows = await waitForApprovals(environment, ref, CALLS);
  const now = Date.now();
  const stopAt = kind === "stop" ? now + TOGETHER_MS : null;
  const aims = rows.map((row) => ({
    row,
    // A stop takes a moment before it cancels pending approvals.
    at:
      kind === "users"
        ? now + TOGETHER_MS
        : (stopAt ?? row.deadline ?? 0) + (random() - (kind === "stop" ? 0 : 0.5)) * AIM_MS,
    favourite: chooseFavourite(random),
  }));
  const results = await Promise.all(
    deciders.map((decider, side) => {
      const decisions = aims.flatMap(({ row, at, favourite }) =>
        DECISIONS.toSorted(() => random() - 0.5).map((decision) => ({
          at: at + (favourite === decision ? -1 : random()) * TOGETHER_MS,
          decision: createDecision(row, decision, `side-${side}`),
        })),
      );
      return decider.decide({ ref, decisions, stopAt: side === 0 ? stopAt : null });
    }),
  );
  figures.report(
    "decisions that failed",
    results.flatMap(({ failures }) => failures),
  );
  const turn = await follower.untilEnded(message);
  await environment.untilIdle(ref);
  await follower.stop();
  return { kind, ref, turn, won: results.flatMap(({ won }) => won) };
}

/**
 * Picks a decision that is sent first, or none. An edit is validated first, so without a head start it would almost
 * never win.
 */
function chooseFavourite(random: () => number): ApprovalDecision["decision"] | null {
  return DECISIONS[Math.floor(random() * 2 * DECISIONS.length)] ?? null;
}

const STATUS: Readonly<Record<ApprovalDecision["decision"], string>> = {
  approve: "approved",
  edit: "edited",
  reject: "rejected",
};

async function judge(
  environment: TurnEnvironment,
  { kind, ref, turn, won }: Played,
  effects: ReadonlyMap<string, number>,
  figures: ReturnType<typeof createFigures>,
): Promise<void> {
  const { events, illegal } = await environment.checkSession(ref);
  const problems: string[] = [];
  const outcomes = await readOutcomes(environment, ref, turn, events, effects, problems);
  const rows = await environment.backend.store.interactions.list(ref);
  for (const [n, outcome] of outcomes.entries()) {
    const { status } = outcome;
    const winners = won.filter(({ key }) => key === rows[n]?.key).map(({ decision }) => STATUS[decision]);
    const expected = ["timed_out", "cancelled"].includes(status) ? "" : status;
    if (winners.join() !== expected) problems.push(`${outcome.key}: is ${status}, won by ${winners.join()}`);
    if (!ranRightly(outcome, kind === "stop")) {
      problems.push(`${outcome.key}: ${JSON.stringify(outcome)}`);
      if (!["approved", "edited"].includes(status))
        figures.add("executions after a rejection, time-out or stop");
    }
    figures.add("approvals");
    figures.add(`won: ${status}` as "won: approved");
  }
  figures.report("calls not decided, logged and executed once", problems);
  figures.report("events that broke a rule", illegal);
}

/** @param mayBeStopped true if a stop may have come between the decision and the tool */
function ranRightly({ status, plain, edited }: Outcome, mayBeStopped: boolean): boolean {
  const least = mayBeStopped ? 0 : 1;
  if (status === "approved") return edited === 0 && plain <= 1 && plain >= least;
  if (status === "edited") return plain === 0 && edited <= 1 && edited >= least;
  return plain === 0 && edited === 0;
}

export const decisions: Scenario = {
  promise: 14,
  about:
    "lets two processes approve, edit and reject the same calls at once, also at the deadline and during a stop",
  times: 2_000,
  short: 20,
  run,
};
