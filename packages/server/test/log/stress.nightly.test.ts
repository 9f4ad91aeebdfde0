/**
 * Stress test on a real Redis: many sessions, writers that continue as zombies after a takeover, readers that
 * reconnect, and connections that are cut. Sequences stay dense, no zombie can append, and readers receive exactly the
 * log.
 */
import { startProxy } from "@turnstream/testkit/network/tcp-proxy.ts";
import { startRedis } from "@turnstream/testkit/servers/start-redis.ts";
import { expect, test } from "vitest";
import { isLogError } from "../../src/log/errors.ts";
import type { LogEntry } from "../../src/log/entry.ts";
import type { Log } from "../../src/log/log.ts";
import { createRedisLog } from "../../src/log/redis/create-redis-log.ts";
import type { SessionRef } from "../../src/util/refs.ts";
import { Reader, readAll, describeEntry, sessionRef, sessionStart, takeover, titles } from "./drafts.ts";

const SESSIONS = 40;
const EVENTS = 750;
/** The first claim is not a takeover. */
const CLAIMS = 9;
const RECONNECTS = 25;
const MAX_CUTS = 20;
/** Minimum number of readers that receive an entry between two cuts. Without it, a slow machine never recovers. */
const READS_PER_CUT = 10;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

interface Tally {
  acknowledged: Map<string, string>;
  takeovers: number;
  zombieTries: number;
  fenced: number;
  reconnects: number;
}

/** Appends until it is fenced or `enough()` returns true. A fenced writer keeps trying as a zombie. */
async function work(
  log: Log,
  session: SessionRef,
  epoch: number,
  tally: Tally,
  enough: () => boolean,
): Promise<void> {
  const writer = `w${epoch}`;
  for (let counter = 1; !enough(); counter++) {
    const events = titles(
      ...Array.from({ length: (counter % 3) + 1 }, (_, n) => `${writer}.${counter}.${n}`),
    );
    try {
      const { first } = await log.append(session, { writer, epoch, counter, events });
      for (const n of events.keys())
        tally.acknowledged.set(`${epoch}-${first + n}`, `${writer}.${counter}.${n}`);
    } catch (error) {
      if (!isLogError(error, "FENCED")) throw error;
      tally.fenced++;
      for (let again = 0; again < 3; again++) {
        tally.zombieTries++;
        const late = {
          writer,
          epoch,
          counter: counter + again,
          events: titles("zombie"),
          isRetry: again === 2,
        };
        const outcome = await log.append(session, late).catch((refused: unknown) => refused);
        expect(isLogError(outcome, "FENCED")).toBe(true);
        await pause(2);
      }
      return;
    }
  }
}

async function write(log: Log, session: SessionRef, tally: Tally): Promise<void> {
  const length = async () => Number((await log.head(session))?.last.split("-")[1] ?? 0);
  const workers: Promise<void>[] = [];
  let isOver = false;
  for (let epoch = 1; epoch <= CLAIMS; epoch++) {
    const event = epoch === 1 ? sessionStart(session) : takeover();
    const { last } = await log.claim(session, { epoch, writer: `w${epoch}`, event, archivedUpTo: "0-0" });
    tally.acknowledged.set(`${epoch}-${last}`, event.type);
    if (epoch > 1) tally.takeovers++;
    // The previous writer is alive in the middle of an append, and learns of the takeover from the refusal.
    workers.push(work(log, session, epoch, tally, () => isOver));
    while ((await length()) < (EVENTS * epoch) / CLAIMS) await pause(5);
  }
  isOver = true;
  await Promise.all(workers);
}

/** Reads a whole session, reconnecting again and again from its last cursor. */
async function follow(
  log: Log,
  session: SessionRef,
  tally: Tally,
  isWritten: () => boolean,
  onRead: () => void,
): Promise<LogEntry[]> {
  const seen: LogEntry[] = [];
  for (let left = RECONNECTS; ; left--) {
    const isLast = left <= 0 && isWritten();
    const reader = new Reader(log, session, { after: seen.at(-1)?.cursor ?? "0-0" });
    if (isLast) {
      const length = Number((await log.head(session))?.last.split("-")[1]);
      await reader.until(({ entries }) => entries.length >= length - seen.length);
    } else {
      // On a slow machine, a pause alone would end every reader before its first page arrives.
      await reader.until(({ entries }) => entries.length > 0 || isWritten());
      await pause(Math.random() * (isWritten() ? 5 : 60));
      tally.reconnects++;
    }
    await reader.stop();
    expect(reader.end).toBeNull();
    seen.push(...reader.entries);
    if (reader.entries.length > 0) onRead();
    if (isLast) return seen;
  }
}

test(
  "40 sessions, 30,000 events, 1,000 reconnects, 320 takeovers with live zombies",
  { timeout: 180_000 },
  async () => {
    const redis = await startRedis();
    const proxy = await startProxy({ to: { host: "127.0.0.1", port: redis.port } });
    const writing = await createRedisLog({ url: redis.url, responseTimeoutMs: 60_000 });
    const reading = await createRedisLog({ url: `redis://127.0.0.1:${proxy.port}` });
    const tally: Tally = { acknowledged: new Map(), takeovers: 0, zombieTries: 0, fenced: 0, reconnects: 0 };
    let cuts = 0;
    let got = 0;
    let gotBefore = 0;
    const cutting = setInterval(() => {
      if (got - gotBefore < READS_PER_CUT || cuts === MAX_CUTS) return;
      gotBefore = got;
      cuts++;
      proxy.cutConnections();
    }, 150);
    let events = 0;
    await Promise.all(
      Array.from({ length: SESSIONS }, async (_, n) => {
        const session = sessionRef(`stress-${n}`);
        const own: Tally = {
          ...tally,
          acknowledged: new Map(),
          takeovers: 0,
          zombieTries: 0,
          fenced: 0,
          reconnects: 0,
        };
        let isWritten = false;
        const written = write(writing, session, own).then(() => (isWritten = true));
        // The log must exist before a reader reads it from its start.
        while ((await writing.head(session)) === null) await pause(5);
        const [seen] = await Promise.all([
          follow(
            reading,
            session,
            own,
            () => isWritten,
            () => got++,
          ),
          written,
        ]);
        const entries = await readAll(writing, session);
        expect(entries.map(({ seq }) => seq)).toEqual(entries.map((_entry, index) => index + 1));
        expect(entries.map(({ epoch }) => epoch)).toEqual(
          entries.map(({ epoch }) => epoch).toSorted((a, b) => a - b),
        );
        expect(entries.filter((entry) => describeEntry(entry) === "zombie")).toEqual([]);
        // The log contains exactly the acknowledged events, at the acknowledged positions.
        expect(new Map(entries.map((entry) => [entry.cursor, describeEntry(entry)]))).toEqual(
          own.acknowledged,
        );
        expect(seen.map(({ text }) => text)).toEqual(entries.map(({ text }) => text));
        events += entries.length;
        for (const count of ["takeovers", "zombieTries", "fenced", "reconnects"] as const)
          tally[count] += own[count];
      }),
    );
    clearInterval(cutting);
    await Promise.all([writing.close(), reading.close(), proxy.close()]);
    await redis.stop();
    expect(events).toBeGreaterThanOrEqual(30_000);
    expect(tally.takeovers).toBe(SESSIONS * (CLAIMS - 1));
    expect(tally.reconnects).toBeGreaterThanOrEqual(SESSIONS * RECONNECTS);
    expect(tally.fenced).toBe(tally.takeovers);
    expect(tally.zombieTries).toBe(3 * tally.takeovers);
    expect(cuts).toBeGreaterThan(5);
  },
);
