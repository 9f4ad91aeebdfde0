/**
 * Tests that the pure rules accept one decision per approval: approve, edit, reject, timeout and stop in any order,
 * around the deadline, with a worker whose clock is wrong. A tool runs only after a decision that allows it.
 */
import { assertCases, type CaseCounts, leastSeen } from "@turnstream/conformance/support/cases.ts";
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  type TransitionState,
  transitionError,
  type TransitionInput,
} from "../../../src/store/rules/interactions.ts";

const CASES: CaseCounts = { push: 6_000, full: 100_000 };
const DEADLINE = 300_000;
const DIGEST = "sha256:shown";
const USER_STATUSES = ["approved", "edited", "rejected"];

interface Try {
  readonly to: string;
  /** When the try reaches the database, by the database's clock. The rules use no other clock. */
  readonly at: number;
  readonly digest: string | undefined;
}

const moment = fc.oneof(
  fc.constantFrom(0, 299_999, 300_000, 300_001),
  fc.integer({ min: DEADLINE - 5, max: DEADLINE + 5 }),
  fc.integer({ min: 0, max: 2 * DEADLINE }),
);
const oneTry: fc.Arbitrary<Try> = fc.record({
  to: fc.constantFrom(...USER_STATUSES, ...USER_STATUSES, "cancelled"),
  at: moment,
  digest: fc.constantFrom(undefined, DIGEST, DIGEST, "sha256:other"),
});

const EARLY_MS = 100;

/** A worker tries to time out the approval by its own clock, and again a little later while it is too early. */
function timeOuts(skew: number): Try[] {
  const tries: Try[] = [];
  for (let at = DEADLINE - skew; ; at += EARLY_MS) {
    tries.push({ to: "timed_out", at, digest: undefined });
    if (at >= DEADLINE) return tries;
  }
}

/** Applies the tries in the order in which they reach the store. */
function playAll(tries: readonly Try[]): { wins: Try[]; last: TransitionState; runs: number } {
  let now: TransitionState = {
    kind: "approval",
    status: "pending",
    version: 0,
    digest: DIGEST,
    deadline: DEADLINE,
  };
  const wins: Try[] = [];
  let runs = 0;
  for (const one of tries) {
    const transition: TransitionInput = {
      to: one.to,
      ...(one.digest === undefined ? {} : { expectDigest: one.digest }),
    };
    if (transitionError(now, transition, one.at) !== null) continue;
    wins.push(one);
    now = { ...now, status: one.to, version: now.version + 1 };
    // The waiting worker reads only the status.
    if (now.status === "approved" || now.status === "edited") runs++;
  }
  return { wins, last: now, runs };
}

/** Returns a problem of the outcome, or null. Without `expect`, which is too slow for a million cases. */
function wrongIn({ wins, last, runs }: ReturnType<typeof playAll>): string | null {
  const [winner] = wins;
  if (wins.length !== 1 || winner === undefined || last.version !== 1) return `${wins.length} winners`;
  const { to, at, digest } = winner;
  if (runs !== (to === "approved" || to === "edited" ? 1 : 0)) return `${runs} runs after ${to}`;
  if (digest !== undefined && digest !== DIGEST) return "decided on something else";
  if (USER_STATUSES.includes(to) && at >= DEADLINE) return "decided too late";
  return to === "timed_out" && at < DEADLINE ? "timed out too early" : null;
}

test("W13 one of many concurrent decisions wins, in time and for the shown call, and no tool runs after a refusal", async () => {
  const won: Record<string, number> = {};
  let atTheEdge = 0;
  await assertCases(
    fc.property(
      fc.array(oneTry, { maxLength: 8 }),
      fc.integer({ min: -2_000, max: 2_000 }),
      (users, skew) => {
        const tries = [...users, ...timeOuts(skew)].toSorted((a, b) => a.at - b.at);
        const played = playAll(tries);
        const wrong = wrongIn(played);
        if (wrong !== null) throw new Error(wrong);
        const to = played.last.status;
        won[to] = (won[to] ?? 0) + 1;
        if (Math.abs((played.wins[0]?.at ?? 0) - DEADLINE) <= 1) atTheEdge++;
      },
    ),
    CASES,
  );
  for (const to of [...USER_STATUSES, "timed_out", "cancelled"])
    expect(won[to]).toBeGreaterThan(leastSeen(0.05, CASES));
  expect(atTheEdge).toBeGreaterThan(leastSeen(0.01, CASES));
});

test.each([
  ["approved", 299_999, true],
  ["approved", 300_001, false],
  ["edited", 299_999, true],
  ["edited", 300_001, false],
  ["rejected", 299_999, true],
  ["rejected", 300_001, false],
  ["timed_out", 299_999, false],
  ["timed_out", 300_001, true],
  ["cancelled", 299_999, true],
  ["cancelled", 300_001, true],
])("W13 %s at %i ms of 300 s: %s", (to, at, wins) => {
  expect(playAll([{ to, at, digest: DIGEST }]).wins).toHaveLength(wins ? 1 : 0);
});
