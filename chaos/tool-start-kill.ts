/**
 * `toolStartKill` tests promise 28 for tools: a committed start or result is shown, once. Each worker reaches Redis
 * through its own slow proxy. The test waits until the start or the result of a tool is in the journal and not yet in
 * the log. Then the proxy drops what is in flight, and the worker is killed with -9.
 */
import { listBlocks, type EventType, type Json } from "@turnstream/protocol";
import type { LogEntry } from "@turnstream/server/internal";
import { until } from "@turnstream/testkit/util/until.ts";
import { startProxy, type TcpProxy } from "@turnstream/testkit/network/tcp-proxy.ts";
import { checkPlan } from "./check-plan.ts";
import type { Figure, RunOptions, Scenario } from "./scenario.ts";
import type { TurnFollower } from "./turn-follower.ts";
import type { Plan, PlanCall } from "./turn-plan.ts";
import { TurnEnvironment, findTurn } from "./turn-environment.ts";
import type { WorkerProcess } from "./worker-process.ts";

const WORKERS = 4;
const CONCURRENCY = 2;
const TURNS = 2;
/** Shorter than the default, so that two hundred rounds end in time. */
const TTL_MS = 1_500;
/** Longer than it takes to see a row and to kill the worker. */
const DELAY_MS = 20;

type Aim = "start" | "call";
/** The event that must not have been in the log yet. */
const UNTOLD: Readonly<Record<Aim, EventType>> = { start: "tool_result.start", call: "tool_result.end" };

interface Found {
  kills: number;
  between: Record<Aim, number>;
  calls: number;
  problems: string[];
  illegal: string[];
}

class Pool {
  readonly #environment: TurnEnvironment;
  readonly #proxies = new Map<WorkerProcess, TcpProxy>();

  constructor(environment: TurnEnvironment) {
    this.#environment = environment;
  }

  /** Starts the missing workers. */
  async keep(): Promise<void> {
    const exited = [...this.#proxies.keys()].filter((worker) => worker.hasExited);
    for (const worker of exited) await this.bury(worker);
    while (this.#proxies.size < WORKERS) await this.#launch();
  }

  async #launch(): Promise<void> {
    const { port } = new URL(this.#environment.backend.redisUrl);
    const proxy = await startProxy({ to: { host: "127.0.0.1", port: Number(port) } });
    proxy.delay(DELAY_MS);
    this.#proxies.set(
      this.#environment.launchWorker({ redisUrl: `redis://127.0.0.1:${proxy.port}`, ttlMs: TTL_MS }),
      proxy,
    );
  }

  /** How many workers could take over. */
  get ready(): number {
    return [...this.#proxies.keys()].filter((worker) => !worker.hasExited && worker.isReady).length;
  }

  /** Kills a worker immediately. Data that it has sent and that has not arrived is lost. */
  kill(name: string | null): WorkerProcess | null {
    const entry = [...this.#proxies].find(([worker]) => worker.name === name && !worker.hasExited);
    entry?.[1].blackhole();
    entry?.[0].signal("SIGKILL");
    return entry?.[0] ?? null;
  }

  async bury(worker: WorkerProcess): Promise<void> {
    await worker.exited;
    const proxy = this.#proxies.get(worker);
    this.#proxies.delete(worker);
    await proxy?.close();
  }

  async close(): Promise<void> {
    for (const [worker, proxy] of this.#proxies) {
      if (!worker.hasExited) await worker.kill();
      await proxy.close();
    }
  }
}

async function run({ times, random, progress }: RunOptions): Promise<Figure[]> {
  return TurnEnvironment.use(async (environment) => {
    const pool = new Pool(environment);
    const found: Found = {
      kills: 0,
      between: { start: 0, call: 0 },
      calls: 0,
      problems: [],
      illegal: [],
    };
    try {
      await pool.keep();
      let tries = 0;
      let wanted = 0;
      const work = async (): Promise<void> => {
        while (wanted < times) {
          if (tries > 2 * times) throw new Error("too few kills hit the moment between journal and log");
          await until("two workers", async () => {
            await pool.keep();
            return pool.ready >= 2;
          });
          const aim = wanted++ % 2 === 0 ? "start" : "call";
          if (!(await killOnce(environment, pool, `k${tries++}`, aim, random, found))) wanted--;
          progress(`${found.kills} of ${times}: ${JSON.stringify(found)}`.slice(0, 400));
        }
      };
      await Promise.all(Array.from({ length: CONCURRENCY }, work));
    } finally {
      await pool.close();
    }
    for (const problem of [...found.problems, ...found.illegal].slice(0, 20)) progress(problem);
    const { running, journal } = await environment.countLeftovers();
    const share = Math.floor(times * 0.4);
    return [
      { figure: "kills", value: found.kills, exactly: times },
      {
        figure: "kills between a committed start and its append",
        value: found.between.start,
        atLeast: share,
      },
      {
        figure: "kills between a committed result and its append",
        value: found.between.call,
        atLeast: share,
      },
      { figure: "tool calls", value: found.calls, atLeast: times },
      {
        figure: "tool calls not shown once with the right outcome",
        value: found.problems.length,
        exactly: 0,
      },
      { figure: "events that broke a rule", value: found.illegal.length, exactly: 0 },
      { figure: "turns left running", value: running, exactly: 0 },
      { figure: "journal rows left", value: journal, exactly: 0 },
    ];
  });
}

interface Play {
  readonly follower: TurnFollower;
  readonly entries: readonly LogEntry[];
  readonly plan: Plan;
  readonly message: string;
}

async function killOnce(
  environment: TurnEnvironment,
  pool: Pool,
  name: string,
  aim: Aim,
  random: () => number,
  found: Found,
): Promise<boolean> {
  const plays: Play[] = [];
  for (let n = 0; n < TURNS; n++) {
    const ref = await environment.createSession();
    const plan = planOf(`${name}.${n}`, random);
    const follower = environment.follow(ref);
    const entries: LogEntry[] = [];
    follower.listeners.add((entry) => entries.push(entry));
    plays.push({ follower, entries, plan, message: await environment.send(ref, plan) });
  }
  const hit = await killAtRow(environment, pool, plays, aim);
  if (hit !== null) {
    found.kills++;
    await pool.bury(hit.victim);
    await pool.keep();
  }
  for (const play of plays) await check(environment, play, hit, aim, found);
  return hit !== null;
}

/** A plan with idempotent and non-idempotent tools, side by side. */
function planOf(name: string, random: () => number): Plan {
  const tool = (key: string): PlanCall => ({
    tool: "once",
    key: `${name}.${key}`,
    ms: Math.floor(20 + random() * 100),
  });
  const again: PlanCall = { tool: "again", key: `${name}.c`, ms: 50 };
  const steps = [{ think: "one", text: "", calls: [tool("a"), tool("b"), again] }];
  return { name, steps, final: `Done with ${name}`, paceMs: 3 };
}

interface Hit {
  readonly victim: WorkerProcess;
  readonly session: string;
  readonly call: string;
  /** Whether the committed result is a success. An earlier kill may have cut the tool off. */
  readonly isSuccess: boolean;
}

/** Polls the journal until it contains a row whose event is not in the log, and kills the worker in that moment. */
async function killAtRow(
  environment: TurnEnvironment,
  pool: Pool,
  plays: readonly Play[],
  aim: Aim,
): Promise<Hit | null> {
  const isOver = ({ follower }: Play) => (follower.state.turns.last()?.status ?? "running") !== "running";
  while (!plays.every(isOver)) {
    for (const { follower } of plays) {
      const { running, ref, owner } = follower;
      if (running === undefined) continue;
      const rows = await environment.backend.store.journal.read(ref, running.id);
      for (const { key, value } of rows) {
        const call = key.startsWith(`${aim}/`) ? key.slice(aim.length + 1) : null;
        if (call === null || isPublished(follower, call, aim)) continue;
        const victim = pool.kill(owner);
        if (victim !== null) {
          return { victim, session: ref.session, call, isSuccess: statusIn(value) === "success" };
        }
      }
    }
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  return null;
}

function isPublished({ running }: TurnFollower, call: string, aim: Aim): boolean {
  const results =
    running === undefined ? [] : listBlocks(running).filter((block) => block.kind === "tool_result");
  return results.some((block) => block.call === call && (aim === "start" || block.end !== null));
}

async function check(
  environment: TurnEnvironment,
  play: Play,
  hit: Hit | null,
  aim: Aim,
  found: Found,
): Promise<void> {
  const { follower, plan, message, entries } = play;
  await follower.untilEnded(message);
  await environment.untilIdle(follower.ref);
  await follower.stop();
  const { state, illegal } = await environment.checkSession(follower.ref);
  found.illegal.push(...illegal, ...follower.illegal);
  const turn = findTurn(state, message);
  if (turn === undefined) {
    found.problems.push(`${plan.name}: the turn is missing`);
    return;
  }
  const { problems, unknown, done } = checkPlan(turn, plan, follower.takeovers > 0);
  found.problems.push(...problems);
  const keys = plan.steps.flatMap(({ calls }) => calls.flatMap((each) => ("key" in each ? [each.key] : [])));
  found.calls += keys.length;
  const effects = (await environment.readEffects()).filter(({ key }) => keys.includes(key));
  const once = keys.filter((key) => !key.endsWith(".c"));
  for (const key of once) {
    const count = effects.filter((effect) => effect.key === key).length;
    if (count > 1) found.problems.push(`${key} took effect ${count} times`);
  }
  if (hit === null || hit.session !== follower.ref.session) return;
  // If the dead worker had already published the event, the kill was not in between.
  if (hasPublished(entries, hit, UNTOLD[aim])) return;
  found.between[aim]++;
  const planned = plannedOf(turn, hit.call);
  if (planned === null) return;
  // A tool runs only after its start is in the log. This one never ran, and no worker starts it again.
  if (aim === "start" && !unknown.includes(planned))
    found.problems.push(`${planned}: a committed start is missing`);
  if (aim === "start" && effects.some(({ key }) => key === planned))
    found.problems.push(`${planned}: ran without a start in the log`);
  if (aim === "start") return;
  const isStored = (hit.isSuccess ? done : unknown).includes(planned);
  if (!isStored) found.problems.push(`${planned}: a committed result is missing`);
  const count = effects.filter(({ key }) => key === planned).length;
  if (hit.isSuccess && count < 1) found.problems.push(`${planned}: a result without an effect`);
}

function hasPublished(entries: readonly LogEntry[], { victim, call }: Hit, type: EventType): boolean {
  const blocks = new Set<string>();
  for (const { event, writer } of entries) {
    if (event.type === "tool_result.start" && event.call === call) blocks.add(event.block);
    const isIt = event.type === type && "block" in event && blocks.has(event.block);
    if (isIt && writer.startsWith(`${victim.name}.`)) return true;
  }
  return false;
}

function statusIn(value: Json): Json | undefined {
  return typeof value === "object" && value !== null && "status" in value ? value["status"] : undefined;
}

/** Returns the plan key of a call. */
function plannedOf(turn: Parameters<typeof listBlocks>[0], call: string): string | null {
  const block = listBlocks(turn).find((each) => each.kind === "tool_call" && each.call === call);
  const input = block?.kind === "tool_call" ? block.input : null;
  const key = typeof input === "object" && input !== null && "key" in input ? input["key"] : null;
  return typeof key === "string" ? key : null;
}

export const toolStartKill: Scenario = {
  promise: 28,
  about: "kills workers with -9 between the commit of a tool's start or result and its append",
  times: 200,
  short: 4,
  run,
};
