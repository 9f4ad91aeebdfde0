/**
 * A socket that doesn't read, among a hundred that do: what is kept for it is bounded, and the others don't notice, neither
 * while it fills and is degraded nor while it drains and is brought up to date. Each round is run with it and without it, in
 * turns, and only rounds of one pair are compared.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Socket } from "node:net";
import { join } from "node:path";
import {
  type CommandBackend,
  createRedisLog,
  createRedisSignals,
  migrate,
  openDatabase,
  createPostgresStore,
} from "@turnstream/server";
import { startPostgres } from "@turnstream/testkit/servers/start-postgres.ts";
import { startRedis } from "@turnstream/testkit/servers/start-redis.ts";
import { forget, watch } from "@turnstream/testkit/processes/watch.ts";
import type { Settings, Word } from "./processes/loaded-gateway.ts";
import type { Figure, RunOptions, Scenario } from "./scenario.ts";
import { openStalled } from "./stalled-socket.ts";
import { Listener, Talk } from "./latency-session.ts";

const ACTOR = { tenant: "chaos", user: "someone" };
const LISTENERS = 99;
/** More than the systems at both ends take for a connection, and our queue. */
const FILL_TURNS = 160;
const FILL_TEXT = "x".repeat(40_000);
/** Words after each of these turns, whose way to the others is timed: it fills, and is degraded, meanwhile. */
const FILL_TICKS = 2;
/** And once it reads again. */
const DRAIN_TICKS = 200;
const TICKS = FILL_TURNS * FILL_TICKS + DRAIN_TICKS;
const TICK_MS = 10;
const PATIENCE_MS = 30_000;
/** As many pairs as a median is taken of. */
const ENOUGH = 5;
const MIB = 1024 * 1024;

interface Round {
  readonly p99: number;
  readonly missed: number;
  readonly peak: number;
  /** It was told that it was slow, once it read again. */
  readonly toldSlow: boolean;
}

export const slowClient: Scenario = {
  promise: 11,
  about: "a socket that doesn't read, among a hundred",
  times: ENOUGH,
  short: 1,
  async run({ times, progress }: RunOptions): Promise<Figure[]> {
    const [postgres, redis] = await Promise.all([startPostgres(), startRedis()]);
    const db = openDatabase({ url: postgres.url });
    await migrate(db);
    const parts = {
      store: createPostgresStore(db),
      log: await createRedisLog({ url: redis.url }),
      signals: createRedisSignals({ url: redis.url }),
    };
    await parts.store.tenants.create({ id: ACTOR.tenant, name: "Chaos" });
    const { secret } = await parts.store.keys.create(ACTOR.tenant, { name: "chaos", scopes: [] });
    const headers = { "x-api-key": secret, "x-user-id": ACTOR.user };
    const gateway = await startGateway({ postgresUrl: postgres.url, redisUrl: redis.url });
    try {
      const pairs: { readonly calm: Round; readonly stalled: Round }[] = [];
      for (let n = 0; n < times; n++) {
        const order = n % 2 === 0 ? [false, true] : [true, false];
        const rounds = new Map<boolean, Round>();
        for (const isStalled of order) rounds.set(isStalled, await round(parts, headers, gateway, isStalled));
        const [calm, stalled] = [rounds.get(false) as Round, rounds.get(true) as Round];
        pairs.push({ calm, stalled });
        progress(`p99 ${calm.p99.toFixed(1)} ms without, ${stalled.p99.toFixed(1)} ms with`);
      }
      return figures(pairs);
    } finally {
      gateway.stop();
      await parts.signals.close();
      await parts.log.close();
      await parts.store.close();
      await Promise.all([postgres.stop(), redis.stop()]);
    }
  },
};

async function round(
  parts: CommandBackend,
  headers: Readonly<Record<string, string>>,
  { url, peak }: Gateway,
  isStalled: boolean,
): Promise<Round> {
  const talk = await Talk.begin(parts, ACTOR);
  const { session } = talk.ref;
  const listeners = await Promise.all(
    Array.from({ length: LISTENERS }, () => Listener.open(url, headers, session)),
  );
  const stalled = isStalled ? await openStalled(url, headers, session) : null;
  await peak();
  for (let n = 0; n < FILL_TURNS; n++) {
    await talk.say(`t${n}`, FILL_TEXT);
    await talk.tick(FILL_TICKS, TICK_MS);
  }
  const held = await peak();
  let toldSlow = false;
  if (stalled !== null) readOn(stalled, () => (toldSlow = true));
  await talk.tick(DRAIN_TICKS, TICK_MS);
  await until(() => listeners.every(({ took }) => took.length >= TICKS) && (stalled === null || toldSlow));
  stalled?.destroy();
  for (const listener of listeners) listener.close();
  const took = listeners.flatMap((listener) => listener.took).toSorted((a, b) => a - b);
  const missed = sum(listeners.map((listener) => Math.max(0, TICKS - listener.took.length)));
  return { p99: took[Math.floor(took.length * 0.99)] ?? Infinity, missed, peak: held, toldSlow };
}

function readOn(socket: Socket, slow: () => void): void {
  let last = "";
  socket.on("data", (bytes: Buffer) => {
    const text = last + bytes.toString("latin1");
    if (text.includes('"reason":"slow"')) slow();
    last = text.slice(-20);
  });
  socket.resume();
}

/** What doesn't come is a figure, not an error. */
async function until(isThere: () => boolean): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  while (!isThere() && performance.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 20));
}

function figures(pairs: readonly { readonly calm: Round; readonly stalled: Round }[]): Figure[] {
  const rounds = pairs.flatMap(({ calm, stalled }) => [calm, stalled]);
  const ratio = median(pairs.map(({ calm, stalled }) => stalled.p99 / calm.p99));
  const most = Math.max(...pairs.map(({ stalled }) => stalled.peak));
  const { length } = pairs;
  return [
    { figure: "most kept for the stalled socket", value: most, atLeast: MIB / 8, atMost: MIB, unit: "bytes" },
    {
      figure: "stalled sockets that were told so when they read again",
      value: pairs.filter(({ stalled }) => stalled.toldSlow).length,
      exactly: length,
    },
    { figure: "words that others missed", value: sum(rounds.map(({ missed }) => missed)), exactly: 0 },
    {
      figure: "others' p99 without it, median",
      value: median(pairs.map(({ calm }) => calm.p99)),
      unit: "ms",
    },
    {
      figure: "others' p99 with it, median",
      value: median(pairs.map(({ stalled }) => stalled.p99)),
      unit: "ms",
    },
    // One pair says nothing about times: everything else on the machine is in it.
    {
      figure: "p99 with it to p99 without, median",
      value: ratio,
      ...(length < ENOUGH ? {} : { atMost: 1.2 }),
    },
  ];
}

interface Gateway {
  readonly url: string;
  /** The most held for one client since it was last asked. */
  readonly peak: () => Promise<number>;
  readonly stop: () => void;
}

async function startGateway(settings: Settings): Promise<Gateway> {
  const file = join(import.meta.dirname, "processes/loaded-gateway.ts");
  const child = spawn(process.execPath, ["--conditions=@turnstream/source", file, JSON.stringify(settings)], {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const { pid } = child;
  if (pid !== undefined) {
    watch(pid);
    child.once("exit", () => forget(pid));
  }
  const [word] = (await once(child, "message")) as [Word];
  if (!("url" in word)) throw new Error("the gateway didn't begin");
  return {
    url: word.url,
    peak: async () => {
      child.send("peak");
      const [told] = (await once(child, "message")) as [Word];
      return "peak" in told ? told.peak : 0;
    },
    stop: () => void child.kill("SIGKILL"),
  };
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

function sum(values: readonly number[]): number {
  return values.reduce((all, one) => all + one, 0);
}
