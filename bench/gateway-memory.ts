/**
 * `measureMemory` measures the memory of an idle connection with its own session: the server's resident memory before
 * and after thousands of connections, with garbage collected both times. A first part connects before the measurement,
 * so that one-time costs are not counted.
 *
 * Invariant: every server is a new process in every round, because resident memory is rarely returned to the system.
 * Servers alternate, and medians count.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { type GatewayBenchEnvironment, openWriters } from "./gateway-environment.ts";
import { MeasuredServer } from "./measured-server.ts";
import { type ClientKind, toClientOptions } from "./gateway-clients.ts";
import { median } from "@turnstream/testkit/util/median.ts";
import { figure, type Measurement } from "./measure.ts";
import { RawClient } from "./raw-client.ts";

export interface MemorySize {
  readonly connections: number;
  /** How many connections are opened before the measurement. */
  readonly warmUp: number;
  /** How long connections must be idle. The gateway drops the buffers of an idle session after five seconds. */
  readonly settleMs: number;
  readonly rounds: number;
}

const AT_MOST_MORE_KB = 12;
/** How many clients connect at the same time. */
const AT_A_TIME = 50;

interface Kind {
  readonly name: string;
  readonly bare: ClientKind;
  readonly ours: ClientKind;
}

interface MemoryUse {
  readonly rss: number;
  readonly grown: number;
  readonly heap: number;
}

const KINDS: readonly Kind[] = [
  {
    name: "WebSocket",
    bare: { kind: "corked", wire: "socket" },
    ours: { kind: "gateway", wire: "socket", dialect: "blocks" },
  },
  {
    name: "SSE",
    bare: { kind: "sse", wire: "sse" },
    ours: { kind: "gateway", wire: "sse", dialect: "blocks" },
  },
];

export async function measureMemory(
  environment: GatewayBenchEnvironment,
  size: MemorySize,
): Promise<Measurement[]> {
  const { connections, warmUp, rounds } = size;
  const writers = await openWriters(environment, "idle", connections + warmUp, []);
  const sessions = writers.map(({ session }) => session);
  const ways = KINDS.flatMap(({ bare, ours }) => [bare, ours]);
  const runs = new Map(ways.map((way) => [way, [] as MemoryUse[]]));
  for (let n = 0; n < rounds; n++) {
    for (const way of n % 2 === 0 ? ways : ways.toReversed())
      runs.get(way)?.push(await weigh(environment, way, sessions, size));
  }
  const medianUse = (way: ClientKind, what: keyof MemoryUse) =>
    median(runs.get(way)?.map((use) => use[what]) ?? []);
  return KINDS.flatMap(({ name, bare, ours }) => {
    const note = `KB at ${connections} connections`;
    const [least, most] = [medianUse(bare, "rss"), medianUse(ours, "rss")];
    return [
      figure(`${name}, baseline: memory per idle connection`, least, note),
      figure(`${name}, baseline: of this in the heap`, medianUse(bare, "heap"), note),
      figure(`${name}, gateway: memory per idle connection`, most, note),
      figure(`${name}, gateway: of this in the heap`, medianUse(ours, "heap"), note),
      figure(`${name}, baseline: with pages that V8 has not released yet`, medianUse(bare, "grown"), note),
      figure(`${name}, gateway: with pages that V8 has not released yet`, medianUse(ours, "grown"), note),
      figure(
        `${name}: memory per idle connection, more than the baseline`,
        most - least,
        "KB",
        AT_MOST_MORE_KB,
      ),
    ];
  });
}

async function weigh(
  environment: GatewayBenchEnvironment,
  way: ClientKind,
  sessions: readonly string[],
  { connections, warmUp, settleMs }: MemorySize,
): Promise<MemoryUse> {
  const server = await MeasuredServer.start(environment, way.kind);
  const { headers } = environment;
  const clients: RawClient[] = [];
  const come = async (names: readonly string[]) => {
    for (let at = 0; at < names.length; at += AT_A_TIME) {
      const more = names
        .slice(at, at + AT_A_TIME)
        .map((session) => new RawClient(toClientOptions(way, { port: server.port, headers, session })));
      clients.push(...more);
      await Promise.all(more.map(({ ready }) => ready));
    }
    await sleep(settleMs);
  };
  await come(sessions.slice(0, warmUp));
  const before = await server.measure("clean");
  await come(sessions.slice(warmUp, warmUp + connections));
  const after = await server.measure("clean");
  for (const client of clients) client.close();
  await server.stop();
  const each = (bytes: number) => bytes / connections / 1024;
  const [rss, grown] = [each(after.rss - before.rss), each(after.grown - before.rss)];
  return { rss, grown, heap: each(after.heap - before.heap) };
}
