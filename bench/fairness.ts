/**
 * `benchFairness` measures how much a tenant that floods one process with messages, files and sockets delays the turns
 * of another tenant in the same process. The process is gateway and worker on PostgreSQL and Redis; the flood and the
 * other tenant run in processes of their own. It takes about two minutes.
 */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startBackend } from "@turnstream/testkit/backend/open-backend.ts";
import { ChildProgram } from "@turnstream/testkit/processes/child-program.ts";
import { ChatSocket, type ChatUser, type TurnTimes } from "./chat-socket.ts";
import { figure, type Measurement, percentile } from "./measure.ts";
import type { FairServerMessage, FairServerRequest, FairServerSettings } from "./processes/fair-server.ts";
import type { FloodCounts, FloodMessage, FloodRequest, FloodSize } from "./processes/flood.ts";

interface FairnessSize {
  readonly samples: number;
  readonly warmUp: number;
  /** Pause of the measured tenant between two messages. */
  readonly pauseMs: number;
  readonly flood: FloodSize;
}

const FULL: FairnessSize = {
  samples: 120,
  warmUp: 20,
  pauseMs: 100,
  flood: {
    sessions: 64,
    sessionsPerSocket: 16,
    slowMessages: 6,
    pdfSessions: 6,
    pdfsPerMessage: 4,
    openSockets: 200,
    socketOpeners: 16,
  },
};

/** How much later than without the flood the first event may come, at the 99th percentile. */
const MAX_DELAY_MS = 200;
const SECRET = "a secret that only the bench uses, on this machine";
const KEY_PREFIX = "bench";
const SESSIONS = 10;
/** A phase ends after this time, so that the bench takes at most three minutes. Too few samples fail it. */
const PHASE_MS = 60_000;
const MIN_SAMPLES = 100;
/** The flood needs some seconds until all its clients are connected. */
const SETTLE_MS = 5_000;

type Flood = ChildProgram<FloodMessage, FloodRequest>;
type FairServer = ChildProgram<FairServerMessage, FairServerRequest>;

export async function benchFairness(): Promise<Measurement[]> {
  // With a sync at every append the bench would measure the disk.
  const backend = await startBackend({
    keyPrefix: KEY_PREFIX,
    redis: { config: { appendfsync: "everysec" } },
  });
  const { databaseUrl, redisUrl, store } = backend;
  for (const id of ["flood", "other"]) await store.tenants.create({ id, name: id });
  const flood: Flood = startProgram("flood.ts", {});
  const { slowFiles } = await flood.waitFor("slowFiles");
  const settings: FairServerSettings = {
    databaseUrl,
    redisUrl,
    keyPrefix: KEY_PREFIX,
    secret: SECRET,
    slowFiles,
  };
  const server: FairServer = startProgram("fair-server.ts", settings);
  const exited = Promise.race([flood.exited, server.exited]).then(() => {
    throw new Error("a process of the bench has exited; its error is above");
  });
  try {
    return await Promise.race([measureDelays(flood, server, FULL), exited]);
  } finally {
    flood.send({ exit: true });
    server.send({ exit: true });
    await Promise.all([flood.exited, server.exited]);
    await backend.close();
  }
}

async function measureDelays(flood: Flood, server: FairServer, size: FairnessSize): Promise<Measurement[]> {
  const { url } = await server.waitFor("url");
  const by = (tenant: string): ChatUser => ({ url, tenant, user: "user-1", secret: SECRET });
  const other = await OtherTenant.open(by("other"));
  await other.measure(size.warmUp, size.pauseMs);
  await server.request({ measure: true }, "usage");
  const idle = await other.measure(size.samples, size.pauseMs);
  const { usage: idleUsage } = await server.request({ measure: true }, "usage");
  await flood.request({ start: size.flood, by: by("flood") }, "started");
  await sleep(SETTLE_MS);
  await server.request({ measure: true }, "usage");
  const { counts: before } = await flood.request({ measure: true }, "counts");
  const startedAt = performance.now();
  const flooded = await other.measure(size.samples, size.pauseMs);
  const seconds = (performance.now() - startedAt) / 1_000;
  const { counts: after } = await flood.request({ measure: true }, "counts");
  const { usage } = await server.request({ measure: true }, "usage");
  other.close();
  for (const [error, count] of Object.entries({ ...idleUsage.errors, ...usage.errors }))
    console.error(`in the server, ${count} times: ${error}`);
  const allowed = percentile(started(idle), 0.99) + MAX_DELAY_MS;
  return [
    figure("idle: send to the first event, p50", percentile(started(idle), 0.5), "ms"),
    figure("idle: send to the first event, p99", percentile(started(idle), 0.99), "ms"),
    figure("idle: send to the first text, p99", percentile(texts(idle), 0.99), "ms"),
    figure("flood: send to the first event, p50", percentile(started(flooded), 0.5), "ms"),
    figure("flood: send to the first event, p99", percentile(started(flooded), 0.99), "ms", allowed),
    figure("flood: send to the first text, p50", percentile(texts(flooded), 0.5), "ms"),
    figure("flood: send to the first text, p99", percentile(texts(flooded), 0.99), "ms"),
    { measure: "flood: samples", value: flooded.length, atLeast: Math.min(MIN_SAMPLES, size.samples) },
    figure("flood: delay of the event loop, p99", usage.loopDelayP99Ms, "ms"),
    figure("flood: CPU of the process", usage.cores, "cores"),
    ...rates(before, after, seconds),
  ];
}

function startProgram<Incoming extends object, Outgoing extends object>(
  file: string,
  settings: object,
): ChildProgram<Incoming, Outgoing> {
  // BENCH_FLAGS passes flags such as --cpu-prof for a profile.
  const nodeFlags = process.env["BENCH_FLAGS"]?.split(" ") ?? [];
  return new ChildProgram({ file: join(import.meta.dirname, "processes", file), settings, nodeFlags });
}

function started(times: readonly TurnTimes[]): number[] {
  return times.map((turn) => turn.started);
}

function texts(times: readonly TurnTimes[]): number[] {
  return times.flatMap(({ text }) => text ?? []);
}

/** What the server did for the flood meanwhile. */
function rates(before: FloodCounts, after: FloodCounts, seconds: number): Measurement[] {
  const rate = (name: keyof FloodCounts) => (after[name] - before[name]) / seconds;
  return [
    figure("flood: turns", rate("turns"), "per second"),
    figure("flood: files", rate("files"), "per second"),
    figure("flood: opened sockets", rate("sockets"), "per second"),
    figure("flood: refused requests", rate("refused"), "per second"),
  ];
}

/** The tenant that sends a message now and then. */
class OtherTenant {
  readonly #client: ChatSocket;
  readonly #sessions: readonly string[];

  private constructor(client: ChatSocket, sessions: readonly string[]) {
    this.#client = client;
    this.#sessions = sessions;
  }

  static async open(user: ChatUser): Promise<OtherTenant> {
    const client = await ChatSocket.open(user);
    const sessions: string[] = [];
    for (let n = 0; n < SESSIONS; n++) sessions.push(await client.createSession());
    return new OtherTenant(client, sessions);
  }

  async measure(samples: number, pauseMs: number): Promise<TurnTimes[]> {
    const times: TurnTimes[] = [];
    const until = performance.now() + PHASE_MS;
    for (let n = 0; n < samples && performance.now() < until; n++) {
      const session = this.#sessions[n % SESSIONS] ?? "";
      times.push(await this.#client.ask(session, "Hello."));
      // The next message comes at no fixed moment of the flood.
      await sleep(pauseMs * (0.5 + Math.random()));
    }
    return times;
  }

  close(): void {
    this.#client.close();
  }
}
