/** The contract of the log, as tests that run on every implementation of it. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LogError } from "../../src/log/errors.ts";
import type { BadCursorReason, Log } from "../../src/log/log.ts";
import { lastCursor, Reader, readAll, said, sessionStart, takeover, title, titles } from "./drafts.ts";

export function logContract(name: string, open: () => Promise<Log>): void {
  describe(`the log on ${name}`, () => {
    let log: Log;
    beforeAll(async () => {
      log = await open();
    });
    afterAll(async () => {
      await log.close();
    });

    /** A session whose log begins with epoch 7. */
    async function begun(writer = "w1", epoch = 7): Promise<string> {
      const session = randomUUID();
      await log.claim(session, { epoch, writer, event: sessionStart(session), floor: "0-0" });
      return session;
    }

    async function refusal(work: Promise<unknown>): Promise<string> {
      const error = await work.then(
        () => null,
        (caught: unknown) => caught,
      );
      expect(error).toBeInstanceOf(LogError);
      return (error as LogError).code;
    }

    describe("append", () => {
      test("gives dense positions in one epoch, and stores the events as they are", async () => {
        const session = await begun();
        const one = await log.append(session, {
          writer: "w1",
          epoch: 7,
          counter: 1,
          events: titles("a", "b\n\u2028'c"),
        });
        expect(one).toEqual({ epoch: 7, first: 2, last: 3, repeated: false });
        const two = await log.append(session, { writer: "gateway", counter: 1, events: titles("d") });
        expect(two).toEqual({ epoch: 7, first: 4, last: 4, repeated: false });
        const entries = await readAll(log, session);
        expect(entries.map((entry) => entry.cursor)).toEqual(["7-1", "7-2", "7-3", "7-4"]);
        expect(entries.map(said)).toEqual(["session.start", "a", "b\n\u2028'c", "d"]);
        expect(entries[1]?.event).toMatchObject({ v: 2, id: "7-2", type: "session.update", title: "a" });
        expect(JSON.parse(entries[2]?.text ?? "")).toEqual(entries[2]?.event);
        expect(entries[1]?.key).toBe("w1:1");
      });

      test("is refused at once after another writer has claimed, and changes nothing", async () => {
        const session = await begun();
        await log.claim(session, { epoch: 8, writer: "w2", event: takeover(), floor: "0-0" });
        expect(
          await refusal(log.append(session, { writer: "w1", epoch: 7, counter: 1, events: titles("late") })),
        ).toBe("FENCED");
        expect((await readAll(log, session)).map((entry) => entry.cursor)).toEqual(["7-1", "8-2"]);
      });

      test("is refused for another writer of the same epoch, a higher epoch, and without a log", async () => {
        const session = await begun();
        expect(
          await refusal(log.append(session, { writer: "w9", epoch: 7, counter: 1, events: titles("x") })),
        ).toBe("UNCLAIMED");
        expect(
          await refusal(log.append(session, { writer: "w1", epoch: 9, counter: 1, events: titles("x") })),
        ).toBe("UNCLAIMED");
        const none = randomUUID();
        expect(
          await refusal(log.append(none, { writer: "w1", epoch: 7, counter: 1, events: titles("x") })),
        ).toBe("UNCLAIMED");
        expect(await refusal(log.append(none, { writer: "g", counter: 1, events: titles("x") }))).toBe(
          "UNCLAIMED",
        );
        expect(await log.head(none)).toBeNull();
      });

      test("repeated after an unclear failure answers with the earlier positions", async () => {
        const session = await begun();
        const batch = { writer: "w1", epoch: 7, counter: 1, events: titles("a", "b") };
        await log.append(session, batch);
        for (let n = 0; n < 300; n++) {
          await log.append(session, { writer: "g", counter: n, events: titles(`g${n}`) });
        }
        expect(await log.append(session, { ...batch, repeat: true })).toEqual({
          epoch: 7,
          first: 2,
          last: 3,
          repeated: true,
        });
        const next = { ...batch, counter: 2, repeat: true };
        expect(await log.append(session, next)).toEqual({ epoch: 7, first: 304, last: 305, repeated: false });
        // Also by a writer that was fenced meanwhile: it happened.
        await log.claim(session, { epoch: 8, writer: "w2", event: takeover(), floor: "0-0" });
        expect((await log.append(session, next)).repeated).toBe(true);
        expect(await refusal(log.append(session, { ...next, counter: 3 }))).toBe("FENCED");
      });

      test("repeated by anybody under one key happens once, however many race", async () => {
        const session = await begun();
        const since = "7-1";
        const race = Array.from({ length: 20 }, () =>
          log.append(session, {
            writer: "decision/42",
            counter: 0,
            repeat: true,
            since,
            events: titles("decided"),
          }),
        );
        const answers = await Promise.all(race);
        expect(answers.filter(({ repeated }) => !repeated)).toHaveLength(1);
        expect(new Set(answers.map(lastCursor)).size).toBe(1);
        expect((await readAll(log, session)).map(said)).toEqual(["session.start", "decided"]);
      });

      test("repeated with a bound that was trimmed is not guessed at", async () => {
        const session = await begun();
        await log.append(session, { writer: "w1", epoch: 7, counter: 1, events: titles("a", "b", "c") });
        await log.trim(session, "7-3");
        const batch = { writer: "o/1", counter: 0, repeat: true, events: titles("x") };
        expect(await refusal(log.append(session, { ...batch, since: "7-2" }))).toBe("UNSURE");
        expect((await log.append(session, { ...batch, since: "7-3" })).last).toBe(5);
        expect((await log.append(session, batch)).repeated).toBe(true);
      });

      test("refuses what no program should send", async () => {
        const session = await begun();
        const append = (batch: object) =>
          refusal(log.append(session, { writer: "w1", epoch: 7, counter: 1, events: titles("a"), ...batch }));
        expect(await append({ events: [] })).toBe("INVALID");
        expect(await append({ writer: "w 1" })).toBe("INVALID");
        expect(await append({ writer: "" })).toBe("INVALID");
        expect(await append({ since: "x" })).toBe("INVALID");
        expect(await append({ events: titles("x".repeat(70_000)) })).toBe("TOO_LARGE");
        expect(await append({ events: titles("漢".repeat(22_000)) })).toBe("TOO_LARGE");
        expect(await refusal(log.append("a}b{c", { writer: "w", counter: 1, events: titles("a") }))).toBe(
          "INVALID",
        );
        expect((await readAll(log, session)).map(said)).toEqual(["session.start"]);
      });
    });

    describe("claim", () => {
      test("continues the sequence under a new epoch, once", async () => {
        const session = await begun();
        await log.append(session, { writer: "w1", epoch: 7, counter: 1, events: titles("a") });
        const claim = { epoch: 9, writer: "w2", event: takeover(), floor: "7-1" };
        expect(await log.claim(session, claim)).toEqual({ epoch: 9, first: 3, last: 3, repeated: false });
        await log.append(session, { writer: "w2", epoch: 9, counter: 1, events: titles("b") });
        expect(await log.claim(session, claim)).toEqual({ epoch: 9, first: 3, last: 3, repeated: true });
        expect(await refusal(log.claim(session, { ...claim, writer: "w3" }))).toBe("OUTBID");
        expect(await refusal(log.claim(session, { ...claim, epoch: 8, writer: "w3" }))).toBe("OUTBID");
        expect(await log.head(session)).toEqual({ epoch: 9, last: "9-4", base: "0-0" });
      });

      test("of many at once, the highest epoch has the log in the end, and all are in order", async () => {
        const session = await begun();
        const claims = Array.from({ length: 20 }, (_, n) =>
          log
            .claim(session, { epoch: 100 + n, writer: `c${n}`, event: takeover(), floor: "0-0" })
            .catch(() => null),
        );
        const won = (await Promise.all(claims)).filter((answer) => answer !== null);
        const entries = await readAll(log, session);
        expect(entries).toHaveLength(1 + won.length);
        expect(entries.map(({ seq }) => seq)).toEqual(entries.map((_, n) => n + 1));
        expect(entries.map(({ epoch }) => epoch)).toEqual(
          entries.map(({ epoch }) => epoch).toSorted((a, b) => a - b),
        );
        expect(entries.at(-1)?.epoch).toBe(119);
      });

      test("makes a missing log begin right after what is archived", async () => {
        const session = randomUUID();
        const claim = { epoch: 12, writer: "w1", event: takeover(), floor: "11-40" };
        expect(await log.claim(session, claim)).toMatchObject({ first: 41, last: 41 });
        expect(await log.head(session)).toEqual({ epoch: 12, last: "12-41", base: "11-40" });
        expect((await readAll(log, session, "11-40")).map((entry) => entry.cursor)).toEqual(["12-41"]);
        expect(await log.read(session, { after: "11-39" })).toEqual({ ok: false, reason: "trimmed" });
        expect(await log.read(session, { after: "0-0" })).toEqual({ ok: false, reason: "trimmed" });
      });

      test("leaves no hole when the log ends before what is archived", async () => {
        const session = await begun();
        await log.append(session, { writer: "w1", epoch: 7, counter: 1, events: titles("a") });
        await log.claim(session, { epoch: 8, writer: "w2", event: takeover(), floor: "7-30" });
        expect(await log.head(session)).toEqual({ epoch: 8, last: "8-31", base: "7-30" });
        expect(await log.read(session, { after: "7-2" })).toEqual({ ok: false, reason: "trimmed" });
      });
    });

    describe("read and trim", () => {
      test("pages through everything, each entry once", async () => {
        const session = await begun();
        for (let n = 0; n < 25; n++) {
          await log.append(session, {
            writer: "w1",
            epoch: 7,
            counter: n + 1,
            events: titles(...Array.from({ length: 10 }, (_, m) => `${n}.${m}`)),
          });
        }
        const entries = await readAll(log, session);
        expect(entries.map(({ seq }) => seq)).toEqual(Array.from({ length: 251 }, (_, n) => n + 1));
        const page = await log.read(session, { after: "7-100", limit: 3 });
        expect(page.ok && page.more && page.entries.map(({ seq }) => seq)).toEqual([101, 102, 103]);
        const rest = await log.read(session, { after: "7-248", limit: 3 });
        expect(rest.ok && !rest.more && rest.entries.length).toBe(3);
        expect(await log.read(session, { after: "7-251" })).toEqual({ ok: true, entries: [], more: false });
      });

      test("keeps the boundary as a good cursor, also when nothing is left, and counts on", async () => {
        const session = await begun();
        await log.append(session, { writer: "w1", epoch: 7, counter: 1, events: titles("a", "b", "c") });
        expect(await log.trim(session, "7-2")).toBe(true);
        expect((await readAll(log, session, "7-2")).map(said)).toEqual(["b", "c"]);
        expect(await log.read(session, { after: "7-1" })).toEqual({ ok: false, reason: "trimmed" });
        expect(await log.trim(session, "7-4")).toBe(true);
        expect(await log.trim(session, "7-4")).toBe(true);
        expect(await log.trim(session, "7-2")).toBe(false);
        expect(await log.trim(session, "7-9")).toBe(false);
        expect(await log.read(session, { after: "7-4" })).toEqual({ ok: true, entries: [], more: false });
        expect(await log.head(session)).toEqual({ epoch: 7, last: "7-4", base: "7-4" });
        expect(
          (await log.append(session, { writer: "w1", epoch: 7, counter: 2, events: titles("d") })).last,
        ).toBe(5);
        expect(
          (await log.claim(session, { epoch: 8, writer: "w2", event: takeover(), floor: "7-4" })).last,
        ).toBe(6);
        expect((await readAll(log, session, "7-4")).map((entry) => entry.cursor)).toEqual(["7-5", "8-6"]);
      });

      test("expires only what is archived, and not once somebody writes", async () => {
        const session = await begun();
        await log.append(session, { writer: "w1", epoch: 7, counter: 1, events: titles("a") });
        expect(await log.expire(session, "7-1", 50)).toBe(false);
        expect(await log.expire(session, "7-2", 150)).toBe(true);
        await log.append(session, { writer: "g", counter: 1, events: titles("b") });
        await new Promise((resolve) => setTimeout(resolve, 300));
        expect(await readAll(log, session)).toHaveLength(3);
        expect(await log.expire(session, "7-3", 1)).toBe(true);
        await expect.poll(() => log.head(session)).toBeNull();
      });
    });

    describe("bad cursors", () => {
      const cases: [name: string, cursor: string, reason: BadCursorReason | null][] = [
        ["a word", "garbage", "malformed"],
        ["nothing", "", "malformed"],
        ["half a cursor", "7-", "malformed"],
        ["a leading zero", "07-1", "malformed"],
        ["a negative one", "-1-1", "malformed"],
        ["one with CR LF", "7-5\r\n", "malformed"],
        ["one with NUL", "7-5\0", "malformed"],
        ["an epoch of 2^64", "18446744073709551616-1", "malformed"],
        ["a seq of 2^64", "7-18446744073709551616", "malformed"],
        ["a megabyte", "7".repeat(1_000_000), "malformed"],
        ["the start", "0-0", "trimmed"],
        ["one before the trim", "7-2", "trimmed"],
        ["one of an epoch before", "6-4", "trimmed"],
        ["one after the end", "9-9", "ahead"],
        ["one of an epoch to come", "99-1", "ahead"],
        ["one that its epoch never reached", "7-6", "lost"],
        ["one of an epoch that never was", "8-5", "lost"],
        ["one of another session", "7-99", "lost"],
        ["the boundary", "7-3", null],
        ["one that is there", "9-6", null],
        ["the last one", "9-8", null],
      ];
      test.for(cases)("%s is answered by read and by attach", async ([, cursor, reason]) => {
        const session = await begun();
        await log.append(session, { writer: "w1", epoch: 7, counter: 1, events: titles("a", "b", "c", "d") });
        await log.claim(session, { epoch: 9, writer: "w2", event: takeover(), floor: "7-3" });
        await log.append(session, { writer: "w2", epoch: 9, counter: 1, events: titles("e", "f") });
        await log.trim(session, "7-3");
        const left = ["7-4", "7-5", "9-6", "9-7", "9-8"];
        const answer = await log.read(session, { after: cursor });
        const reader = new Reader(log, session, { after: cursor });
        if (reason === null) {
          const after = left.slice(left.indexOf(cursor) + 1);
          expect(answer.ok && answer.entries.map((entry) => entry.cursor)).toEqual(after);
          await reader.until(({ entries }) => entries.length >= after.length);
          expect(reader.cursors).toEqual(after);
        } else {
          expect(answer).toEqual({ ok: false, reason });
          await reader.until(({ end }) => end !== null, 1_000);
          expect(reader.end).toBe(reason);
        }
        await reader.stop();
      });

      test("without a log every cursor is answered as missing", async () => {
        const session = randomUUID();
        expect(await log.read(session, { after: "7-1" })).toEqual({ ok: false, reason: "missing" });
        const reader = new Reader(log, session, { after: "7-1" });
        await reader.until(({ end }) => end === "missing", 1_000);
        await reader.stop();
      });
    });

    describe("attach", () => {
      test("replays, then goes on live, and ends when asked", async () => {
        const session = await begun();
        await log.append(session, { writer: "w1", epoch: 7, counter: 1, events: titles("a", "b") });
        const reader = new Reader(log, session, { after: "7-1" });
        await reader.until(({ entries }) => entries.length === 2);
        await log.append(session, { writer: "w1", epoch: 7, counter: 2, events: titles("c") });
        await log.append(session, { writer: "w1", epoch: 7, counter: 3, events: titles("d", "e") });
        await log.claim(session, { epoch: 8, writer: "w2", event: takeover(), floor: "0-0" });
        await log.append(session, { writer: "w2", epoch: 8, counter: 1, events: titles("f") });
        await reader.until(({ entries }) => entries.length === 7);
        expect(reader.said).toEqual(["a", "b", "c", "d", "e", "turn.takeover", "f"]);
        expect(reader.cursors.at(-1)).toBe("8-8");
        await reader.stop();
        expect(reader.end).toBeNull();
        await log.append(session, { writer: "w2", epoch: 8, counter: 2, events: titles("g") });
        expect(reader.entries).toHaveLength(7);
      });

      test("gives many readers from every cursor the same, while writers write", async () => {
        const session = await begun();
        let done = false;
        const writing = (async () => {
          for (let n = 1; n <= 150; n++) {
            if (n % 10 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
            await log.append(session, {
              writer: "w1",
              epoch: 7,
              counter: n,
              events: titles(...Array.from({ length: (n % 3) + 1 }, (_, m) => `${n}.${m}`)),
            });
          }
          done = true;
        })();
        const readers: [Reader, number][] = [];
        while (!done) {
          const head = await log.head(session);
          const seq = Math.ceil((Number(head?.last.split("-")[1]) || 1) * ((readers.length % 5) / 4)) || 1;
          readers.push([new Reader(log, session, { after: `7-${seq}` }), seq]);
          await new Promise((resolve) => setTimeout(resolve, 1));
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

      test("waits at the archived position until a log begins there", async () => {
        const session = randomUUID();
        const reader = new Reader(log, session, { after: "7-20", floor: "7-20" });
        const other = new Reader(log, session, { after: "7-19", floor: "7-20" });
        await other.until(({ end }) => end === "missing");
        await new Promise((resolve) => setTimeout(resolve, 100));
        await log.claim(session, { epoch: 8, writer: "w1", event: takeover(), floor: "7-20" });
        await reader.until(({ entries }) => entries.length === 1);
        expect(reader.cursors).toEqual(["8-21"]);
        await reader.stop();
      });

      test("holds little for a slow reader, who still misses nothing", async () => {
        const session = await begun();
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
            events: titles(...Array.from({ length: 500 }, (_, m) => `${n}.${m}`)),
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
        expect(most).toBeLessThanOrEqual(2_500);
        aborted.abort();
        expect(await stream.next()).toEqual({ done: true, value: undefined });
      });

      test("tells everybody when the log is deleted", async () => {
        const session = await begun();
        const readers = [
          new Reader(log, session, { after: "0-0" }),
          new Reader(log, session, { after: "7-1" }),
        ];
        await readers[0]?.until(({ entries }) => entries.length === 1);
        await log.remove(session);
        for (const reader of readers) await reader.until(({ end }) => end === "removed" || end === "missing");
        expect(await log.head(session)).toBeNull();
        expect(await log.read(session, { after: "7-1" })).toEqual({ ok: false, reason: "missing" });
      });

      test("can come and go on one session many times", async () => {
        const session = await begun();
        for (let n = 0; n < 30; n++) {
          const reader = new Reader(log, session, { after: "0-0" });
          if (n % 3 === 0) await reader.until(({ entries }) => entries.length > 0);
          await log.append(session, { writer: "w1", epoch: 7, counter: n + 1, events: [title(`${n}`)] });
          if (n % 2 === 0) await reader.until(({ entries }) => entries.length === n + 2);
          await reader.stop();
        }
      });
    });
  });
}
