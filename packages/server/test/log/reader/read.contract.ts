/** The contract of reading a log: pages, trimming, expiry, and a reason for every invalid cursor. */
import { beforeAll, describe, expect, test } from "vitest";
import type { AppendResult, InvalidCursorReason, Log } from "../../../src/log/log.ts";
import type { SessionRef } from "../../../src/util/refs.ts";
import { Reader, readAll, describeEntry, takeover, titles, startSession, sessionRef } from "../drafts.ts";

export function readContract(opened: () => Log): void {
  let log: Log;
  beforeAll(() => {
    log = opened();
  });

  describe("read and trim", () => {
    test("returns all entries in pages, each once", async () => {
      const session = await startSession(log);
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
      expect(await log.read(session, { after: "7-251" })).toEqual({
        ok: true,
        epoch: 7,
        entries: [],
        more: false,
      });
    });

    test("accepts the trim boundary as a cursor, also in an empty log, and continues the sequence", async () => {
      const session = await startSession(log);
      await log.append(session, { writer: "w1", epoch: 7, counter: 1, events: titles("a", "b", "c") });
      expect(await log.trim(session, "7-2")).toBe(true);
      expect((await readAll(log, session, "7-2")).map(describeEntry)).toEqual(["b", "c"]);
      expect(await log.read(session, { after: "7-1" })).toEqual({ ok: false, reason: "trimmed" });
      expect(await log.trim(session, "7-4")).toBe(true);
      expect(await log.trim(session, "7-4")).toBe(true);
      expect(await log.trim(session, "7-2")).toBe(false);
      expect(await log.trim(session, "7-9")).toBe(false);
      expect(await log.read(session, { after: "7-4" })).toEqual({
        ok: true,
        epoch: 7,
        entries: [],
        more: false,
      });
      expect(await log.head(session)).toEqual({ epoch: 7, last: "7-4", base: "7-4" });
      expect(
        (await log.append(session, { writer: "w1", epoch: 7, counter: 2, events: titles("d") })).last,
      ).toBe(5);
      expect(
        (await log.claim(session, { epoch: 8, writer: "w2", event: takeover(), archivedUpTo: "7-4" })).last,
      ).toBe(6);
      expect((await readAll(log, session, "7-4")).map((entry) => entry.cursor)).toEqual(["7-5", "8-6"]);
    });

    test("expires only an archived log, and cancels the expiry on a write with or without an epoch", async () => {
      const own = { writer: "w1", epoch: 7 };
      const fill = async (): Promise<SessionRef> => {
        const session = await startSession(log);
        await log.append(session, { ...own, counter: 1, events: titles("a") });
        return session;
      };
      /** Returns a session that was written to before it expired, when another one has expired that began later. */
      const outlive = async (write: (session: SessionRef) => Promise<AppendResult>): Promise<SessionRef> => {
        // On a machine that stalls, the write may come too late.
        for (const ms of [200, 2_000, 20_000]) {
          const [session, other] = [await fill(), await fill()];
          expect(await log.expire(session, "7-1", ms)).toBe(false);
          expect(await log.expire(session, "7-2", ms)).toBe(true);
          const written = await write(session).catch(() => null);
          // A claim starts an expired log again.
          if (written?.first !== 3) continue;
          await log.expire(other, "7-2", ms);
          await expect.poll(() => log.head(other)).toBeNull();
          return session;
        }
        throw new Error("no write came in time");
      };
      for (const batch of [
        { writer: "g", counter: 1 },
        { ...own, counter: 2 },
      ]) {
        const session = await outlive((ref) => log.append(ref, { ...batch, events: titles("b") }));
        expect(await readAll(log, session)).toHaveLength(3);
      }
      const claimed = await outlive((ref) =>
        log.claim(ref, { epoch: 8, writer: "w2", event: takeover(), archivedUpTo: "0-0" }),
      );
      expect(await readAll(log, claimed)).toHaveLength(3);
      expect(await log.expire(claimed, "8-3", 1)).toBe(true);
      await expect.poll(() => log.head(claimed)).toBeNull();
    });
  });

  describe("cursors", () => {
    const cases: [name: string, cursor: string, reason: InvalidCursorReason | null][] = [
      ["a word", "garbage", "malformed"],
      ["nothing", "", "malformed"],
      ["an incomplete cursor", "7-", "malformed"],
      ["a leading zero", "07-1", "malformed"],
      ["a negative number", "-1-1", "malformed"],
      ["a cursor with CR LF", "7-5\r\n", "malformed"],
      ["a cursor with NUL", "7-5\0", "malformed"],
      ["an epoch of 2^64", "18446744073709551616-1", "malformed"],
      ["a seq of 2^64", "7-18446744073709551616", "malformed"],
      ["a megabyte", "7".repeat(1_000_000), "malformed"],
      ["the start", "0-0", "trimmed"],
      ["a trimmed position", "7-2", "trimmed"],
      ["a position of an earlier epoch", "6-4", "trimmed"],
      ["a position after the end", "9-9", "ahead"],
      ["a position of a future epoch", "99-1", "ahead"],
      ["a position that its epoch never reached", "7-6", "lost"],
      ["a position of an unused epoch", "8-5", "lost"],
      ["a position of another session", "7-99", "lost"],
      ["the trim boundary", "7-3", null],
      ["an existing position", "9-6", null],
      ["the last position", "9-8", null],
    ];
    test.for(cases)("read and attach accept or refuse: %s", async ([, cursor, reason]) => {
      const session = await startSession(log);
      await log.append(session, { writer: "w1", epoch: 7, counter: 1, events: titles("a", "b", "c", "d") });
      await log.claim(session, { epoch: 9, writer: "w2", event: takeover(), archivedUpTo: "7-3" });
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
        await reader.until(({ end }) => end !== null);
        expect(reader.end).toBe(reason);
      }
      await reader.stop();
    });

    test("without a log, every cursor is reported as missing", async () => {
      const session = sessionRef();
      expect(await log.read(session, { after: "7-1" })).toEqual({ ok: false, reason: "missing" });
      const reader = new Reader(log, session, { after: "7-1" });
      await reader.until(({ end }) => end === "missing");
      await reader.stop();
    });
  });
}
