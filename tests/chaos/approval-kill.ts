/**
 * `approvalKill` tests promise 14: it kills a worker with -9 at four moments of an approval: while calls wait, while
 * they are decided, after a decision is committed but not yet in the log, and just after it is in the log. In the third
 * case the process that decided is killed too.
 *
 * Invariant: a rejected call never runs. An approved call runs once, or ends as "outcome unknown" if its start was
 * already journaled.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { listBlocks } from "@turnstream/protocol";
import { decideApproval, type ApprovalDecision } from "@turnstream/server";
import type { Interaction } from "@turnstream/server/internal";
import { until } from "@turnstream/testkit/util/until.ts";
import { approvalPlan, createDecision, readOutcomes, waitForApprovals } from "./approval-turn.ts";
import { atMoment } from "./at-moment.ts";
import { DeciderProcess } from "./decider-process.ts";
import type { RunOptions, Scenario } from "./scenario.ts";
import type { TurnEnvironment } from "./turn-environment.ts";
import type { TurnFollower } from "./turn-follower.ts";
import { runTurns } from "./turn-load.ts";
import type { WorkerProcess } from "./worker-process.ts";

const WORKERS = 3;
const DELAY_MS = 20;
const SETTINGS = { asks: true, ttlMs: 1_500 };
const DECISIONS = ["approve", "reject", "edit"] as const;
const MOMENTS = [
  "kills while an approval waits",
  "kills while an approval is decided",
  "kills while an approval is committed, not in the log",
  "kills while an approval is in the log",
] as const;

type Moment = (typeof MOMENTS)[number];

async function run(options: RunOptions) {
  const { times } = options;
  const share = Math.floor((times / MOMENTS.length) * 0.8);
  const bounds = {
    "kills while an approval waits": { atLeast: share },
    "kills while an approval is decided": { atLeast: share },
    "kills while an approval is committed, not in the log": { atLeast: share },
    "kills while an approval is in the log": { atLeast: share },
    "decisions appended by another process than the one that decided": { atLeast: Math.min(share, 1) },
    "approved or edited": { atLeast: times },
    "of these, cut off after their start was journaled": {},
    rejected: { atLeast: Math.floor(times / 2) },
  };
  return runTurns(options, bounds, async ({ environment, load, figures, random }) => {
    for (let n = 0; n < times; n++) {
      await environment.keepReadyWorkers(WORKERS, SETTINGS, 2);
      const moment = MOMENTS[n % MOMENTS.length] as Moment;
      const turn = await load.send(approvalPlan(`a${n}`, DECISIONS.length, 300));
      const { ref } = turn.follower;
      const rows = await waitForApprovals(environment, ref, DECISIONS.length);
      const decisions = rows.map((row, i) => createDecision(row, DECISIONS[i] ?? "reject", "user-1"));
      const round = new ApprovalRound(environment, turn.follower, decisions, random);
      const victim = await round.kill(moment);
      if (victim !== undefined) figures.add(moment);
      if (round.isBetween) figures.add("decisions appended by another process than the one that decided");
      environment.keepWorkers(WORKERS, SETTINGS);
      // Decide the calls that are still pending. For the others the earlier decision wins.
      for (const decision of decisions) await decideApproval(environment.backend, ref, decision);
      await load.judge(turn, async (ended, events) => {
        const problems: string[] = [];
        const effects = await environment.countEffects();
        for (const outcome of await readOutcomes(environment, ref, ended, events, effects, problems)) {
          const { status, plain, edited, result } = outcome;
          figures.add(status === "rejected" ? "rejected" : "approved or edited");
          if (result === "unknown") figures.add("of these, cut off after their start was journaled");
          const [right, wrong] = status === "edited" ? [edited, plain] : [plain, edited];
          const isRight =
            status === "rejected"
              ? plain + edited === 0 && result === "error"
              : wrong === 0 && (result === "unknown" ? right <= 1 : result === "success" && right === 1);
          if (!isRight) problems.push(`${moment}: ${JSON.stringify(outcome)}`);
        }
        return problems;
      });
      figures.print(`${n + 1} of ${times}`);
    }
  });
}

class ApprovalRound {
  /** Whether only a relay or the next worker could append the decision to the log. */
  isBetween = false;
  readonly #environment: TurnEnvironment;
  readonly #follower: TurnFollower;
  readonly #decisions: readonly ApprovalDecision[];
  readonly #random: () => number;

  constructor(
    environment: TurnEnvironment,
    follower: TurnFollower,
    decisions: readonly ApprovalDecision[],
    random: () => number,
  ) {
    this.#environment = environment;
    this.#follower = follower;
    this.#decisions = decisions;
    this.#random = random;
  }

  /** Kills the worker of the turn at the given moment. @returns the killed worker, or undefined if the turn had none */
  async kill(moment: Moment): Promise<WorkerProcess | undefined> {
    switch (moment) {
      case "kills while an approval waits": {
        const victim = this.#killOwner();
        // In half of these rounds the turn has no worker while the calls are decided.
        if (victim !== undefined && this.#random() < 0.5)
          await until("a takeover", () => this.#follower.takeovers > 0);
        return victim;
      }
      case "kills while an approval is decided": {
        const decided = this.#decideAll();
        await sleep(this.#random() * 15);
        const victim = this.#killOwner();
        await decided;
        return victim;
      }
      case "kills while an approval is committed, not in the log":
        return this.#killBetween();
      case "kills while an approval is in the log": {
        const updated = atMoment([this.#follower], {
          act: ({ event }) => event.type === "approval.update" && event.status !== "rejected",
          timeoutMs: 10_000,
        });
        const decided = this.#decideAll();
        await updated;
        if (this.#random() < 0.5) await sleep(this.#random() * 20);
        const victim = this.#killOwner();
        await decided;
        return victim;
      }
    }
  }

  #killOwner(): WorkerProcess | undefined {
    const worker = this.#environment.findOwner(this.#follower);
    worker?.signal("SIGKILL");
    return worker;
  }

  async #decideAll(): Promise<void> {
    const { backend } = this.#environment;
    await Promise.all(
      this.#decisions.map((decision) => decideApproval(backend, this.#follower.ref, decision)),
    );
  }

  /** Lets a process decide whose connection to Redis is slow, and cuts it when the first decision is committed. */
  async #killBetween(): Promise<WorkerProcess | undefined> {
    const { ref } = this.#follower;
    const { proxy, redisUrl } = await this.#environment.startRedisProxy(DELAY_MS);
    const settings = this.#environment.settings(`decider of ${ref.session}`);
    const decider = this.#environment.own(await DeciderProcess.launch({ ...settings, redisUrl }));
    const decisions = this.#decisions.map((decision) => ({ at: 0, decision }));
    void decider.decide({ ref, decisions, stopAt: null });
    let committed: Interaction | undefined;
    const readCommitted = async () => {
      const rows = await this.#environment.backend.store.interactions.list(ref);
      committed = rows.find(({ status }) => status !== "pending");
      return committed !== undefined;
    };
    await until("a commit", readCommitted, { everyMs: 1 });
    proxy.blackhole();
    const victim = this.#killOwner();
    await decider.kill();
    await proxy.close();
    const { running } = this.#follower;
    const isInLog = (running === undefined ? [] : listBlocks(running)).some(
      (block) => block.kind === "approval" && block.id === committed?.block && block.version > 0,
    );
    this.isBetween = !isInLog;
    return victim;
  }
}

export const approvalKill: Scenario = {
  promise: 14,
  about:
    "kills workers with -9 while an approval waits, is decided, is committed but not in the log, and is in the log",
  times: 120,
  short: 3,
  run,
};
