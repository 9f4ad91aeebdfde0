/**
 * `toolStartKill` tests promise 28 for tools: a committed start or result is shown, once. Each worker reaches Redis
 * through its own slow proxy. The test waits until the start or the result of a tool is in the journal and not yet in
 * the log. Then the proxy drops what is in flight, and the worker is killed with -9.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { listBlocks, type Turn } from "@turnstream/protocol";
import type { TcpProxy } from "@turnstream/testkit/network/tcp-proxy.ts";
import { until } from "@turnstream/testkit/util/until.ts";
import type { RunOptions, Scenario } from "./scenario.ts";
import { findTurn, type TurnEnvironment } from "./turn-environment.ts";
import type { TurnFollower } from "./turn-follower.ts";
import { type JudgedTurn, type LoadedTurn, runTurns } from "./turn-load.ts";
import type { Plan, PlanTool } from "./turn-plan.ts";
import type { WorkerProcess } from "./worker-process.ts";

const WORKERS = 4;
const CONCURRENCY = 2;
const TURNS = 2;
/** Shorter than the default, so that two hundred rounds end in time. */
const TTL_MS = 1_500;
/** Longer than it takes to see a row and to kill the worker. */
const DELAY_MS = 20;

/** The prefix of a row in the journal: a started call, or one with a result. */
type Aim = "start" | "call";

/** A committed row whose worker was killed. */
interface Hit {
  readonly victim: WorkerProcess;
  readonly turn: LoadedTurn;
  readonly call: string;
  /** Whether the committed result is a success. An earlier kill may have cut the tool off. */
  readonly isSuccess: boolean;
}

async function run(options: RunOptions) {
  const { times } = options;
  const share = { atLeast: Math.floor(times * 0.4) };
  const bounds = {
    kills: { exactly: times },
    "kills between a committed start and its append": share,
    "kills between a committed result and its append": share,
    "committed starts and results not shown with the right outcome": { exactly: 0 },
  };
  return runTurns(options, bounds, async ({ environment, load, figures, random }) => {
    const workers = new SlowWorkers(environment);
    let wanted = 0;
    let tries = 0;
    const work = async (): Promise<void> => {
      while (wanted < times) {
        if (tries > 2 * times) throw new Error("too few kills hit the moment between journal and log");
        await workers.keep();
        const aim = wanted++ % 2 === 0 ? "start" : "call";
        const name = `k${tries++}`;
        const plans = Array.from({ length: TURNS }, (_, n) => createPlan(`${name}.${n}`, random));
        const turns = await Promise.all(plans.map((plan) => load.send(plan)));
        const hit = await killAtRow(environment, workers, turns, aim);
        const isBetween = hit !== null && !(await isInLog(environment, hit, aim));
        if (hit === null) wanted--;
        else figures.add("kills");
        for (const turn of turns) {
          const judged = await load.judge(turn);
          if (!isBetween || hit.turn !== turn) continue;
          const what = aim === "start" ? "start" : "result";
          figures.add(`kills between a committed ${what} and its append`);
          figures.report(
            "committed starts and results not shown with the right outcome",
            await checkHit(environment, hit, judged, aim),
          );
        }
        figures.print(`${figures.get("kills")} of ${times}`);
      }
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, work));
  });
}

/** Workers that reach Redis through a slow proxy each. */
class SlowWorkers {
  readonly #environment: TurnEnvironment;
  readonly #proxies = new Map<WorkerProcess, TcpProxy>();

  constructor(environment: TurnEnvironment) {
    this.#environment = environment;
  }

  /** Starts the missing workers, and waits until one of them could take over from another. */
  async keep(): Promise<void> {
    while (this.#environment.workers.filter(({ isDown }) => !isDown).length < WORKERS) {
      const { proxy, redisUrl } = await this.#environment.startRedisProxy(DELAY_MS);
      this.#proxies.set(this.#environment.launchWorker({ redisUrl, ttlMs: TTL_MS }), proxy);
    }
    await until("two workers", () => this.#environment.readyWorkers.length >= 2);
  }

  /** Kills the worker of a turn immediately. Data that it has sent and that has not arrived is lost. */
  killOwner(follower: TurnFollower): WorkerProcess | undefined {
    const worker = this.#environment.findOwner(follower);
    if (worker !== undefined) this.#proxies.get(worker)?.blackhole();
    worker?.signal("SIGKILL");
    return worker;
  }
}

/** A plan with idempotent and non-idempotent tools, side by side. */
function createPlan(name: string, random: () => number): Plan {
  const tool = (key: string, kind: PlanTool) =>
    ({ tool: kind, key: `${name}.${key}`, ms: Math.floor(20 + random() * 100) }) as const;
  const calls = [tool("a", "once"), tool("b", "once"), tool("c", "again")];
  return { name, steps: [{ think: "one", text: "", calls }], final: `Done with ${name}`, paceMs: 3 };
}

/** Polls the journal until it contains a row whose event is not in the log, and kills the worker in that moment. */
async function killAtRow(
  environment: TurnEnvironment,
  workers: SlowWorkers,
  turns: readonly LoadedTurn[],
  aim: Aim,
): Promise<Hit | null> {
  while (turns.some(({ follower }) => (follower.state.turns.last()?.status ?? "running") === "running")) {
    for (const turn of turns) {
      const { running, ref } = turn.follower;
      if (running === undefined) continue;
      for (const { key, value } of await environment.backend.store.journal.read(ref, running.id)) {
        const call = key.startsWith(`${aim}/`) ? key.slice(aim.length + 1) : null;
        if (call === null || isShown(turn.follower.running, call, aim)) continue;
        const victim = workers.killOwner(turn.follower);
        const isSuccess = (value as { readonly status?: string } | null)?.status === "success";
        if (victim !== undefined) return { victim, turn, call, isSuccess };
      }
    }
    await sleep(1);
  }
  return null;
}

function isShown(turn: Turn | undefined, call: string, aim: Aim): boolean {
  const blocks = turn === undefined ? [] : listBlocks(turn);
  return blocks.some(
    (block) => block.kind === "tool_result" && block.call === call && (aim === "start" || block.end !== null),
  );
}

/** Reads whether the dead worker had published the event after all. Another one can't have done so yet. */
async function isInLog(
  environment: TurnEnvironment,
  { victim, turn, call }: Hit,
  aim: Aim,
): Promise<boolean> {
  await victim.exited;
  const { state } = await environment.checkSession(turn.follower.ref);
  return isShown(findTurn(state, turn.message), call, aim);
}

async function checkHit(
  environment: TurnEnvironment,
  { call, isSuccess }: Hit,
  { turn, done, unknown }: JudgedTurn,
  aim: Aim,
): Promise<string[]> {
  const block = listBlocks(turn).find((each) => each.kind === "tool_call" && each.call === call);
  // A call of a superseded step is not in the turn.
  if (block?.kind !== "tool_call") return [];
  const { key } = block.input as { readonly key: string };
  if (aim === "call") {
    const isStored = (isSuccess ? done : unknown).includes(key);
    return isStored ? [] : [`${key}: a committed result is missing`];
  }
  // A tool runs only after its start is in the log. This one never ran, and no worker starts it again.
  const hasRun = (await environment.countEffects()).has(key);
  return [
    ...(unknown.includes(key) ? [] : [`${key}: a committed start is missing`]),
    ...(hasRun ? [`${key}: ran without a start in the log`] : []),
  ];
}

export const toolStartKill: Scenario = {
  promise: 28,
  about: "kills workers with -9 between the commit of a tool's start or result and its append",
  times: 200,
  short: 4,
  run,
};
