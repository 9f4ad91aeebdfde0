/**
 * `deploy` tests promise 29: turns continue while the code of their agent changes. Workers of one version are replaced
 * by workers of the other, which has other instructions, tools and sub-agents. They are replaced by SIGTERM, by kill
 * -9, or only some of them, so that both versions run at once.
 *
 * Invariant: a turn keeps the instructions and tools of its first block that no takeover superseded. A call to a
 * removed tool ends as an error that the model can read. A turn that waits for a user continues when the user decides
 * after the deploy.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { listBlocks } from "@turnstream/protocol";
import { decideApproval } from "@turnstream/server";
import { until } from "@turnstream/testkit/util/until.ts";
import { waitForApprovals, createDecision } from "./approval-turn.ts";
import { measureTakeovers } from "./at-moment.ts";
import { parseEcho } from "./plan-script.ts";
import type { RunOptions, Scenario } from "./scenario.ts";
import type { TurnFollower } from "./turn-follower.ts";
import { type LoadedTurn, runTurns, type TurnRun } from "./turn-load.ts";
import { type Plan, type PlanCall, type PlanTool, randomText } from "./turn-plan.ts";
import { median } from "@turnstream/testkit/util/median.ts";
import type { WorkerProcess } from "./worker-process.ts";

const WORKERS = 2;
/** Shorter than the default, so that many rounds end in time. A hand-over never waits for the lease. */
const TTL_MS = 1_500;
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

function createBounds(times: number) {
  const third = { atLeast: Math.floor(times / 3) };
  return {
    "workers replaced": { exactly: times * WORKERS },
    "turns that continued under other code": { atLeast: times },
    "of those that waited for a user until after the deploy": third,
    "of those in a call that the new code declares or runs differently": third,
    "answers that quote the model's instructions and tools": { atLeast: 8 * times },
    "of those with other instructions or tools than at the start": { exactly: 0 },
    "calls of a removed tool that ended as an error": third,
    "tools that SIGTERM cut off before they ran, outcome unknown": { exactly: 0 },
    "hand-overs by SIGTERM": third,
    "hand-over, median": { atMost: HAND_OVER_MS, unit: "ms" },
    "hand-over, slowest, while a non-idempotent tool runs for 10 s": {
      atMost: SLOWEST_HAND_OVER_MS,
      unit: "ms",
    },
    "takeover after kill -9, median": { unit: "ms" },
  };
}

type Run = TurnRun<keyof ReturnType<typeof createBounds>>;

async function run({ times: replaced, ...options }: RunOptions) {
  const times = Math.ceil(replaced / WORKERS);
  return runTurns({ times, ...options }, createBounds(times), async (turnRun) => {
    const deploys = new Deploys(turnRun);
    await deploys.start();
    for (let n = 0; n < times; n++) {
      await deploys.deploy(`d${n}`, WAYS[n % WAYS.length] ?? "SIGTERM");
      turnRun.figures.print(`${n + 1} of ${times}`);
    }
  });
}

/** A turn in flight, and the versions of the workers that had it. */
interface MovingTurn extends LoadedTurn {
  readonly versions: ReadonlySet<Version>;
  /** Versions that had the turn before a block that stayed. One of them journaled the instructions and tools. */
  readonly beginners: ReadonlySet<Version>;
}

class Deploys {
  readonly #run: Run;
  readonly #handOvers: number[] = [];
  readonly #takeovers: number[] = [];
  readonly #versions = new Map<string | null, Version>();
  #version: Version = "a";
  #workers: WorkerProcess[] = [];
  /** Workers of the other version, loaded and paused. */
  #next: WorkerProcess[] = [];

  constructor(turnRun: Run) {
    this.#run = turnRun;
  }

  async start(): Promise<void> {
    this.#workers = this.#launch("a");
    this.#next = this.#launch("b");
    await Promise.all(this.#workers.map((worker) => worker.begin()));
  }

  async deploy(name: string, way: Way): Promise<void> {
    const [old, fresh, version] = [this.#workers, this.#next, this.#version];
    this.#version = version === "a" ? "b" : "a";
    this.#workers = fresh;
    // The next workers load while this round runs.
    this.#next = this.#launch(version);
    await Promise.all(fresh.map((worker) => (way === "mixed" ? worker.begin() : worker.loaded())));
    const plans = createPlans(name, version, way, this.#run.random);
    const turns = await Promise.all(plans.map((plan) => this.#send(plan)));
    await until("the turns to start", () =>
      turns.every(({ follower }) => follower.state.turns.last() !== undefined),
    );
    await sleep(this.#run.random() * 600);
    if (way !== "mixed") await Promise.all(fresh.map((worker) => worker.begin()));
    // The tool that runs longer than the shutdown grace period delays its own turn. It must not delay the others.
    const measured = turns.flatMap(({ follower, plan }) => (plan.name.endsWith(STUBBORN) ? [] : [follower]));
    const isMixed = way === "mixed";
    await this.#replace(isMixed ? old.slice(0, 1) : old, isMixed ? "SIGTERM" : way, measured);
    for (const { follower, plan } of turns) {
      if (!hasCall(plan, "asked")) continue;
      for (const row of await waitForApprovals(this.#run.environment, follower.ref, 1))
        await decideApproval(
          this.#run.environment.backend,
          follower.ref,
          createDecision(row, "approve", "someone"),
        );
    }
    for (const turn of turns) await this.#judge(turn, way);
    if (isMixed) await this.#replace(old.slice(1), "SIGTERM", []);
  }

  #launch(version: Version): WorkerProcess[] {
    const settings = { version, isPaused: true, asks: true, ttlMs: TTL_MS };
    const workers = Array.from({ length: WORKERS }, () => this.#run.environment.launchWorker(settings));
    for (const { name } of workers) this.#versions.set(name, version);
    return workers;
  }

  async #send(plan: Plan): Promise<MovingTurn> {
    const follower = this.#run.environment.follow(await this.#run.environment.createSession());
    const versions = new Set<Version>();
    const beginners = new Set<Version>();
    follower.listeners.add(({ event }) => {
      if (event.type !== "turn.start" && event.type !== "turn.takeover") return;
      const version = this.#versions.get(follower.owner) ?? "a";
      versions.add(version);
      const items = follower.running?.items.toArray() ?? [];
      if (items.every((item) => item === null || item.kind === "superseded")) beginners.add(version);
    });
    return { ...(await this.#run.load.send(plan, follower)), versions, beginners };
  }

  /** Stops workers and measures how long their turns have no worker. */
  async #replace(
    workers: readonly WorkerProcess[],
    signal: "SIGTERM" | "SIGKILL",
    measured: readonly TurnFollower[],
  ): Promise<void> {
    const hit = workers.flatMap((worker) => this.#run.environment.listTurns(worker));
    measureTakeovers(
      hit.filter((follower) => measured.includes(follower)),
      (tookMs) => {
        (signal === "SIGTERM" ? this.#handOvers : this.#takeovers).push(tookMs);
        if (signal === "SIGKILL")
          return this.#run.figures.set("takeover after kill -9, median", median(this.#takeovers));
        this.#run.figures.add("hand-overs by SIGTERM");
        this.#run.figures.set("hand-over, median", median(this.#handOvers));
        this.#run.figures.raise("hand-over, slowest, while a non-idempotent tool runs for 10 s", tookMs);
      },
    );
    for (const worker of workers) worker.signal(signal);
    await Promise.all(workers.map((worker) => worker.exited));
    this.#run.figures.add("workers replaced", workers.length);
  }

  async #judge(moving: MovingTurn, way: Way): Promise<void> {
    const { plan, versions, beginners } = moving;
    const { turn, unknown, removed } = await this.#run.load.judge(moving);
    this.#run.figures.add("calls of a removed tool that ended as an error", removed.length);
    if (way !== "SIGKILL") {
      // The others ran longer than the shutdown grace period.
      const effects = await this.#run.environment.countEffects();
      const unrun = unknown.filter((key) => !effects.has(key));
      this.#run.figures.report("tools that SIGTERM cut off before they ran, outcome unknown", unrun);
    }
    if (versions.size > 1) {
      this.#run.figures.add("turns that continued under other code");
      if (hasCall(plan, "asked"))
        this.#run.figures.add("of those that waited for a user until after the deploy");
      if (hasCall(plan, "turned"))
        this.#run.figures.add("of those in a call that the new code declares or runs differently");
    }
    const final = listBlocks(turn).find((block) => block.kind === "text" && block.final);
    const echo = final?.kind === "text" ? parseEcho(final.text) : null;
    if (echo === null) return;
    this.#run.figures.add("answers that quote the model's instructions and tools");
    const isRight = [...beginners].some(
      (began) =>
        echo.instructions === `You are version ${began}.` && echo.tools.join() === TOOLS[began].join(),
    );
    if (!isRight)
      this.#run.figures.report("of those with other instructions or tools than at the start", [
        `${plan.name}: began in ${[...beginners].join()}, ended with ${JSON.stringify(echo)}`,
      ]);
  }
}

function hasCall({ steps }: Plan, tool: PlanCall["tool"]): boolean {
  return steps.some(({ calls }) => calls.some((call) => call.tool === tool));
}

/**
 * Plans that are interrupted in a slow tool, in a non-idempotent tool, in backoff, between quick steps, in a sub-agent,
 * in mid-stream and while waiting for a user. Further plans call tools that the other version hides, shows, lacks or
 * defines differently. With SIGTERM, one tool runs longer than the shutdown grace period.
 */
function createPlans(name: string, version: Version, way: Way, random: () => number): Plan[] {
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
