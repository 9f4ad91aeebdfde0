/** The contract of following a log with `attach` and `listen`. */
import { setImmediate as nextTick } from "node:timers/promises";
import { beforeAll, describe, expect, test, vi } from "vitest";
import type { Log } from "../../../src/log/log.ts";
import { Reader, readAll, takeover, title, titles, startSession, sessionRef } from "../drafts.ts";

export function attachContract(opened: () => Log): void {
  let log: Log;
  beforeAll(() => {
    log = opened();
  });

  describe.for(["attach", "listen"] as const)("%s", (way) => {
    test("replays the log, continues live, and ends when it is aborted", async () => {
      const session = await startSession(log);
      await log.append(session, { writer: "w1", epoch: 7, counter: 1, events: titles("a", "b") });
      const reader = new Reader(log, session, { after: "7-1" }, way);
      await reader.until(({ entries }) => entries.length === 2);
      await log.append(session, { writer: "w1", epoch: 7, counter: 2, events: titles("c") });
      await log.append(session, { writer: "w1", epoch: 7, counter: 3, events: titles("d", "e") });
      await log.claim(session, { epoch: 8, writer: "w2", event: takeover(), archivedUpTo: "0-0" });
      await log.append(session, { writer: "w2", epoch: 8, counter: 1, events: titles("f") });
      await reader.until(({ entries }) => entries.length === 7);
      expect(reader.texts).toEqual(["a", "b", "c", "d", "e", "turn.takeover", "f"]);
      expect(reader.cursors.at(-1)).toBe("8-8");
      await reader.stop();
      expect(reader.end).toBeNull();
      await log.append(session, { writer: "w2", epoch: 8, counter: 2, events: titles("g") });
      expect(reader.entries).toHaveLength(7);
    });

    test("delivers the same entries to many readers from every cursor while writers append", async () => {
      const session = await startSession(log);
      const work = { done: false };
      const writing = (async () => {
        for (let n = 1; n <= 150; n++) {
          if (n % 10 === 0) await nextTick();
          await log.append(session, {
            writer: "w1",
            epoch: 7,
            counter: n,
            events: titles(...Array.from({ length: (n % 3) + 1 }, (_, m) => `${n}.${m}`)),
          });
        }
        work.done = true;
      })();
      const readers: [Reader, number][] = [];
      while (!work.done) {
        const head = await log.head(session);
        const seq = Math.ceil((Number(head?.last.split("-")[1]) || 1) * ((readers.length % 5) / 4)) || 1;
        readers.push([new Reader(log, session, { after: `7-${seq}` }, way), seq]);
        await nextTick();
      }
      await writing;
      const all = await readAll(log, session);
      for (const [reader, seq] of readers) {
        await reader.until(({ entries }) => entries.length >= all.length - seq);
        expect(reader.cursors).toEqual(all.slice(seq).map((entry) => entry.cursor));
        await reader.stop();
      }
      expect(readers.length).toBeGreaterThan(0);
    });

    test("waits at the archived position until a log starts there", async () => {
      const session = sessionRef();
      const readFloor = vi.fn<() => Promise<string>>(async () => "7-20");
      const reader = new Reader(log, session, { after: "7-20", readFloor }, way);
      await expect.poll(() => readFloor).toHaveBeenCalled();
      const other = new Reader(log, session, { after: "7-19", readFloor }, way);
      await other.until(({ end }) => end === "missing");
      await log.claim(session, { epoch: 8, writer: "w1", event: takeover(), archivedUpTo: "7-20" });
      await reader.until(({ entries }) => entries.length === 1);
      expect(reader.cursors).toEqual(["8-21"]);
      await reader.stop();
    });

    test("fails once with the error of `readFloor`", async () => {
      const options = { after: "7-20", readFloor: () => Promise.reject(new Error("of the store")) };
      const reader = new Reader(log, sessionRef(), options, way);
      await expect(reader.done).rejects.toThrow("of the store");
      // Without an end, this would never run.
      await nextTick();
    });

    test("waits at the archived position while the log ends before it", async () => {
      const session = await startSession(log);
      const readFloor = vi.fn<() => Promise<string>>(async () => "7-20");
      const reader = new Reader(log, session, { after: "7-20", readFloor }, way);
      await expect.poll(() => readFloor).toHaveBeenCalled();
      expect(reader.end).toBeNull();
      await log.claim(session, { epoch: 8, writer: "w2", event: takeover(), archivedUpTo: "7-20" });
      await reader.until(({ entries }) => entries.length === 1);
      expect(reader.cursors).toEqual(["8-21"]);
      await reader.stop();
    });

    test("ends every reader when the log is deleted", async () => {
      const session = await startSession(log);
      const readers = [
        new Reader(log, session, { after: "0-0" }, way),
        new Reader(log, session, { after: "7-1" }, way),
      ];
      await readers[0]?.until(({ entries }) => entries.length === 1);
      await log.remove(session);
      for (const reader of readers) await reader.until(({ end }) => end === "removed" || end === "missing");
      expect(await log.head(session)).toBeNull();
      expect(await log.read(session, { after: "7-1" })).toEqual({ ok: false, reason: "missing" });
    });

    test("lets readers attach to one session and leave many times", async () => {
      const session = await startSession(log);
      for (let n = 0; n < 30; n++) {
        const reader = new Reader(log, session, { after: "0-0" }, way);
        if (n % 3 === 0) await reader.until(({ entries }) => entries.length > 0);
        await log.append(session, { writer: "w1", epoch: 7, counter: n + 1, events: [title(`${n}`)] });
        if (n % 2 === 0) await reader.until(({ entries }) => entries.length === n + 2);
        await reader.stop();
        expect(reader.end).toBeNull();
      }
    });
  });

  describe("attach", () => {
    test("buffers a bounded amount for a slow reader, which still receives every entry", async () => {
      const session = await startSession(log);
      const aborted = new AbortController();
      const stream = log.attach(session, { after: "7-1", signal: aborted.signal })[Symbol.asyncIterator]();
      const first = stream.next();
      await log.append(session, { writer: "w1", epoch: 7, counter: 1, events: titles("a") });
      await first;
      for (let n = 2; n <= 12; n++) {
        await log.append(session, {
          writer: "w1",
          epoch: 7,
          counter: n,
          events: titles(...Array.from({ length: 500 }, (_, m) => `${n}.${m}`.padEnd(1_000))),
        });
      }
      let seq = 2;
      let most = 0;
      while (seq < 2 + 11 * 500) {
        const { value } = await stream.next();
        if (value?.type !== "entries") throw new Error("ended");
        most = Math.max(most, value.entries.length);
        for (const entry of value.entries) expect(entry.seq).toBe(++seq);
      }
      // The limit is about one megabyte, plus the batch that exceeded it.
      expect(most).toBeLessThanOrEqual(1_500);
      aborted.abort();
      expect(await stream.next()).toEqual({ done: true, value: undefined });
    });
  });

  describe("listen", () => {
    test("rejects with the error that the listener throws", async () => {
      const session = await startSession(log);
      const listening = log.listen(session, { after: "7-1" }, () => {
        throw new Error("of its own");
      });
      await log.append(session, { writer: "w1", epoch: 7, counter: 1, events: titles("a") });
      await expect(listening).rejects.toThrow("of its own");
    });

    test("delivers everything that arrives in one tick in one call", async () => {
      const session = await startSession(log);
      const stopped = new AbortController();
      const sizes: number[] = [];
      const listening = log.listen(session, { after: "7-1", signal: stopped.signal }, (delivery) => {
        if (delivery.type === "entries") sizes.push(delivery.entries.length);
      });
      const total = () => sizes.reduce((sum, size) => sum + size, 0);
      const append = (counter: number) =>
        log.append(session, { writer: "w1", epoch: 7, counter, events: titles(`${counter}`) });
      await append(1);
      await expect.poll(total).toBe(1);
      await Promise.all(Array.from({ length: 100 }, async (_, n) => append(n + 2)));
      await expect.poll(total).toBe(101);
      expect(sizes.length).toBeLessThan(60);
      stopped.abort();
      await listening;
    });
  });
}
