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
  countEffects,
  type Outcome,
  readOutcomes,
} from "./approval-turn.ts";
import { DeciderProcess } from "./decider-process.ts";
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

async function run({ times, random, progress }: RunOptions): Promise<Figure[]> {
  return TurnEnvironment.use(async (environment) => {
    await environment.launchReadyWorkers(1, { asks: true });
    const { databaseUrl, redisUrl } = environment.backend;
    const deciders = await Promise.all(
      ["left", "right"].map((name) => DeciderProcess.launch({ name, databaseUrl, redisUrl })),
    );
    const played: Played[] = [];
    const failures: string[] = [];
    const turns = Math.ceil(times / CALLS);
    let next = 0;
    const work = async (): Promise<void> => {
      while (next < turns) {
        const n = next++;
        const kind = KINDS[n % KINDS.length] ?? "users";
        played.push(await playOne(environment, deciders, `d${n}`, kind, random, failures));
        progress(`${played.length} of ${turns} turns`);
      }
    };
    try {
      await Promise.all(Array.from({ length: CONCURRENCY }, work));
    } finally {
      await Promise.all(deciders.map((decider) => decider.kill()));
    }
    return judgeAll(environment, played, failures, times, progress);
  });
}

async function playOne(
  environment: TurnEnvironment,
  deciders: readonly DeciderProcess[],
  name: string,
  kind: Kind,
  random: () => number,
  failures: string[],
): Promise<Played> {
  const ref = await environment.createSession();
  const follower = environment.follow(ref);
  const wait = kind === "deadline" ? WAIT_SECONDS : 300;
  const message = await environment.send(ref, approvalPlan(name, CALLS, wait));
  const rows = await waitForApprovals(environment, ref, CALLS);
  const stopAt = kind === "stop" ? Date.now() + TOGETHER_MS : null;
  const aimed = new Map(
    // A stop takes a moment before it cancels pending approvals.
    rows.map(({ id }) => [id, (random() - (kind === "stop" ? 0 : 0.5)) * AIM_MS] as const),
  );
  const favourites = new Map(rows.map(({ id }) => [id, favouriteOf(random)] as const));
  const leadOf = (id: string, decision: ApprovalDecision["decision"]): number =>
    (favourites.get(id) === decision ? -1 : random()) * TOGETHER_MS;
  const now = Date.now();
  const results = await Promise.all(
    deciders.map((decider, side) => {
      const decisions = rows.flatMap((row) =>
        DECISIONS.toSorted(() => random() - 0.5).map((decision) => ({
          at:
            kind === "users"
              ? now + TOGETHER_MS + leadOf(row.id, decision)
              : (stopAt ?? row.deadline ?? 0) + (aimed.get(row.id) ?? 0) + leadOf(row.id, decision),
          decision: createDecision(row, decision, `side-${side}`),
        })),
      );
      return decider.decide({ ref, decisions, stopAt: side === 0 ? stopAt : null });
    }),
  );
  failures.push(...results.flatMap((result) => result.failures));
  const turn = await follower.untilEnded(message);
  await environment.untilIdle(ref);
  await follower.stop();
  return { kind, ref, turn, won: results.flatMap(({ won }) => won) };
}

/**
 * Picks a decision that is sent first, or none. An edit is validated first, so without a head start it would almost
 * never win.
 */
function favouriteOf(random: () => number): ApprovalDecision["decision"] | null {
  return DECISIONS[Math.floor(random() * 2 * DECISIONS.length)] ?? null;
}

const STATUS: Readonly<Record<ApprovalDecision["decision"], string>> = {
  approve: "approved",
  edit: "edited",
  reject: "rejected",
};

async function judgeAll(
  environment: TurnEnvironment,
  played: readonly Played[],
  failures: readonly string[],
  times: number,
  progress: (text: string) => void,
): Promise<Figure[]> {
  const effects = await countEffects(environment);
  const problems: string[] = [];
  const illegal: string[] = [];
  const counts: Record<string, number> = {};
  let refusedAndRun = 0;
  for (const { kind, ref, turn, won } of played) {
    const look = await environment.checkSession(ref);
    illegal.push(...look.illegal);
    const outcomes = await readOutcomes(environment, ref, turn, look.events, effects, problems);
    const rows = await environment.backend.store.interactions.list(ref);
    for (const [n, outcome] of outcomes.entries()) {
      counts[outcome.status] = (counts[outcome.status] ?? 0) + 1;
      const winners = won.filter(({ key }) => key === rows[n]?.key);
      const isPeoples = Object.values(STATUS).includes(outcome.status);
      if (winners.length !== (isPeoples ? 1 : 0)) problems.push(`${outcome.key}: ${winners.length} winners`);
      if (winners.some(({ decision }) => STATUS[decision] !== outcome.status))
        problems.push(`${outcome.key}: another decision is stored than the one that won`);
      if (!ranRightly(outcome, kind === "stop")) {
        problems.push(`${outcome.key}: ${JSON.stringify(outcome)}`);
        if (!["approved", "edited"].includes(outcome.status)) refusedAndRun++;
      }
    }
  }
  for (const problem of [...problems, ...illegal, ...failures].slice(0, 20)) progress(problem);
  const approvals = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const few = Math.floor(times / 100);
  return [
    { figure: "approvals", value: approvals, atLeast: times },
    { figure: "concurrent decisions per approval", value: 2 * DECISIONS.length },
    ...["approved", "edited", "rejected", "timed_out", "cancelled"].map((status) => ({
      figure: `won: ${status}`,
      value: counts[status] ?? 0,
      atLeast: few,
    })),
    { figure: "executions after a rejection, time-out or stop", value: refusedAndRun, exactly: 0 },
    { figure: "calls not decided, logged and executed once", value: problems.length, exactly: 0 },
    { figure: "decisions that failed", value: failures.length, exactly: 0 },
    { figure: "events that broke a rule", value: illegal.length, exactly: 0 },
  ];
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
