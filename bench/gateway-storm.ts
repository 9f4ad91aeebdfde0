/**
 * Everybody comes back at once, into turns that run: how long until all have what they missed, and what it takes in bytes.
 * The turn is W1, stopped shortly before its end; the last delta that is there carries the mark, so that whoever has seen the
 * mark has caught up. Turns go on meanwhile, a few deltas a second.
 */
import type { EventDraft } from "@turnstream/protocol";
import { draftOf, type GatewayStage, openPens, type Pen } from "./gateway-stage.ts";
import { Subject } from "./gateway-subject.ts";
import { type Sight, type Way, wishOf } from "./gateway-viewers.ts";
import { figure, type Measurement, median, percentile, round } from "./measure.ts";
import { MARK, RawClient } from "./raw-client.ts";
import { typicalTurn } from "./workloads.ts";

export interface StormSize {
  readonly sessions: number;
  readonly clients: number;
  /** The smaller storm, and how often each of them. */
  readonly few: number;
  readonly rounds: number;
}

const SHARES = [0.5, 0.9, 0.99] as const;
const FRESH_AT_MOST_BYTES = 20_000;
const MORE_THAN_NEW_BYTES = 1_024;
const FEW_AT_MOST_MS = 100;
/** Of the answer's deltas, how many are still to come. */
const LEFT = 10;
/** 5,000 viewers take 20,000 deliveries a second then: more would measure those. */
const GOES_ON_EVERY_MS = 250;
const PATIENCE_MS = 60_000;

const WAYS: readonly (Way & { readonly name: string })[] = [
  { name: "native", kind: "gateway", wire: "socket", dialect: "native" },
  { name: "blocks", kind: "gateway", wire: "socket", dialect: "blocks" },
  { name: "native SSE", kind: "gateway", wire: "sse", dialect: "native" },
  { name: "blocks SSE", kind: "gateway", wire: "sse", dialect: "blocks" },
];

/** W1 up to the mark: what is in the log, what is still to come, and where its deltas of text are. */
function cutTurn() {
  const events = typicalTurn()
    .map((frame) => draftOf(JSON.parse(frame) as Parameters<typeof draftOf>[0]))
    .slice(1);
  const deltas = events.flatMap((event, n) => (event.type === "text.delta" ? [n] : []));
  const last = deltas.at(-LEFT - 1) ?? 0;
  const there = events.slice(0, last);
  const marked = events[last];
  if (marked?.type !== "text.delta") throw new Error("the turn has no text");
  there.push({ ...marked, text: MARK });
  const coming = deltas.slice(-LEFT).flatMap((n) => events.slice(n, n + 1));
  /** The seq of an event is one more than its place: the first of all is the session's own. */
  const cursorAt = (share: number) => {
    const at = deltas[Math.floor(deltas.length * share)] ?? 0;
    const text = there.slice(at + 1).map((event) => (event.type === "text.delta" ? event.text : ""));
    return { seq: at + 2, newBytes: Buffer.byteLength(JSON.stringify(text.join(""))) };
  };
  return { there, coming, cursorAt };
}

export async function measureStorm(stage: GatewayStage, size: StormSize): Promise<Measurement[]> {
  const turn = cutTurn();
  const pens = await openPens(stage, "storm", size.sessions, turn.there);
  // In which nothing more is said, so that bytes can be counted.
  const [quiet] = await openPens(stage, "quiet", 1, turn.there);
  if (quiet === undefined) return [];
  const subject = await Subject.start(stage, "gateway");
  const sightOf = (pen: Pen, seq?: number): Sight => ({
    port: subject.port,
    headers: stage.headers,
    session: pen.session,
    ...(seq === undefined ? {} : { after: `${pen.epoch}-${seq}` }),
  });
  // Some were away for long, some for a moment.
  const seqs = SHARES.map((share) => turn.cursorAt(share).seq);
  const storm = async (way: Way, clients: number): Promise<number[]> => {
    const stop = goOn(pens, turn.coming);
    const wishes = Array.from({ length: clients }, (_, n) =>
      wishOf(way, sightOf(pens[n % pens.length] ?? quiet, seqs[n % seqs.length])),
    );
    const times = await comeBack(wishes);
    await stop();
    return times;
  };
  const measurements: Measurement[] = [];
  for (const way of WAYS) {
    measurements.push(...(await countBytes(way, quiet, turn, sightOf)));
    if (way.wire === "sse") continue;
    // The first one warms everything up and doesn't count.
    await storm(way, size.few);
    const few: number[] = [];
    for (let n = 0; n < size.rounds; n++) few.push(Math.max(...(await storm(way, size.few))));
    const all = await storm(way, size.clients);
    const { name } = way;
    measurements.push(
      figure(`${name}: ${size.few} clients at once, all caught up`, median(few), "ms", FEW_AT_MOST_MS),
      figure(`${name}: ${size.clients} clients at once, all caught up`, Math.max(...all), "ms"),
      figure(`${name}: ${size.clients} clients at once, half of them`, percentile(all, 0.5), "ms"),
    );
  }
  await subject.leave();
  return measurements;
}

async function countBytes(
  way: Way & { readonly name: string },
  pen: Pen,
  turn: ReturnType<typeof cutTurn>,
  sightOf: (pen: Pen, seq?: number) => Sight,
): Promise<Measurement[]> {
  const measurements: Measurement[] = [];
  for (const share of SHARES) {
    const { seq, newBytes } = turn.cursorAt(share);
    const bytes = await bytesOf(way, sightOf(pen, seq));
    measurements.push({
      measure: `${way.name}: bytes for a cursor at ${share * 100} %`,
      value: bytes,
      note: `bytes; ${newBytes} of them new text`,
      atMost: newBytes + MORE_THAN_NEW_BYTES,
    });
  }
  const fresh = await bytesOf(way, sightOf(pen));
  const bound = way.dialect === "native" ? { atMost: FRESH_AT_MOST_BYTES } : {};
  return [
    ...measurements,
    { measure: `${way.name}: bytes for a new client`, value: round(fresh), note: "bytes", ...bound },
  ];
}

async function bytesOf(way: Way, sight: Sight): Promise<number> {
  return new Promise((resolve, reject) => {
    const client: RawClient = new RawClient(wishOf(way, sight), () => {
      client.close();
      resolve(client.bytes);
    });
    client.ready.catch(reject);
  });
}

/** All connect in one go. @returns when each of them had caught up, in milliseconds since then */
async function comeBack(wishes: readonly ReturnType<typeof wishOf>[]): Promise<number[]> {
  const started = performance.now();
  const caughtUp = wishes.map(
    (wish) =>
      new Promise<{ client: RawClient; ms: number }>((resolve, reject) => {
        const client: RawClient = new RawClient(wish, () =>
          resolve({ client, ms: performance.now() - started }),
        );
        client.ready.catch(reject);
      }),
  );
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("not everybody could catch up")), PATIENCE_MS);
  });
  const all = await Promise.race([Promise.all(caughtUp), late]).finally(() => clearTimeout(timer));
  for (const { client } of all) client.close();
  return all.map(({ ms }) => ms);
}

/** The turns speak on. What is still to come is said again and again. @returns how to stop */
function goOn(pens: readonly Pen[], coming: readonly EventDraft[]): () => Promise<void> {
  let n = 0;
  let written: Promise<unknown> = Promise.resolve();
  const timer = setInterval(() => {
    const event = coming[n++ % coming.length];
    if (event !== undefined) written = Promise.all(pens.map(async (pen) => pen.write([event])));
  }, GOES_ON_EVERY_MS);
  return async () => {
    clearInterval(timer);
    await written;
  };
}
