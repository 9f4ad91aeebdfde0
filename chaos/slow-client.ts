/**
 * `slowClient` runs one socket that doesn't read and 99 that do. Each round runs once with it and once without it, and
 * only rounds of one pair are compared.
 *
 * Invariant: the gateway buffers a bounded number of bytes for the stalled socket. The others are not delayed, neither
 * while it fills and is degraded nor while it drains and catches up.
 */
import type { Socket } from "node:net";
import type { CommandBackend } from "@turnstream/server/ports";
import { startBackend } from "@turnstream/testkit/backend/open-backend.ts";
import { GatewayProgram } from "@turnstream/testkit/gateway/gateway-program.ts";
import { HIGH_LIMITS } from "@turnstream/testkit/gateway/high-limits.ts";
import { median } from "@turnstream/testkit/util/median.ts";
import type { Figure, RunOptions, Scenario } from "./scenario.ts";
import { openStalled } from "./stalled-socket.ts";
import { LatencyClient, LatencySession } from "./latency-session.ts";

const ACTOR = { tenant: "chaos", user: "user-1" };
const LISTENERS = 99;
/** More than the operating systems at both ends and our send queue can buffer. */
const FILL_TURNS = 160;
const FILL_TEXT = "x".repeat(40_000);
/** Timed events after each of these turns, while the stalled socket fills and is degraded. */
const FILL_TICKS = 2;
/** Timed events after the stalled socket reads again. */
const DRAIN_TICKS = 200;
const TICKS = FILL_TURNS * FILL_TICKS + DRAIN_TICKS;
const TICK_MS = 10;
const TIMEOUT_MS = 30_000;
/**
 * Longer than a round. Otherwise, on a busy machine, the gateway closes the stalled connection before it reads again.
 */
const STALL_MS = 600_000;
/** How many pairs a median needs. */
const ENOUGH = 5;
const MIB = 1024 * 1024;

interface Round {
  readonly p99: number;
  readonly missed: number;
  readonly peak: number;
  /** Whether the gateway reported the socket as slow once it read again. */
  readonly isReportedSlow: boolean;
}

export const slowClient: Scenario = {
  promise: 11,
  about: "runs one socket that doesn't read among a hundred",
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

/** Does not throw on a timeout: the figures show what is missing. */
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
    {
      figure: "most bytes buffered for the stalled socket",
      value: most,
      atLeast: MIB / 8,
      atMost: MIB,
      unit: "bytes",
    },
    {
      figure: "stalled sockets that were reported as slow when they read again",
      value: pairs.filter(({ stalled }) => stalled.isReportedSlow).length,
      exactly: length,
    },
    {
      figure: "events that other sockets missed",
      value: sum(rounds.map(({ missed }) => missed)),
      exactly: 0,
    },
    {
      figure: "p99 of the others without the stalled socket, median",
      value: median(pairs.map(({ calm }) => calm.p99)),
      unit: "ms",
    },
    {
      figure: "p99 of the others with the stalled socket, median",
      value: median(pairs.map(({ stalled }) => stalled.p99)),
      unit: "ms",
    },
    // The times of one pair prove nothing, because they include all other load on the machine.
    {
      figure: "p99 with the stalled socket divided by p99 without, median",
      value: ratio,
      ...(length < ENOUGH ? {} : { atMost: 1.2 }),
    },
  ];
}

function launchGateway(databaseUrl: string, redisUrl: string): Promise<GatewayProgram> {
  return GatewayProgram.launch({
    backend: { databaseUrl, redisUrl, database: { max: 10 } },
    secrets: ["a secret that only this scenario knows, for its one gateway"],
    callerLimits: HIGH_LIMITS,
    limits: { stallTimeoutMs: STALL_MS, pingIntervalMs: STALL_MS },
    samplesBuffers: true,
  });
}

function sum(values: readonly number[]): number {
  return values.reduce((all, one) => all + one, 0);
}
