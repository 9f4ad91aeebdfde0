/**
 * `measureStorm` lets all clients reconnect at once into running turns, and measures the time until all have caught up
 * and the bytes that they receive. The turn is W1, stopped shortly before its end. Its last written delta carries the
 * mark, so a client that has received the mark has caught up. Meanwhile turns continue with a few deltas per second.
 *
 * Invariant: every round has a new process and new sessions for each kind of client, so that none has more to read than
 * another. Kinds alternate, and medians count.
 */
import { on, once } from "node:events";
import type { IncomingMessage } from "node:http";
import type { EventDraft } from "@turnstream/protocol/writer";
import { WebSocket } from "ws";
import {
  toDraft,
  type GatewayBenchEnvironment,
  openWriters,
  type SessionWriter,
} from "./gateway-environment.ts";
import { MeasuredServer } from "./measured-server.ts";
import { type ClientTarget, type ClientKind, toClientOptions } from "./gateway-clients.ts";
import { median } from "@turnstream/testkit/util/median.ts";
import { figure, type Measurement, percentile, round } from "./measure.ts";
import { MARK, RawClient, type RawClientOptions } from "./raw-client.ts";
import { typicalTurn } from "./workloads.ts";

export interface StormSize {
  readonly sessions: number;
  readonly clients: number;
  /** The number of clients of the smaller storm, and how often it runs in one process. */
  readonly few: number;
  readonly times: number;
  readonly rounds: number;
}

const SHARES = [0.5, 0.9, 0.99] as const;
const FRESH_AT_MOST_BYTES = 20_000;
const MORE_THAN_NEW_BYTES = 1_024;
const FEW_AT_MOST_MS = 100;
/** How many deltas of the answer are not written yet. */
const LEFT = 10;
/** With 5,000 clients this is 20,000 deliveries a second. A higher rate would measure the deliveries instead. */
const WRITE_EVERY_MS = 250;
const TIMEOUT_MS = 60_000;

const WAYS: readonly (ClientKind & { readonly name: string })[] = [
  { name: "native", kind: "gateway", wire: "socket", dialect: "native" },
  { name: "blocks", kind: "gateway", wire: "socket", dialect: "blocks" },
  { name: "native SSE", kind: "gateway", wire: "sse", dialect: "native" },
  { name: "blocks SSE", kind: "gateway", wire: "sse", dialect: "blocks" },
];

type Turn = ReturnType<typeof cutTurn>;

/** W1 up to the mark: the events in the log, the events still to come, and the positions of its text deltas. */
function cutTurn() {
  const events = typicalTurn()
    .map((frame) => toDraft(JSON.parse(frame) as Parameters<typeof toDraft>[0]))
    .slice(1);
  const deltas = events.flatMap((event, n) => (event.type === "text.delta" ? [n] : []));
  const last = deltas.at(-LEFT - 1) ?? 0;
  const there = events.slice(0, last);
  const marked = events[last];
  if (marked?.type !== "text.delta") throw new Error("the turn has no text delta");
  there.push({ ...marked, text: MARK });
  const coming = deltas.slice(-LEFT).flatMap((n) => events.slice(n, n + 1));
  /** The seq of an event is its index plus 2: seq is 1-based, and the session's own event comes first. */
  const cursorAt = (share: number) => {
    const at = deltas[Math.floor(deltas.length * share)] ?? 0;
    const text = there.slice(at + 1).map((event) => (event.type === "text.delta" ? event.text : ""));
    return { seq: at + 2, newBytes: Buffer.byteLength(JSON.stringify(text.join(""))) };
  };
  return { there, coming, cursorAt };
}

/** The times of one round for one kind of client, in milliseconds. */
interface Storm {
  readonly few: number;
  readonly all: number;
  readonly half: number;
}

export async function measureStorm(
  environment: GatewayBenchEnvironment,
  size: StormSize,
): Promise<Measurement[]> {
  const turn = cutTurn();
  const measurements: Measurement[] = await measureBytes(environment, turn);
  const runs = new Map(WAYS.map((way) => [way, [] as Storm[]]));
  for (let n = 0; n < size.rounds; n++) {
    for (const way of n % 2 === 0 ? WAYS : WAYS.toReversed())
      runs
        .get(way)
        ?.push(await stormIn(environment, way, `storm-${n}-${way.wire}-${way.dialect}`, turn, size));
  }
  for (const [{ name }, storms] of runs) {
    const took = (what: keyof Storm) => median(storms.map((storm) => storm[what]));
    const [few, all] = [`${name}: ${size.few} clients at once`, `${name}: ${size.clients} clients at once`];
    measurements.push(
      figure(`${few}, all caught up`, took("few"), "ms", FEW_AT_MOST_MS),
      figure(`${all}, all caught up`, took("all"), "ms"),
      figure(`${all}, half of them`, took("half"), "ms"),
    );
  }
  return measurements;
}

async function stormIn(
  environment: GatewayBenchEnvironment,
  way: ClientKind,
  name: string,
  turn: Turn,
  { sessions, clients, few, times }: StormSize,
): Promise<Storm> {
  const writers = await openWriters(environment, name, sessions, turn.there);
  const server = await MeasuredServer.start(environment, way.kind);
  // Each client has a token of its own, and reconnects with it.
  const headers = Array.from({ length: clients }, () => environment.signIn());
  // Some clients missed half of the answer, some only its last deltas.
  const seqs = SHARES.map((share) => turn.cursorAt(share).seq);
  const storm = async (count: number): Promise<number[]> => {
    const stop = goOn(writers, turn.coming);
    const clientOptions = Array.from({ length: count }, (_, n) =>
      toClientOptions(way, {
        ...sightOf(environment, server, writers[n % writers.length] as SessionWriter, seqs[n % seqs.length]),
        headers: headers[n] ?? environment.headers,
      }),
    );
    const took = await comeBack(clientOptions);
    await stop();
    return took;
  };
  // The first storm is a warm-up and doesn't count.
  await storm(few);
  const small: number[] = [];
  for (let n = 0; n < times; n++) small.push(Math.max(...(await storm(few))));
  const all = await storm(clients);
  await server.stop();
  // Each session has thousands of events. Without this, the memory of Redis would grow with every round.
  await Promise.all(writers.map(async ({ ref }) => environment.log.remove(ref)));
  return { few: median(small), all: Math.max(...all), half: percentile(all, 0.5) };
}

function sightOf(
  environment: GatewayBenchEnvironment,
  { port }: MeasuredServer,
  { session, epoch }: SessionWriter,
  seq?: number,
): ClientTarget {
  const after = seq === undefined ? {} : { after: `${epoch}-${seq}` };
  return { port, headers: environment.headers, session, ...after };
}

/** Counts the bytes in a session without new events. */
async function measureBytes(environment: GatewayBenchEnvironment, turn: Turn): Promise<Measurement[]> {
  const [idle] = await openWriters(environment, "bytes", 1, turn.there);
  const server = await MeasuredServer.start(environment, "gateway");
  const measurements: Measurement[] = [];
  for (const way of WAYS)
    measurements.push(
      ...(await countBytes(way, turn, (seq) => sightOf(environment, server, idle as SessionWriter, seq))),
    );
  await server.stop();
  return measurements;
}

async function countBytes(
  way: ClientKind & { readonly name: string },
  turn: Turn,
  sightAt: (seq?: number) => ClientTarget,
): Promise<Measurement[]> {
  const measurements: Measurement[] = [];
  for (const share of SHARES) {
    const { seq, newBytes } = turn.cursorAt(share);
    const bytes = await bytesOf(way, sightAt(seq));
    measurements.push({
      measure: `${way.name}: bytes for a cursor at ${share * 100} %`,
      value: bytes,
      note: `bytes; ${newBytes} of them new text`,
      atMost: newBytes + MORE_THAN_NEW_BYTES,
    });
  }
  const fresh = await bytesOf(way, sightAt());
  measurements.push({ measure: `${way.name}: bytes for a new client`, value: round(fresh), note: "bytes" });
  if (way.dialect !== "native" || way.wire !== "socket") return measurements;
  const compressed = await compressedBytesOf(toClientOptions(way, sightAt()));
  const measure = `${way.name}: bytes for a new client that accepts compressed messages`;
  return [...measurements, figure(measure, compressed, "bytes", FRESH_AT_MOST_BYTES)];
}

/** The bytes for a client like a browser, after the response head. */
async function compressedBytesOf({ port, path, headers, first }: RawClientOptions): Promise<number> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, { headers });
  const upgraded = once(socket, "upgrade") as Promise<[IncomingMessage]>;
  await once(socket, "open");
  const [{ socket: stream }] = await upgraded;
  const before = stream.bytesRead;
  socket.send(first ?? "");
  for await (const [message] of on(socket, "message")) if (String(message).includes(MARK)) break;
  socket.terminate();
  return stream.bytesRead - before;
}

async function bytesOf(way: ClientKind, sight: ClientTarget): Promise<number> {
  return new Promise((resolve, reject) => {
    const client: RawClient = new RawClient(toClientOptions(way, sight), () => {
      client.close();
      resolve(client.bytes);
    });
    client.ready.catch(reject);
  });
}

/** Connects all clients at once. @returns the milliseconds until each of them had caught up */
async function comeBack(clientOptions: readonly ReturnType<typeof toClientOptions>[]): Promise<number[]> {
  const started = performance.now();
  const caughtUp = clientOptions.map(
    (options) =>
      new Promise<{ client: RawClient; ms: number }>((resolve, reject) => {
        const client: RawClient = new RawClient(options, () =>
          resolve({ client, ms: performance.now() - started }),
        );
        client.ready.catch(reject);
      }),
  );
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("not all clients caught up in time")), TIMEOUT_MS);
  });
  const all = await Promise.race([Promise.all(caughtUp), late]).finally(() => clearTimeout(timer));
  for (const { client } of all) client.close();
  return all.map(({ ms }) => ms);
}

/** Continues the turns by writing the remaining deltas repeatedly. @returns a function that stops it */
function goOn(writers: readonly SessionWriter[], coming: readonly EventDraft[]): () => Promise<void> {
  let n = 0;
  let written: Promise<unknown> = Promise.resolve();
  const timer = setInterval(() => {
    const event = coming[n++ % coming.length];
    if (event !== undefined) written = Promise.all(writers.map(async (writer) => writer.write([event])));
  }, WRITE_EVERY_MS);
  return async () => {
    clearInterval(timer);
    await written;
  };
}
