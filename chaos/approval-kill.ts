/**
 * `approvalKill` kills a worker with -9 at four moments of an approval: while calls wait, while they are decided, after
 * a decision is committed but not yet in the log, and just after it is in the log. In the third case the process that
 * decided is killed too.
 *
 * Invariant: a rejected call never runs. An approved call runs once, or ends as "outcome unknown" if its start was
 * already journaled.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { listBlocks } from "@turnstream/protocol";
import { decideApproval, type ApprovalDecision } from "@turnstream/server";
import type { Interaction } from "@turnstream/server/ports";
import { until } from "@turnstream/testkit/util/until.ts";
import { startProxy, type TcpProxy } from "@turnstream/testkit/network/tcp-proxy.ts";
import { atMoment } from "./at-moment.ts";
import {
  waitForApprovals,
  approvalPlan,
  createDecision,
  countEffects,
  readOutcomes,
} from "./approval-turn.ts";
import { DeciderProcess } from "./decider-process.ts";
import type { Figure, RunOptions, Scenario } from "./scenario.ts";
import type { TurnFollower } from "./turn-follower.ts";
import { TurnEnvironment } from "./turn-environment.ts";
import type { WorkerProcess } from "./worker-process.ts";

const WORKERS = 3;
const TTL_MS = 1_500;
const DELAY_MS = 20;
const MOMENTS = ["waits", "is decided", "is committed, not in the log", "is in the log"] as const;
type Moment = (typeof MOMENTS)[number];
const DECISIONS = ["approve", "reject", "edit"] as const;
const SETTINGS = { asks: true, ttlMs: TTL_MS };

interface Found {
  readonly kills: Record<Moment, number>;
  /** Decisions that only a relay or the next worker could append to the log. */
  between: number;
  approved: number;
  refused: number;
  unknown: number;
  readonly problems: string[];
  readonly illegal: string[];
}

/** A process that decides, with a slow connection to Redis that the test can cut. */
interface Slow {
  readonly decider: DeciderProcess;
  readonly proxy: TcpProxy;
}

async function run({ times, random, progress }: RunOptions): Promise<Figure[]> {
  return TurnEnvironment.use(async (environment) => {
    const kills = Object.fromEntries(MOMENTS.map((moment) => [moment, 0])) as Record<Moment, number>;
    const found: Found = {
      kills,
      between: 0,
      approved: 0,
      refused: 0,
      unknown: 0,
      problems: [],
      illegal: [],
    };
    for (let n = 0; n < times; n++) {
      await until("two workers", () => {
        environment.keepWorkers(WORKERS, SETTINGS);
        return readyOf(environment) >= 2;
      });
      await playOne(environment, `a${n}`, MOMENTS[n % MOMENTS.length] ?? "waits", random, found);
      progress(`${n + 1} of ${times}: ${JSON.stringify(found)}`.slice(0, 400));
    }
    for (const problem of [...found.problems, ...found.illegal].slice(0, 20)) progress(problem);
    const { running, journal } = await environment.countLeftovers();
    const share = Math.floor((times / MOMENTS.length) * 0.8);
    return [
      ...MOMENTS.map((moment) => ({
        figure: `kills while an approval ${moment}`,
        value: found.kills[moment],
        atLeast: share,
      })),
      {
        figure: "decisions appended by another process than the one that decided",
        value: found.between,
        atLeast: Math.min(share, 1),
      },
      { figure: "approved or edited", value: found.approved, atLeast: times },
      { figure: "of these, cut off after their start was journaled", value: found.unknown },
      { figure: "rejected", value: found.refused, atLeast: Math.floor(times / 2) },
      {
        figure: "calls not decided, logged and executed as promised",
        value: found.problems.length,
        exactly: 0,
      },
      { figure: "events that broke a rule", value: found.illegal.length, exactly: 0 },
      { figure: "turns left running", value: running, exactly: 0 },
      { figure: "journal rows left", value: journal, exactly: 0 },
    ];
  });
}

function readyOf(environment: TurnEnvironment): number {
  return environment.workers.filter((worker) => !worker.hasExited && worker.isReady).length;
}

async function playOne(
  environment: TurnEnvironment,
  name: string,
  moment: Moment,
  random: () => number,
  found: Found,
): Promise<void> {
  const ref = await environment.createSession();
  const follower = environment.follow(ref);
  const message = await environment.send(ref, approvalPlan(name, DECISIONS.length, 300));
  const rows = await waitForApprovals(environment, ref, DECISIONS.length);
  const decisions = rows.map((row, n) => createDecision(row, DECISIONS[n] ?? "reject", "user-1"));
  const victim = await hit(environment, follower, rows, decisions, moment, random, found);
  if (victim !== null) {
    found.kills[moment]++;
    await victim.exited;
    environment.keepWorkers(WORKERS, SETTINGS);
  }
  // Decide the calls that are still pending. For the others the earlier decision wins.
  for (const decision of decisions) await decideApproval(environment.backend, ref, decision);
  const turn = await follower.untilEnded(message);
  await environment.untilIdle(ref);
  await follower.stop();
  const { events, illegal } = await environment.checkSession(ref);
  found.illegal.push(...illegal, ...follower.illegal);
  const effects = await countEffects(environment);
  for (const outcome of await readOutcomes(environment, ref, turn, events, effects, found.problems)) {
    const { key, status, plain, edited, result } = outcome;
    const report = (problem: string) => found.problems.push(`${key} (${moment}): ${problem}`);
    if (status === "rejected") {
      found.refused++;
      if (plain + edited > 0 || result !== "error") report(`rejected, but ${JSON.stringify(outcome)}`);
      continue;
    }
    found.approved++;
    const [right, wrong] = status === "edited" ? [edited, plain] : [plain, edited];
    if (wrong > 0 || right > 1) report(`ran ${JSON.stringify(outcome)}`);
    if (result === "unknown") found.unknown++;
    else if (result !== "success" || right !== 1) report(`approved, but ${JSON.stringify(outcome)}`);
  }
}

/** Kills the worker of the turn at the given moment. @returns the killed worker, or null if the turn had none */
async function hit(
  environment: TurnEnvironment,
  follower: TurnFollower,
  rows: readonly Interaction[],
  decisions: readonly ApprovalDecision[],
  moment: Moment,
  random: () => number,
  found: Found,
): Promise<WorkerProcess | null> {
  const { ref } = follower;
  const kill = (): WorkerProcess | null => {
    const worker =
      environment.workers.find(({ name, hasExited }) => name === follower.owner && !hasExited) ?? null;
    worker?.signal("SIGKILL");
    return worker;
  };
  switch (moment) {
    case "waits": {
      const victim = kill();
      // In half of these rounds the turn has no worker while the calls are decided.
      if (random() < 0.5) await until("a takeover", () => follower.takeovers > 0);
      return victim;
    }
    case "is decided": {
      const decided = decisions.map((decision) => decideApproval(environment.backend, ref, decision));
      await sleep(random() * 15);
      const victim = kill();
      await Promise.all(decided);
      return victim;
    }
    case "is committed, not in the log":
      return killBetween(environment, follower, rows, decisions, kill, found);
    case "is in the log": {
      let victim: WorkerProcess | null = null;
      const after = random() < 0.5 ? 0 : random() * 20;
      const updated = atMoment([follower], {
        act: ({ event }) => event.type === "approval.update" && event.status !== "rejected",
        timeoutMs: 10_000,
      });
      const decided = decisions.map((decision) => decideApproval(environment.backend, ref, decision));
      await updated;
      if (after > 0) await sleep(after);
      victim = kill();
      await Promise.all(decided);
      return victim;
    }
  }
}

async function killBetween(
  environment: TurnEnvironment,
  follower: TurnFollower,
  rows: readonly Interaction[],
  decisions: readonly ApprovalDecision[],
  kill: () => WorkerProcess | null,
  found: Found,
): Promise<WorkerProcess | null> {
  const { decider, proxy } = await startSlow(environment);
  const { ref } = follower;
  void decider.decide({ ref, decisions: decisions.map((decision) => ({ at: 0, decision })), stopAt: null });
  let committed: Interaction | undefined;
  await until(
    "a commit",
    async () => {
      const now = await Promise.all(
        rows.map(({ id }) => environment.backend.store.interactions.get(ref, id)),
      );
      committed = now.find((row) => row !== null && row.status !== "pending") ?? undefined;
      return committed !== undefined;
    },
    { everyMs: 1 },
  );
  proxy.blackhole();
  const victim = kill();
  await decider.kill();
  await proxy.close();
  if (committed !== undefined && !isPublished(follower, committed)) found.between++;
  return victim;
}

async function startSlow(environment: TurnEnvironment): Promise<Slow> {
  const { port } = new URL(environment.backend.redisUrl);
  const proxy = await startProxy({ to: { host: "127.0.0.1", port: Number(port) } });
  proxy.delay(DELAY_MS);
  const url = `redis://127.0.0.1:${proxy.port}`;
  return {
    decider: await DeciderProcess.launch({
      name: "slow",
      databaseUrl: environment.backend.databaseUrl,
      redisUrl: url,
    }),
    proxy,
  };
}

function isPublished({ running }: TurnFollower, { block }: Interaction): boolean {
  const blocks = running === undefined ? [] : listBlocks(running);
  return blocks.some((each) => each.id === block && each.kind === "approval" && each.version > 0);
}

export const approvalKill: Scenario = {
  promise: 14,
  about:
    "kills workers with -9 while an approval waits, is decided, is committed but not in the log, and is in the log",
  times: 120,
  short: 3,
  run,
};
