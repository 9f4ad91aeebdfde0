/**
 * `playFullRounds` lets a server run out of space while turns run, and frees space some seconds later.
 *
 * Invariant: turns wait and end well afterwards, no tool runs twice, and workers and readiness report the outage.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { until } from "@turnstream/testkit/util/until.ts";
import { Figures } from "./figures.ts";
import type { GatewayEnvironment } from "./gateway-environment.ts";
import type { Figure, RunOptions } from "./scenario.ts";
import { TurnLoad } from "./turn-load.ts";
import { randomPlan } from "./turn-plan.ts";

const WORKERS = 2;
const TURNS = 6;
const SLOWNESS = 0.5;
/** Longer than the time after which a refusal is reported. */
const FULL_MS = 8_000;
/** A busy machine needs longer until the gateway has tried a write. */
const MAX_FULL_MS = 40_000;
const FILL_AGAIN_MS = 100;

/** Something that can be full. */
export interface Space {
  readonly name: string;
  /** What a worker reports then. */
  readonly report: RegExp;
  /** Takes all free space. It is repeated, because a server may have freed some. */
  fill(): unknown;
  free(): Promise<unknown>;
}

/** @param options of the rounds. Each fills the next one of `spaces`. `killsWorker` lets every second round kill a worker */
export async function playFullRounds(
  environment: GatewayEnvironment,
  spaces: readonly Space[],
  { times, random, progress, killsWorker }: RunOptions & { readonly killsWorker: boolean },
): Promise<Figure[]> {
  const { turns } = environment;
  const expected = Object.fromEntries(
    spaces.flatMap(({ name }, at) => {
      const rounds = Math.ceil((times - at) / spaces.length);
      return [`${name}: reported by a living worker`, `${name}: reported by readiness`].map(
        (figure) => [figure, { exactly: rounds }] as const,
      );
    }),
  );
  const figures = new Figures<string>(progress, expected);
  const load = new TurnLoad(turns, progress, times * TURNS);
  const gateway = await environment.launchGateway();
  for (let n = 0; n < times; n++) {
    const space = spaces[n % spaces.length] as Space;
    await turns.keepReadyWorkers(WORKERS);
    const plans = Array.from({ length: TURNS }, (_, t) => randomPlan(`r${n}.${t}`, random, SLOWNESS));
    const sent = await Promise.all(plans.map((plan) => load.send(plan)));
    await until("a running turn", () => sent.some(({ follower }) => follower.running !== undefined));
    await sleep(random() * 500);
    // Workers report outages that follow each other soon as one, so reports of earlier rounds of a living worker count.
    const isReported = () =>
      turns.workers.some(
        (worker) => !worker.hasExited && worker.failures.some((text) => space.report.test(text)),
      );
    let [wasUnready, mayKill] = [false, killsWorker && n % 2 === 1];
    await keepFull(space, async (elapsedMs) => {
      if (mayKill && elapsedMs > FULL_MS / 2) {
        mayKill = false;
        await turns.readyWorkers[0]?.kill();
      }
      wasUnready ||= await isUnready(environment, gateway.url);
      return wasUnready && isReported();
    });
    if (isReported()) figures.add(`${space.name}: reported by a living worker`);
    if (wasUnready) figures.add(`${space.name}: reported by readiness`);
    turns.keepWorkers(WORKERS);
    await Promise.all(sent.map((each) => load.judge(each)));
    await until("the gateway to be ready", async () => (await fetch(`${gateway.url}/readyz`)).ok);
    figures.print(`${n + 1} of ${times}`);
  }
  return [...figures.list(), ...(await load.figures())];
}

/** Keeps the space full for a while, and until `check` is true or the longest time has passed. */
async function keepFull(space: Space, check: (elapsedMs: number) => Promise<boolean>): Promise<void> {
  const started = performance.now();
  let isFound = false;
  try {
    for (let elapsedMs = 0; elapsedMs < FULL_MS || (!isFound && elapsedMs < MAX_FULL_MS);) {
      await space.fill();
      await sleep(FILL_AGAIN_MS);
      elapsedMs = performance.now() - started;
      isFound = await check(elapsedMs);
    }
  } finally {
    await space.free();
  }
}

/** Creates sessions through the gateway, more than fit into a page of their table, and then asks whether it is ready. */
async function isUnready(environment: GatewayEnvironment, url: string): Promise<boolean> {
  const { headers } = environment.endpoint({ url });
  const json = { ...headers, "content-type": "application/json" };
  const body = JSON.stringify({ title: "x".repeat(200) });
  const create = () => fetch(`${url}/api/v1/sessions`, { method: "POST", headers: json, body });
  await Promise.all(Array.from({ length: 20 }, create));
  return (await fetch(`${url}/readyz`)).status === 503;
}
