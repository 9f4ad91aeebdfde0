/**
 * What an idle connection holds, each with a session of its own: resident memory of the server before and after thousands have
 * come, with garbage collected both times. A first part of them comes before, so that what is loaded and grown once is
 * not counted. Every subject is a fresh process: memory that was once resident rarely goes back.
 */
import { type GatewayStage, openPens } from "./gateway-stage.ts";
import { Subject } from "./gateway-subject.ts";
import { settle, type Way, wishOf } from "./gateway-viewers.ts";
import { type Measurement, round } from "./measure.ts";
import { RawClient } from "./raw-client.ts";

export interface MemorySize {
  readonly connections: number;
  /** How many come before. */
  readonly warmUp: number;
}

const AT_MOST_MORE_KB = 12;
/** How many connect at a time. */
const AT_A_TIME = 50;
/** Idle is who has heard nothing for a while: a gateway drops what a silent session holds after five seconds. */
const SETTLE_MS = 8_000;

const PAIRS: readonly { readonly name: string; readonly bare: Way; readonly ours: Way }[] = [
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

export async function measureMemory(stage: GatewayStage, size: MemorySize): Promise<Measurement[]> {
  const { connections, warmUp } = size;
  const pens = await openPens(stage, "idle", connections + warmUp, []);
  const sessions = pens.map(({ session }) => session);
  const measurements: Measurement[] = [];
  for (const { name, bare, ours } of PAIRS) {
    const [least, held] = [
      await weigh(stage, bare, sessions, size),
      await weigh(stage, ours, sessions, size),
    ];
    const note = `KB at ${connections} connections`;
    measurements.push(
      { measure: `${name}, bare: memory per idle connection`, value: round(least.rss), note },
      { measure: `${name}, gateway: memory per idle connection`, value: round(held.rss), note },
      { measure: `${name}, gateway: of this in the heap`, value: round(held.heap), note },
      {
        measure: `${name}: memory per idle connection, more than bare`,
        value: round(held.rss - least.rss),
        atMost: AT_MOST_MORE_KB,
        note: "KB",
      },
    );
  }
  return measurements;
}

async function weigh(
  stage: GatewayStage,
  way: Way,
  sessions: readonly string[],
  { connections, warmUp }: MemorySize,
) {
  const subject = await Subject.start(stage, way.kind);
  const { headers } = stage;
  const clients: RawClient[] = [];
  const come = async (names: readonly string[]) => {
    for (let at = 0; at < names.length; at += AT_A_TIME) {
      const more = names
        .slice(at, at + AT_A_TIME)
        .map((session) => new RawClient(wishOf(way, { port: subject.port, headers, session })));
      clients.push(...more);
      await Promise.all(more.map(({ ready }) => ready));
    }
    await settle(SETTLE_MS);
  };
  await come(sessions.slice(0, warmUp));
  const before = await subject.weigh("clean");
  await come(sessions.slice(warmUp, warmUp + connections));
  const after = await subject.weigh("clean");
  for (const client of clients) client.close();
  await subject.leave();
  const each = (bytes: number) => bytes / connections / 1024;
  return { rss: each(after.rss - before.rss), heap: each(after.heap - before.heap) };
}
