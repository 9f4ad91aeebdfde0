/**
 * `deploy` tests promise 29: turns continue while the code of their agent changes. Workers of one version are replaced
 * by workers of the other, which has other instructions, tools and sub-agents. They are replaced by SIGTERM, by kill
 * -9, or only some of them, so that both versions run at once.
 *
 * Invariant: a turn keeps the instructions and tools that it had before its first block. A call to a removed tool ends
 * as an error that the model can read. A turn that waits for a user continues when the user decides after the deploy.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { listBlocks } from "@turnstream/protocol";
import { decideApproval } from "@turnstream/server";
import { until } from "@turnstream/testkit/util/until.ts";
import { waitForApprovals, createDecision } from "./approval-turn.ts";
import { checkPlan } from "./check-plan.ts";
import { parseEcho } from "./plan-script.ts";
import type { Figure, RunOptions, Scenario } from "./scenario.ts";
import type { Listener, TurnFollower } from "./turn-follower.ts";
import { type Plan, type PlanCall, type PlanTool, randomText } from "./turn-plan.ts";
import { median } from "@turnstream/testkit/util/median.ts";
import { TurnEnvironment, findTurn } from "./turn-environment.ts";
import type { WorkerProcess } from "./worker-process.ts";

const WORKERS = 2;
/** Shorter than the default, so that many rounds end in time. A hand-over never waits for the lease. */
const TTL_MS = 1_500;
const SETTINGS = { asks: true, ttlMs: TTL_MS };
const HAND_OVER_MS = 2_000;

/** Less than the shutdown grace period of a worker. */
const SLOWEST_HAND_OVER_MS = 4_500;
const STUBBORN = "stubborn";
const STUBBORN_MS = 10_000;

type Version = "a" | "b";
type Way = "SIGTERM" | "SIGKILL" | "mixed";
const WAYS: readonly Way[] = ["SIGTERM", "SIGKILL", "mixed"];

const TOOLS: Readonly<Record<Version, readonly string[]>> = {
  a: ["again", "once", "extra", "veiled", "turned", "asked", "helper", "passing", "turning", "share_thought"],
  b: ["added", "once", "again", "turned", "turning", "asked", "helper", "share_thought"],
};

interface Found {
  turns: number;
  moved: number;
  /**
   * Of the moved turns: those that waited for a user, and those in a call that the new code declares or runs
   * differently.
   */
  waited: number;
  changed: number;
  echoes: number;
  removed: number;
  wrongEcho: number;
  /** Tools that ended as "outcome unknown": after kill -9, and after SIGTERM. */
  killed: string[];
  left: string[];
  problems: string[];
  illegal: string[];
  handOvers: number[];
  takeovers: number[];
  leaves: number[];
}

interface Pool {
  version: Version;
  workers: WorkerProcess[];
  /** Workers of the other version, loaded and paused. */
  next: WorkerProcess[];
}

function launchPaused(environment: TurnEnvironment, version: Version): WorkerProcess[] {
  return Array.from({ length: WORKERS }, () =>
    environment.launchWorker({ version, isPaused: true, ...SETTINGS }),
  );
}

async function run({ times: replaced, random, progress }: RunOptions): Promise<Figure[]> {
  const times = Math.ceil(replaced / WORKERS);
  return TurnEnvironment.use(async (environment) => {
    const found: Found = {
      turns: 0,
      moved: 0,
      waited: 0,
      changed: 0,
      echoes: 0,
      removed: 0,
      wrongEcho: 0,
      killed: [],
      left: [],
      problems: [],
      illegal: [],
      handOvers: [],
      takeovers: [],
      leaves: [],
    };
    const workers = await environment.launchReadyWorkers(WORKERS, { version: "a", ...SETTINGS });
    const pool: Pool = { version: "a", workers, next: launchPaused(environment, "b") };
    for (let n = 0; n < times; n++) {
      await deployOnce(environment, pool, {
        name: `d${n}`,
        way: WAYS[n % WAYS.length] ?? "SIGTERM",
        random,
        found,
      });
      const { handOvers, takeovers, leaves, ...rest } = found;
      const medians = { handOver: median(handOvers), takeover: median(takeovers), leave: median(leaves) };
      progress(`${n + 1} of ${times}: ${JSON.stringify({ ...rest, ...medians })}`.slice(0, 500));
    }
    const failures = environment.workers.flatMap((worker) => worker.failures);
    for (const problem of [...found.problems, ...found.illegal, ...new Set(failures)].slice(0, 30))
      progress(problem);
    const ran = new Set((await environment.readEffects()).map(({ key }) => key));
    const unrun = found.left.filter((key) => !ran.has(key));
    const { running, journal } = await environment.countLeftovers();
    return [
      { figure: "workers replaced", value: times * WORKERS, atLeast: replaced },
      { figure: "deploys", value: times, exactly: times },
      { figure: "turns in flight", value: found.turns, atLeast: 8 * times },
      { figure: "turns that continued under other code", value: found.moved, atLeast: times },
      {
        figure: "of those that waited for a user until after the deploy",
        value: found.waited,
        atLeast: Math.floor(times / 3),
      },
      {
        figure: "of those in a call that the new code declares or runs differently",
        value: found.changed,
        atLeast: Math.floor(times / 3),
      },
      {
        figure: "answers that quote the model's instructions and tools",
        value: found.echoes,
        atLeast: 8 * times,
      },
      {
        figure: "of those with other instructions or tools than at the start",
        value: found.wrongEcho,
        exactly: 0,
      },
      {
        figure: "calls of a removed tool that ended as an error",
        value: found.removed,
        atLeast: Math.floor(times / 3),
      },
      { figure: "turns that did not end as planned", value: found.problems.length, exactly: 0 },
      { figure: "events that broke a rule", value: found.illegal.length, exactly: 0 },
      { figure: "tools cut off by kill -9, outcome unknown", value: found.killed.length },
      {
        figure: "tools that ran longer than the shutdown grace period after SIGTERM, outcome unknown",
        value: found.left.length - unrun.length,
      },
      {
        figure: "tools that SIGTERM cut off before they ran, outcome unknown",
        value: unrun.length,
        exactly: 0,
      },
      { figure: "turns left running", value: running, exactly: 0 },
      { figure: "journal rows left", value: journal, exactly: 0 },
      { figure: "hand-overs by SIGTERM", value: found.handOvers.length, atLeast: Math.floor(times / 3) },
      ...(found.handOvers.length === 0
        ? []
        : [
            {
              figure: "hand-over, median",
              value: Math.round(median(found.handOvers)),
              atMost: HAND_OVER_MS,
              unit: "ms",
            },
            {
              figure: "hand-over, slowest, while a non-idempotent tool runs for 10 s",
              value: Math.round(Math.max(...found.handOvers)),
              atMost: SLOWEST_HAND_OVER_MS,
              unit: "ms",
            },
          ]),
      { figure: "slowest worker to shut down", value: Math.round(Math.max(...found.leaves)), unit: "ms" },
      { figure: "takeover after kill -9, median", value: Math.round(median(found.takeovers)), unit: "ms" },
    ];
  });
}

interface Round {
  readonly name: string;
  readonly way: Way;
  readonly random: () => number;
  readonly found: Found;
}

async function deployOnce(
  environment: TurnEnvironment,
  pool: Pool,
  { name, way, random, found }: Round,
): Promise<void> {
  const old = pool.workers;
  const version = pool.version === "a" ? "b" : "a";
  const fresh = pool.next;
  // The next workers load while this round runs.
  pool.next = launchPaused(environment, pool.version);
  await Promise.all(fresh.map((worker) => (way === "mixed" ? worker.begin() : worker.loaded())));
  const plays = await Promise.all(
    plansOf(name, pool.version, way, random).map(async (plan) => {
      const ref = await environment.createSession();
      const follower = environment.follow(ref);
      const versions: Version[] = [];
      /** Versions that had the turn before its first block. One of them journaled the instructions and tools. */
      const beginners = new Set<Version>();
      follower.listeners.add(({ event }) => {
        if (event.type !== "turn.start" && event.type !== "turn.takeover") return;
        const owned = fresh.some((worker) => worker.name === follower.owner) ? version : pool.version;
        versions.push(owned);
        const isSilent = (follower.state.turns.last()?.items.length ?? 0) === 0;
        if (isSilent) beginners.add(owned);
      });
      return { follower, plan, versions, beginners, message: await environment.send(ref, plan) };
    }),
  );
  await until("the turns to start", () =>
    plays.every(({ follower }) => follower.state.turns.last() !== undefined),
  );
  await sleep(random() * 600);
  if (way !== "mixed") await Promise.all(fresh.map((worker) => worker.begin()));
  const [one, ...others] = old;
  // The tool that runs longer than the shutdown grace period delays its own turn. It must not delay the others.
  const followers = plays.flatMap(({ follower, plan }) => (plan.name.endsWith(STUBBORN) ? [] : [follower]));
  if (one !== undefined) {
    await replace(way === "mixed" ? [one] : old, way === "SIGKILL" ? "SIGKILL" : "SIGTERM", followers, found);
  }
  for (const { follower, plan } of plays) {
    if (!isAsked(plan)) continue;
    for (const row of await waitForApprovals(environment, follower.ref, 1))
      await decideApproval(environment.backend, follower.ref, createDecision(row, "approve", "someone"));
  }
  for (const { follower, plan, message, versions, beginners } of plays) {
    await follower.untilEnded(message);
    await environment.untilIdle(follower.ref);
    await follower.stop();
    const { state, illegal } = await environment.checkSession(follower.ref);
    found.illegal.push(...illegal, ...follower.illegal);
    const turn = findTurn(state, message);
    const verdict = turn === undefined ? null : checkPlan(turn, plan, follower.takeovers > 0);
    found.turns++;
    found.problems.push(...(verdict?.problems ?? [`${plan.name}: the turn is missing`]));
    found.removed += verdict?.removed.length ?? 0;
    (way === "SIGKILL" ? found.killed : found.left).push(...(verdict?.unknown ?? []));
    if (new Set(versions).size > 1) {
      found.moved++;
      if (isAsked(plan)) found.waited++;
      if (plan.steps.some(({ calls }) => calls.some((each) => each.tool === "turned"))) found.changed++;
    }
    const final =
      turn === undefined ? undefined : listBlocks(turn).find((block) => block.kind === "text" && block.final);
    const echo = final?.kind === "text" ? parseEcho(final.text) : null;
    if (echo === null) continue;
    found.echoes++;
    const isRight = [...beginners].some(
      (began) =>
        echo.instructions === `You are version ${began}.` && echo.tools.join() === TOOLS[began].join(),
    );
    if (!isRight) found.wrongEcho++;
  }
  if (way === "mixed") await replace(others, "SIGTERM", [], found);
  pool.version = version;
  pool.workers = fresh;
}

/** Stops workers and measures how long their turns have no worker. */
async function replace(
  workers: readonly WorkerProcess[],
  signal: "SIGTERM" | "SIGKILL",
  followers: readonly TurnFollower[],
  found: Found,
): Promise<void> {
  const names = new Set<string | null>(workers.map(({ name }) => name));
  const at = performance.now();
  for (const follower of followers) {
    if (follower.running === undefined || !names.has(follower.owner)) continue;
    const onEntry: Listener = ({ event }) => {
      if (event.type !== "turn.takeover" && event.type !== "turn.end") return;
      follower.listeners.delete(onEntry);
      if (event.type !== "turn.takeover") return;
      (signal === "SIGTERM" ? found.handOvers : found.takeovers).push(performance.now() - at);
    };
    follower.listeners.add(onEntry);
  }
  await Promise.all(
    workers.map(async (worker) => {
      worker.signal(signal);
      await worker.exited;
      if (signal === "SIGTERM") found.leaves.push(performance.now() - at);
    }),
  );
}

const isAsked = ({ steps }: Plan): boolean =>
  steps.some(({ calls }) => calls.some((each) => each.tool === "asked"));

/**
 * Plans that are interrupted in a slow tool, in a non-idempotent tool, in backoff, between quick steps, in a sub-agent,
 * in mid-stream and while waiting for a user. Further plans call tools that the other version hides, shows, lacks or
 * defines differently. With SIGTERM, one tool runs longer than the shutdown grace period.
 */
function plansOf(name: string, version: Version, way: Way, random: () => number): Plan[] {
  const removedTool = version === "a" ? "extra" : "added";
  const tool = (key: string, kind: PlanTool, ms: number): PlanCall => ({
    tool: kind,
    key: `${name}.${key}`,
    ms,
  });
  const step = (...calls: PlanCall[]) => ({ think: randomText(random, 4), text: "", calls });
  const plan = (kind: string, steps: Plan["steps"], more: Partial<Plan> = {}): Plan => {
    const final = `Done with ${name}.${kind}`;
    return { name: `${name}.${kind}`, steps, final, paceMs: 5, echo: true, ...more };
  };
  const sub = (kind: string): Plan => ({
    name: `${name}.${kind}`,
    steps: [step(tool(`${kind}.a`, "again", 1_200), tool(`${kind}.b`, "again", 300))],
    final: `Answer of ${name}.${kind}`,
    paceMs: 10,
  });
  const others: PlanCall[] =
    version === "a"
      ? [
          tool("veiled", "veiled", 1_200),
          { tool: "passing", plan: sub("passing") },
          { tool: "turning", plan: sub("turning") },
        ]
      : [tool("turning", "turning", 1_200)];
  const quick = Array.from({ length: 12 }, (_, n) => step(tool(`quick.${n}`, "again", 60 + random() * 60)));
  return [
    plan("slow", [step(tool("slow", "again", 1_200)), step(tool("slow.removed", removedTool, 10))]),
    plan("once", [
      step(tool("once.a", "once", 500)),
      step(tool("once.b", "once", 500)),
      step(tool("once.c", "once", 500)),
    ]),
    ...(way === "SIGTERM" ? [plan(STUBBORN, [step(tool(STUBBORN, "once", STUBBORN_MS))])] : []),
    plan("busy", [step(tool("busy", "again", 20))], { busy: { step: 1, times: 1, ms: 900 } }),
    plan("quick", quick),
    plan("sub", [step({ tool: "helper", plan: sub("sub") })]),
    plan("stream", [step(tool("stream", "again", 50))], {
      final: `Done ${randomText(random, 60)}`,
      paceMs: 40,
    }),
    plan("asked", [step({ tool: "asked", key: `${name}.asked`, ms: 20, wait: 300 })]),
    plan("changed", [step(tool("turned", "turned", 1_200), ...others)]),
  ];
}

export const deploy: Scenario = {
  promise: 29,
  about: "replaces workers with ones that run changed code while turns are in flight",
  times: 30 * WORKERS,
  short: 4,
  run,
};
