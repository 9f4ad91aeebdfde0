/**
 * `diskFull` fills the disk of PostgreSQL while turns run, and in every second round the disk of Redis, so that it can't
 * write its append-only file. Some seconds later there is space again.
 *
 * Invariant: turns wait and end well afterwards, no tool runs twice, and workers and readiness report the outage. With
 * `appendfsync always` Redis exits instead of refusing writes, so this Redis has `everysec`.
 */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { SessionRef } from "@turnstream/server";
import { mountSmallDisk, type SmallDisk } from "@turnstream/testkit/servers/small-disk.ts";
import { until } from "@turnstream/testkit/util/until.ts";
import { checkPlan } from "./check-plan.ts";
import { GatewayEnvironment } from "./gateway-environment.ts";
import type { Figure, RunOptions, Scenario } from "./scenario.ts";
import { listOnceKeys, type Plan, randomPlan } from "./turn-plan.ts";

const WORKERS = 2;
const TURNS = 6;
const SLOWNESS = 0.5;
/** Longer than the time after which a refusal is reported. */
const FULL_MS = 8_000;
/** A busy machine needs longer until the gateway has tried a write. */
const MAX_FULL_MS = 40_000;
const FILL_AGAIN_MS = 100;
const TURN_MS = 240_000;
/** Space for the files of a new database and some segments of its log. */
const POSTGRES_MB = 250;
const REDIS_MB = 20;
const REPORTS = {
  postgres: /the disk of PostgreSQL is full/,
  redis: /refuses writes \(MISCONF\)/,
};

type Server = keyof typeof REPORTS;

export const diskFull: Scenario = {
  promise: 33,
  about: "fills the disks of PostgreSQL and Redis under load: turns wait, and end well when there is space",
  times: 30,
  short: 2,
  run,
};

interface Found {
  turns: number;
  readonly problems: string[];
  readonly illegal: string[];
  readonly onceKeys: Set<string>;
  readonly reported: Record<Server, number>;
  readonly unready: Record<Server, number>;
}

async function run(options: RunOptions): Promise<Figure[]> {
  const disks = { postgres: await mountSmallDisk(POSTGRES_MB), redis: await mountSmallDisk(REDIS_MB) };
  try {
    const servers = {
      postgres: {
        folder: join(disks.postgres.folder, "server"),
        config: { max_wal_size: "64MB", min_wal_size: "64MB" },
      },
      redis: { folder: join(disks.redis.folder, "server"), config: { appendfsync: "everysec" } },
    };
    return await GatewayEnvironment.use((environment) => playAll(environment, disks, options), servers);
  } finally {
    for (const disk of Object.values(disks)) await disk.unmount();
  }
}

async function playAll(
  environment: GatewayEnvironment,
  disks: Readonly<Record<Server, SmallDisk>>,
  { times, random, progress }: RunOptions,
): Promise<Figure[]> {
  const { turns } = environment;
  const found: Found = {
    turns: 0,
    problems: [],
    illegal: [],
    onceKeys: new Set(),
    reported: { postgres: 0, redis: 0 },
    unready: { postgres: 0, redis: 0 },
  };
  const gateway = await environment.launchGateway();
  const rounds = { postgres: 0, redis: 0 };
  for (let n = 1; n <= times; n++) {
    const server = n % 2 === 1 ? "postgres" : "redis";
    rounds[server]++;
    turns.keepWorkers(WORKERS);
    await Promise.all(turns.workers.filter((each) => !each.hasExited).map((each) => each.ready()));
    const plans = Array.from({ length: TURNS }, (_, t) => randomPlan(`r${n}.${t}`, random, SLOWNESS));
    const refs = await Promise.all(plans.map(() => environment.createSession()));
    const sent = await Promise.all(refs.map((ref, t) => turns.send(ref, plans[t] as Plan)));
    const played = Promise.all(
      refs.map((ref, t) => play(environment, ref, { plan: plans[t] as Plan, message: sent[t] ?? "" }, found)),
    );
    played.catch(() => undefined);
    await sleep(random() * 500);
    const isReported = createReportCheck(environment, REPORTS[server]);
    let wasUnready = false;
    await keepFull(disks[server], async () => {
      wasUnready ||= await isUnready(environment, gateway.url);
      return wasUnready && isReported();
    });
    if (wasUnready) found.unready[server]++;
    if (isReported()) found.reported[server]++;
    turns.keepWorkers(WORKERS);
    await played;
    await until("the gateway to be ready", async () => (await fetch(`${gateway.url}/readyz`)).ok);
    progress(
      `${n} of ${times}: ${JSON.stringify({ ...found, onceKeys: found.onceKeys.size, problems: found.problems.length })}`,
    );
  }
  for (const problem of [...found.problems, ...found.illegal].slice(0, 10)) progress(problem);
  const counts = new Map<string, number>();
  for (const { key } of await turns.readEffects()) counts.set(key, (counts.get(key) ?? 0) + 1);
  const twice = [...found.onceKeys].filter((key) => (counts.get(key) ?? 0) > 1).length;
  const { running } = await turns.countLeftovers();
  return [
    { figure: "turns", value: found.turns, exactly: times * TURNS },
    { figure: "turns that were lost or differ from their plan", value: found.problems.length, exactly: 0 },
    { figure: "events that break a rule", value: found.illegal.length, exactly: 0 },
    { figure: "duplicate effects of non-idempotent tools", value: twice, exactly: 0 },
    { figure: "turns left running", value: running, exactly: 0 },
    ...(["postgres", "redis"] as const).flatMap((server) => [
      {
        figure: `full disks of ${server} that a worker reported`,
        value: found.reported[server],
        exactly: rounds[server],
      },
      {
        figure: `full disks of ${server} that readiness reported`,
        value: found.unready[server],
        exactly: rounds[server],
      },
    ]),
  ];
}

/** Keeps the disk full for a while, and until `check` is true or the longest time has passed. */
async function keepFull(disk: SmallDisk, check: () => Promise<boolean>): Promise<void> {
  const started = performance.now();
  const elapsedMs = (): number => performance.now() - started;
  let isFound = false;
  // What the server frees is taken again.
  const filling = setInterval(() => disk.fill(), FILL_AGAIN_MS);
  try {
    disk.fill();
    while (elapsedMs() < FULL_MS || (!isFound && elapsedMs() < MAX_FULL_MS)) {
      isFound ||= await check();
      await sleep(FILL_AGAIN_MS);
    }
  } finally {
    clearInterval(filling);
    await disk.free();
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

/** Workers report outages that follow each other soon as one, so reports of earlier rounds of a living worker count. */
function createReportCheck({ turns }: GatewayEnvironment, report: RegExp): () => boolean {
  return () =>
    turns.workers.some((worker) => !worker.hasExited && worker.failures.some((text) => report.test(text)));
}

async function play(
  { turns }: GatewayEnvironment,
  ref: SessionRef,
  { plan, message }: { readonly plan: Plan; readonly message: string },
  found: Found,
): Promise<void> {
  for (const key of listOnceKeys(plan)) found.onceKeys.add(key);
  const follower = turns.follow(ref);
  try {
    const turn = await follower.untilEnded(message, TURN_MS);
    await turns.untilIdle(ref, TURN_MS);
    const { illegal } = await turns.checkSession(ref);
    found.problems.push(...checkPlan(turn, plan, true).problems);
    found.illegal.push(...illegal);
  } catch (error) {
    found.problems.push(`${plan.name}: ${String(error)}`);
  } finally {
    found.turns++;
    await follower.stop();
  }
}
