/**
 * `slowClient` runs one socket that doesn't read and 99 that do. Each round runs once with it and once without it, and
 * only rounds of one pair are compared.
 *
 * Invariant: the gateway buffers a bounded number of bytes for the stalled socket. The others are not delayed, neither
 * while it fills and is degraded nor while it drains and catches up.
 */
import type { Socket } from "node:net";
import type { GatewayProgram } from "@turnstream/testkit/gateway/gateway-program.ts";
import { median } from "@turnstream/testkit/util/median.ts";
import { until } from "@turnstream/testkit/util/until.ts";
import { Figures } from "./figures.ts";
import { GatewayEnvironment } from "./gateway-environment.ts";
import { LatencyClient, writeTicks } from "./latency-client.ts";
import type { RunOptions, Scenario } from "./scenario.ts";
import { openStalled } from "./stalled-socket.ts";
import { ACTOR } from "./turn-environment.ts";
import { WrittenSession } from "./written-session.ts";

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

function createFigures(times: number, progress: RunOptions["progress"]) {
  return new Figures(progress, {
    "most bytes buffered for the stalled socket": { atLeast: MIB / 8, atMost: MIB, unit: "bytes" },
    "stalled sockets that were reported as slow when they read again": { exactly: times },
    "events that other sockets missed": { exactly: 0 },
    "p99 of the others without the stalled socket, median": { unit: "ms" },
    "p99 of the others with the stalled socket, median": { unit: "ms" },
    // The times of one pair prove nothing, because they include all other load on the machine.
    "p99 with the stalled socket divided by p99 without, median": times < ENOUGH ? {} : { atMost: 1.2 },
  });
}

async function run({ times, progress }: RunOptions) {
  return GatewayEnvironment.use(async (environment) => {
    const figures = createFigures(times, progress);
    const gateway = await environment.launchGateway({
      limits: { stallTimeoutMs: STALL_MS, pingIntervalMs: STALL_MS },
      samplesBuffers: true,
    });
    const calm: number[] = [];
    const stalled: number[] = [];
    for (let n = 0; n < times; n++) {
      for (const isStalled of n % 2 === 0 ? [false, true] : [true, false])
        (isStalled ? stalled : calm).push(await measureP99(environment, gateway, isStalled, figures));
      figures.set("p99 of the others without the stalled socket, median", median(calm));
      figures.set("p99 of the others with the stalled socket, median", median(stalled));
      const ratios = stalled.map((p99, i) => p99 / (calm[i] ?? p99));
      figures.set("p99 with the stalled socket divided by p99 without, median", median(ratios));
      figures.print(`${n + 1} of ${times}`);
    }
    for (const failure of environment.failures.slice(0, 10)) progress(failure);
    return figures.list();
  });
}

/** @returns the p99 of the time that an event takes to the other sockets */
async function measureP99(
  environment: GatewayEnvironment,
  gateway: GatewayProgram,
  isStalled: boolean,
  figures: ReturnType<typeof createFigures>,
): Promise<number> {
  const endpoint = environment.endpoint(gateway);
  const written = await WrittenSession.begin(environment.backend, ACTOR);
  const { session } = written.ref;
  const listeners = await Promise.all(
    Array.from({ length: LISTENERS }, () => LatencyClient.open(endpoint, session)),
  );
  const stalled = isStalled ? await openStalled(endpoint, session) : null;
  await gateway.takePeak();
  for (let n = 0; n < FILL_TURNS; n++) {
    await writeTurn(written, `t${n}`);
    await writeTicks(written, FILL_TICKS, TICK_MS);
  }
  const peak = await gateway.takePeak();
  let isReportedSlow = false;
  if (stalled !== null) {
    figures.raise("most bytes buffered for the stalled socket", peak);
    readOn(stalled, () => (isReportedSlow = true));
  }
  await writeTicks(written, DRAIN_TICKS, TICK_MS);
  const isComplete = () =>
    listeners.every(({ took }) => took.length >= TICKS) && isReportedSlow === isStalled;
  // The figures show what is missing.
  await until("every event", isComplete, { timeoutMs: TIMEOUT_MS }).catch(() => undefined);
  stalled?.destroy();
  for (const listener of listeners) listener.close();
  if (isReportedSlow) figures.add("stalled sockets that were reported as slow when they read again");
  for (const { took } of listeners)
    figures.add("events that other sockets missed", Math.max(0, TICKS - took.length));
  const all = listeners.flatMap(({ took }) => took).toSorted((a, b) => a - b);
  return all[Math.floor(all.length * 0.99)] ?? Infinity;
}

/** Writes one complete turn, so that its text is not part of the open turn. */
async function writeTurn(session: WrittenSession, turn: string): Promise<void> {
  const on = { turn, run: "main", block: "b0", index: 0 };
  const start = { number: 1, message_number: 1, agent: "a", mode: "agent", from_share: false } as const;
  await session.append(
    { type: "turn.start", turn, ...start },
    { type: "run.start", turn, run: "main", agent: "a" },
    { type: "text.start", ...on, part: false },
    { type: "text.delta", ...on, text: FILL_TEXT },
    { type: "text.end", ...on, final: true },
    { type: "run.end", turn, run: "main", status: "completed" },
    { type: "turn.end", turn, reason: "end_turn", duration_ms: 1 },
  );
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

export const slowClient: Scenario = {
  promise: 11,
  about: "runs one socket that doesn't read among a hundred",
  times: ENOUGH,
  short: 1,
  run,
};
