/** Tests `explainTurn`: which sentence follows from which facts, and which cause wins over another. */
import { expect, test } from "vitest";
import { explainTurn, formatAge, type TurnFacts } from "../../src/operator/explain-turn.ts";

const NOW = 10_000_000;
const RUNNING = { startedAt: NOW - 60_000, attempts: 1, attemptsWithoutProgress: 1, stopRequestedAt: null };

/** A turn that makes progress. */
const HEALTHY: TurnFacts = {
  now: NOW,
  running: RUNNING,
  queuedSince: null,
  workers: { live: 1, lastLeaseUntil: NOW + 2_000 },
  claim: { worker: "w1", leaseUntil: NOW + 2_000 },
  redisProblem: null,
  interactions: [],
  openCalls: [],
  lastEventAt: NOW - 100,
  agent: { name: "clerk", status: "known" },
  ended: null,
  deaths: 0,
};
const APPROVAL = { kind: "approval", requestedAt: NOW - 42_000, deadline: NOW + 258_000 };
const CALL = { name: "search", startedAt: NOW - 30_000 };
const NO_WORKER = { workers: { live: 0, lastLeaseUntil: NOW - 90_000 } };
const failed = (errorCode: string | null) => ({ running: null, ended: { status: "error", errorCode } });

test.each<[string, Partial<TurnFacts>, string, string]>([
  ["nothing wrong", {}, "running", "A worker writes the answer right now."],
  ["no worker", NO_WORKER, "running", "No worker is running: the last one stopped 90 s ago."],
  [
    "no worker ever",
    { workers: { live: 0, lastLeaseUntil: null }, running: null, queuedSince: NOW - 5_000 },
    "queued",
    "No worker is running.",
  ],
  [
    "Redis refuses writes",
    { redisProblem: "Redis refuses writes (OOM)", openCalls: [CALL] },
    "running",
    "Redis refuses writes (OOM), so the worker can't write events.",
  ],
  [
    "the worker of the turn died",
    { claim: { worker: "w0", leaseUntil: NOW - 1 } },
    "running",
    "The worker w0 has stopped, and another worker has not taken over the turn yet.",
  ],
  [
    "an approval with a deadline",
    { interactions: [APPROVAL], openCalls: [CALL] },
    "waiting",
    "The turn has waited 42 s for the user: an approval is pending, and times out in 4 min.",
  ],
  [
    "a question without a deadline",
    { interactions: [{ kind: "question", requestedAt: NOW - 7_200_000, deadline: null }] },
    "waiting",
    "The turn has waited 2 h 0 min for the user: a question is pending without a deadline.",
  ],
  ["a slow tool", { openCalls: [CALL] }, "running", "The tool search has run for 30 s and has not returned."],
  ["a silent model", { lastEventAt: NOW - 20_000 }, "running", "The agent has waited 20 s for its model."],
  [
    "a stop that is not confirmed",
    { running: { ...RUNNING, stopRequestedAt: NOW - 3_000 }, openCalls: [CALL] },
    "stopping",
    "A stop was requested 3 s ago, and the turn has not ended yet.",
  ],
  [
    "a turn without an attempt",
    { running: { ...RUNNING, attempts: 0 }, claim: null },
    "running",
    "The turn began 60 s ago, and no worker has attempted it yet.",
  ],
  [
    "attempts without progress",
    { running: { ...RUNNING, attempts: 4, attemptsWithoutProgress: 3 } },
    "running",
    "The last 3 attempts failed without progress, and the worker tries again.",
  ],
  [
    "an agent that the newest worker lacks",
    { ...failed("SERVER_ERROR"), agent: { name: "clerk", status: "outdated" } },
    "failed",
    "The turn needs the agent clerk, which the newest worker doesn't have.",
  ],
  [
    "an agent that was never registered",
    { ...failed("SERVER_ERROR"), agent: { name: "clerk", status: "unregistered" } },
    "failed",
    "The turn needs the agent clerk, which no worker has registered.",
  ],
  [
    "another error of a turn whose agent is outdated",
    { ...failed("MODEL_OVERLOADED"), agent: { name: "clerk", status: "outdated" } },
    "failed",
    "The turn failed with MODEL_OVERLOADED.",
  ],
  [
    "a turn that ended its processes",
    { ...failed("SERVER_ERROR"), deaths: 5 },
    "failed",
    "The turn was ended because 5 processes died while they ran it.",
  ],
  [
    "an end",
    { running: null, ended: { status: "end_turn", errorCode: null } },
    "ended",
    "The turn has ended (end_turn).",
  ],
  ["no turn", { running: null }, "none", "The session has no turn yet."],
  [
    "no unfinished turn, and no Redis",
    { running: null, redisProblem: "Nothing listens at host:1" },
    "none",
    "Nothing listens at host:1, so the events of the session can't be read.",
  ],
])("%s", (_, change, state, reason) => {
  expect(explainTurn({ ...HEALTHY, ...change })).toMatchObject({ state, reason });
});

test("a turn that hangs because of its servers or its agent has something to do about it", () => {
  for (const change of [
    NO_WORKER,
    { redisProblem: "Redis refuses writes (OOM)" },
    { openCalls: [CALL] },
    { interactions: [APPROVAL] },
  ])
    expect(explainTurn({ ...HEALTHY, ...change }).fix).not.toBeNull();
  expect(explainTurn(HEALTHY).fix).toBeNull();
  // The missing worker prevents every progress, so it wins.
  expect(explainTurn({ ...HEALTHY, ...NO_WORKER, interactions: [APPROVAL] }).reason).toContain("No worker");
});

test("an age has at most two units", () => {
  expect([-5, 1_499, 119_000, 120_000, 7_260_000, 180_000_000].map(formatAge)).toEqual([
    "0 s",
    "1 s",
    "119 s",
    "2 min",
    "2 h 1 min",
    "2 d 2 h",
  ]);
});
