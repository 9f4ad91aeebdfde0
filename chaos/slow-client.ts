/**
 * A socket that doesn't read, among a hundred that do: what is kept for it is bounded, and the others don't notice, neither
 * while it fills and is degraded nor while it drains and is brought up to date. Each round is run with it and without it, in
 * turns, and only rounds of one pair are compared.
 */
import type { Socket } from "node:net";
import type { CommandBackend } from "@turnstream/server/ports";
import { startBackend } from "@turnstream/testkit/backend/open-backend.ts";
import { GatewayProgram } from "@turnstream/testkit/gateway/gateway-program.ts";
import { median } from "@turnstream/testkit/util/median.ts";
import type { Figure, RunOptions, Scenario } from "./scenario.ts";
import { openStalled } from "./stalled-socket.ts";
import { LatencyClient, LatencySession } from "./latency-session.ts";

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
const TIMEOUT_MS = 30_000;
/** Longer than a round: on a busy machine, a client that doesn't read would be cut off before it is asked to read on. */
const STALL_MS = 600_000;
/** As many pairs as a median is taken of. */
const ENOUGH = 5;
const MIB = 1024 * 1024;

interface Round {
  readonly p99: number;
  readonly missed: number;
  readonly peak: number;
  /** It was told that it was slow, once it read again. */
  readonly isReportedSlow: boolean;
}

export const slowClient: Scenario = {
  promise: 11,
  about: "a socket that doesn't read, among a hundred",
  times: ENOUGH,
  short: 1,
  async run({ times, progress }: RunOptions): Promise<Figure[]> {
    const backend = await startBackend();
    await backend.store.tenants.create({ id: ACTOR.tenant, name: "Chaos" });
    const { secret } = await backend.store.keys.create(ACTOR.tenant, { name: "chaos", scopes: [] });
    const headers = { "x-api-key": secret, "x-user-id": ACTOR.user };
    const gateway = await launchGateway(backend.databaseUrl, backend.redisUrl);
    try {
      const pairs: { readonly calm: Round; readonly stalled: Round }[] = [];
      for (let n = 0; n < times; n++) {
        const order = n % 2 === 0 ? [false, true] : [true, false];
        const rounds = new Map<boolean, Round>();
        for (const isStalled of order)
          rounds.set(isStalled, await round(backend, headers, gateway, isStalled));
        const [calm, stalled] = [rounds.get(false) as Round, rounds.get(true) as Round];
        pairs.push({ calm, stalled });
        progress(`p99 ${calm.p99.toFixed(1)} ms without, ${stalled.p99.toFixed(1)} ms with`);
      }
      return figures(pairs);
    } finally {
      await gateway.kill();
      for (const failure of gateway.failures.slice(0, 10)) progress(failure);
      await backend.close();
    }
  },
};

async function round(
  backend: CommandBackend,
  headers: Readonly<Record<string, string>>,
  gateway: GatewayProgram,
  isStalled: boolean,
): Promise<Round> {
  const { url } = gateway;
  const latencySession = await LatencySession.begin(backend, ACTOR);
  const { session } = latencySession.ref;
  const listeners = await Promise.all(
    Array.from({ length: LISTENERS }, () => LatencyClient.open(url, headers, session)),
  );
  const stalled = isStalled ? await openStalled(url, headers, session) : null;
  await gateway.takePeak();
  for (let n = 0; n < FILL_TURNS; n++) {
    await latencySession.writeTurn(`t${n}`, FILL_TEXT);
    await latencySession.tick(FILL_TICKS, TICK_MS);
  }
  const peak = await gateway.takePeak();
  let isReportedSlow = false;
  if (stalled !== null) readOn(stalled, () => (isReportedSlow = true));
  await latencySession.tick(DRAIN_TICKS, TICK_MS);
  await until(
    () => listeners.every(({ took }) => took.length >= TICKS) && (stalled === null || isReportedSlow),
  );
  stalled?.destroy();
  for (const listener of listeners) listener.close();
  const took = listeners.flatMap((listener) => listener.took).toSorted((a, b) => a - b);
  const missed = sum(listeners.map((listener) => Math.max(0, TICKS - listener.took.length)));
  return { p99: took[Math.floor(took.length * 0.99)] ?? Infinity, missed, peak, isReportedSlow };
}

function readOn(socket: Socket, onSlow: () => void): void {
  let last = "";
  socket.on("data", (bytes: Buffer) => {
    const text = last + bytes.toString("latin1");
    if (text.includes('"reason":"slow"')) onSlow();
    last = text.slice(-20);
  });
  socket.resume();
}

/** What doesn't come is a figure, not an error. */
async function until(isThere: () => boolean): Promise<void> {
  const deadline = performance.now() + TIMEOUT_MS;
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
      value: pairs.filter(({ stalled }) => stalled.isReportedSlow).length,
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

function launchGateway(databaseUrl: string, redisUrl: string): Promise<GatewayProgram> {
  return GatewayProgram.launch({
    backend: { databaseUrl, redisUrl, database: { max: 10 } },
    secrets: ["a secret that only this scenario knows, for its one gateway"],
    limits: { stallTimeoutMs: STALL_MS, pingIntervalMs: STALL_MS },
    samplesBuffers: true,
  });
}

function sum(values: readonly number[]): number {
  return values.reduce((all, one) => all + one, 0);
}
