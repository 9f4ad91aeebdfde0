/** The contract of writing to a log: appends and claims. */
import { beforeAll, describe, expect, test } from "vitest";
import { isLogError } from "../../../src/log/errors.ts";
import type { Log } from "../../../src/log/log.ts";
import {
  startSession,
  lastCursor,
  readAll,
  refusal,
  describeEntry,
  takeover,
  title,
  titles,
  sessionRef,
} from "../drafts.ts";

const refusalOf = (error: unknown) => (isLogError(error) ? error.code : String(error));

export function writeContract(opened: () => Log): void {
  let log: Log;
  beforeAll(() => {
    log = opened();
  });

  describe("append", () => {
    test("assigns dense positions in one epoch and stores the events unchanged", async () => {
      const session = await startSession(log);
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
      expect(entries.map(describeEntry)).toEqual(["session.start", "a", "b\n\u2028'c", "d"]);
      expect(entries[1]?.event).toMatchObject({ v: 1, id: "7-2", type: "session.update", title: "a" });
      expect(JSON.parse(entries[2]?.text ?? "")).toEqual(entries[2]?.event);
      expect(entries[1]?.key).toBe("w1:1");
    });

    test("is refused immediately after another writer's claim, and changes nothing", async () => {
      const session = await startSession(log);
      await log.claim(session, { epoch: 8, writer: "w2", event: takeover(), archivedUpTo: "0-0" });
      expect(
        await refusal(log.append(session, { writer: "w1", epoch: 7, counter: 1, events: titles("late") })),
      ).toBe("FENCED");
      expect((await readAll(log, session)).map((entry) => entry.cursor)).toEqual(["7-1", "8-2"]);
    });

    test("is refused for another writer of the same epoch, for a higher epoch, and without a log", async () => {
      const session = await startSession(log);
      expect(
        await refusal(log.append(session, { writer: "w9", epoch: 7, counter: 1, events: titles("x") })),
      ).toBe("UNCLAIMED");
      expect(
        await refusal(log.append(session, { writer: "w1", epoch: 9, counter: 1, events: titles("x") })),
      ).toBe("UNCLAIMED");
      const none = sessionRef();
      expect(
        await refusal(log.append(none, { writer: "w1", epoch: 7, counter: 1, events: titles("x") })),
      ).toBe("UNCLAIMED");
      expect(await refusal(log.append(none, { writer: "g", counter: 1, events: titles("x") }))).toBe(
        "UNCLAIMED",
      );
      expect(await log.head(none)).toBeNull();
    });

    test("returns the earlier positions when it is retried after an unclear failure", async () => {
      const session = await startSession(log);
      const batch = { writer: "w1", epoch: 7, counter: 1, events: titles("a", "b") };
      await log.append(session, batch);
      for (let n = 0; n < 300; n++) {
        await log.append(session, { writer: "g", counter: n, events: titles(`g${n}`) });
      }
      expect(await log.append(session, { ...batch, isRetry: true })).toEqual({
        epoch: 7,
        first: 2,
        last: 3,
        repeated: true,
      });
      const next = { ...batch, counter: 2, isRetry: true };
      expect(await log.append(session, next)).toEqual({ epoch: 7, first: 304, last: 305, repeated: false });
      // Also for a writer that was fenced in between, because the append did happen.
      await log.claim(session, { epoch: 8, writer: "w2", event: takeover(), archivedUpTo: "0-0" });
      expect((await log.append(session, next)).repeated).toBe(true);
      expect(await refusal(log.append(session, { ...next, counter: 3 }))).toBe("FENCED");
    });

    test("refuses an earlier try of a writer after a later one, also if the later one found the append", async () => {
      const session = await startSession(log);
      const batch = { writer: "w1", epoch: 7, counter: 1, events: titles("a") };
      const next = { ...batch, counter: 2, events: titles("b") };
      await log.append(session, batch);
      expect((await log.append(session, { ...batch, isRetry: true, generation: 2 })).repeated).toBe(true);
      await log.expire(session, "7-2", 60_000);
      expect(await refusal(log.append(session, next))).toBe("UNCLAIMED");
      expect(await refusal(log.append(session, { ...next, isRetry: true, generation: 1 }))).toBe("UNCLAIMED");
      expect((await log.append(session, { ...next, generation: 2 })).last).toBe(3);
      expect(await refusal(log.append(session, { ...next, counter: 3 }))).toBe("UNCLAIMED");
      expect((await readAll(log, session)).map(describeEntry)).toEqual(["session.start", "a", "b"]);
    });

    test("happens once under one key, however many writers retry it at once", async () => {
      const session = await startSession(log);
      const since = "7-1";
      const race = Array.from({ length: 20 }, () =>
        log.append(session, {
          writer: "decision/42",
          counter: 0,
          isRetry: true,
          since,
          events: titles("decided"),
        }),
      );
      const answers = await Promise.all(race);
      expect(answers.filter(({ repeated }) => !repeated)).toHaveLength(1);
      expect(new Set(answers.map(lastCursor)).size).toBe(1);
      expect((await readAll(log, session)).map(describeEntry)).toEqual(["session.start", "decided"]);
    });

    test("fails as UNSURE when its `since` bound was trimmed", async () => {
      const session = await startSession(log);
      await log.append(session, { writer: "w1", epoch: 7, counter: 1, events: titles("a", "b", "c") });
      await log.trim(session, "7-3");
      const batch = { writer: "o/1", counter: 0, isRetry: true, events: titles("x") };
      expect(await refusal(log.append(session, { ...batch, since: "7-2" }))).toBe("UNSURE");
      expect((await log.append(session, { ...batch, since: "7-3" })).last).toBe(5);
      expect((await log.append(session, batch)).repeated).toBe(true);
    });

    test("fails as UNCLAIMED when the log ends before its `since` bound, because it lost entries", async () => {
      const session = await startSession(log);
      const batch = { writer: "o/1", counter: 0, isRetry: true, events: titles("x") };
      expect(await refusal(log.append(session, { ...batch, since: "7-2" }))).toBe("UNCLAIMED");
      await log.claim(session, { epoch: 8, writer: "w2", event: takeover(), archivedUpTo: "7-2" });
      expect((await log.append(session, { ...batch, since: "7-2" })).last).toBe(4);
    });

    test("fails as UNSURE when the writer's own claim was trimmed", async () => {
      const session = await startSession(log);
      const batch = { writer: "w1", epoch: 7, counter: 1, events: titles("once") };
      await log.append(session, batch);
      await log.trim(session, "7-2");
      expect(await refusal(log.append(session, { ...batch, isRetry: true }))).toBe("UNSURE");
      await log.claim(session, { epoch: 8, writer: "w2", event: takeover(), archivedUpTo: "7-2" });
      expect(await refusal(log.append(session, { ...batch, isRetry: true }))).toBe("FENCED");
    });

    test("refuses invalid batches", async () => {
      const session = await startSession(log);
      const append = (batch: object) =>
        refusal(log.append(session, { writer: "w1", epoch: 7, counter: 1, events: titles("a"), ...batch }));
      expect(await append({ events: [] })).toBe("INVALID");
      expect(await append({ writer: "w 1" })).toBe("INVALID");
      expect(await append({ writer: "" })).toBe("INVALID");
      expect(await append({ since: "x" })).toBe("INVALID");
      expect(await append({ events: titles("x".repeat(70_000)) })).toBe("TOO_LARGE");
      expect(await append({ events: titles("漢".repeat(22_000)) })).toBe("TOO_LARGE");
      expect(
        await refusal(log.append(sessionRef("a}b{c"), { writer: "w", counter: 1, events: titles("a") })),
      ).toBe("INVALID");
      expect((await readAll(log, session)).map(describeEntry)).toEqual(["session.start"]);
    });
  });

  describe("claim", () => {
    test("continues the sequence under a new epoch, once", async () => {
      const session = await startSession(log);
      await log.append(session, { writer: "w1", epoch: 7, counter: 1, events: titles("a") });
      const claim = { epoch: 9, writer: "w2", event: takeover(), archivedUpTo: "7-1" };
      expect(await log.claim(session, claim)).toEqual({ epoch: 9, first: 3, last: 3, repeated: false });
      await log.append(session, { writer: "w2", epoch: 9, counter: 1, events: titles("b") });
      const again = { ...claim, isRetry: true };
      expect(await log.claim(session, again)).toEqual({ epoch: 9, first: 3, last: 3, repeated: true });
      expect(await refusal(log.claim(session, { ...claim, writer: "w3" }))).toBe("OUTBID");
      expect(await refusal(log.claim(session, { ...claim, epoch: 8, writer: "w3" }))).toBe("OUTBID");
      expect(await log.head(session)).toEqual({ epoch: 9, last: "9-4", base: "0-0" });
    });

    test("does not claim on a retry: it only finds an earlier claim that is still there", async () => {
      const session = await startSession(log);
      const claim = { epoch: 8, writer: "w2", event: takeover(), archivedUpTo: "0-0" };
      expect(await refusal(log.claim(session, { ...claim, isRetry: true }))).toBe("OUTBID");
      await log.claim(session, claim);
      await log.remove(session);
      expect(await refusal(log.claim(session, { ...claim, isRetry: true }))).toBe("OUTBID");
      expect(await log.head(session)).toBeNull();
    });

    test("lets the highest of many concurrent epochs win, with all claims in order", async () => {
      const session = await startSession(log);
      const claims = Array.from({ length: 20 }, (_, n) =>
        log
          .claim(session, { epoch: 100 + n, writer: `c${n}`, event: takeover(), archivedUpTo: "0-0" })
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

    test("succeeds only directly after the position that the claimer has read", async () => {
      const session = await startSession(log);
      await log.append(session, { writer: "w1", epoch: 7, counter: 1, events: titles("a") });
      const claim = { epoch: 9, writer: "w2", event: takeover(), archivedUpTo: "7-1", last: "7-2" };
      await log.append(session, { writer: "w1", epoch: 7, counter: 2, events: titles("b") });
      const before = await log.head(session);
      for (const last of ["7-2", "7-1", "0-0", "7-4", "8-3"])
        expect(await refusal(log.claim(session, { ...claim, last }))).toBe("MOVED");
      expect(await log.head(session)).toEqual(before);
      // The previous writer still owns the log.
      await log.append(session, { writer: "w1", epoch: 7, counter: 3, events: titles("c") });
      // The refused claim did not use up its epoch.
      expect(await log.claim(session, { ...claim, last: "7-4" })).toMatchObject({ epoch: 9, last: 5 });
      expect((await readAll(log, session)).map(({ cursor }) => cursor)).toEqual([
        "7-1",
        "7-2",
        "7-3",
        "7-4",
        "9-5",
      ]);
      // A retry succeeds, because the claim happened, whatever followed it.
      await log.append(session, { writer: "w2", epoch: 9, counter: 1, events: titles("d") });
      expect(await log.claim(session, { ...claim, last: "7-4", isRetry: true })).toMatchObject({
        last: 5,
        repeated: true,
      });
      // The reported reason is the higher epoch, not the moved position.
      expect(await refusal(log.claim(session, { ...claim, epoch: 8, writer: "w3" }))).toBe("OUTBID");
      expect(await refusal(log.claim(session, { ...claim, epoch: 10, last: "x" }))).toBe("INVALID");
    });

    test("continues directly after the archived position when the log is missing or ends before it, or is refused", async () => {
      const missing = sessionRef();
      const claim = { epoch: 12, writer: "w2", event: takeover(), archivedUpTo: "11-40" };
      for (const last of ["0-0", "11-39", "11-41", "10-40"])
        expect(await refusal(log.claim(missing, { ...claim, last }))).toBe("MOVED");
      expect(await log.head(missing)).toBeNull();
      expect(await log.claim(missing, { ...claim, last: "11-40" })).toMatchObject({ last: 41 });
      const short = await startSession(log);
      expect(await refusal(log.claim(short, { ...claim, last: "7-1" }))).toBe("MOVED");
      expect(await log.head(short)).toEqual({ epoch: 7, last: "7-1", base: "0-0" });
      expect((await readAll(log, short)).map(describeEntry)).toEqual(["session.start"]);
      expect(await log.claim(short, { ...claim, last: "11-40" })).toMatchObject({ last: 41 });
    });

    test("follows exactly the last entry of a writer that appends until the claim", async () => {
      const session = await startSession(log);
      // The writer appends once beside each claim, because a claim never follows a writer that is faster.
      let claims = 0;
      const writing = (async () => {
        for (let n = 1; ; n++) {
          const before = claims;
          const batch = { writer: "w1", epoch: 7, counter: n, events: titles(`${n}`) };
          const code = await log.append(session, batch).then(() => null, refusalOf);
          if (code !== null) return code;
          await expect.poll(() => claims, { interval: 5 }).toBeGreaterThan(before);
        }
      })();
      let moved = 0;
      for (let epoch = 8; ; epoch++) {
        const read = await readAll(log, session);
        const last = read.at(-1)?.cursor ?? "0-0";
        // Sometimes let the writer append in between for sure.
        if (epoch < 12) await log.append(session, { writer: "g", counter: epoch, events: titles("g") });
        const claim = {
          epoch,
          writer: `c${epoch}`,
          event: title(`${read.length}`),
          archivedUpTo: "0-0",
          last,
        };
        const code = await log.claim(session, claim).then(() => null, refusalOf);
        claims++;
        if (code === null) break;
        expect(code).toBe("MOVED");
        moved++;
      }
      expect(await writing).toBe("FENCED");
      const entries = await readAll(log, session);
      expect(entries.at(-1)?.epoch).toBeGreaterThan(7);
      expect(entries.map(describeEntry).at(-1)).toBe(`${entries.length - 1}`);
      expect(moved).toBeGreaterThanOrEqual(4);
    });

    test("is outbid by an archived position of the same or a higher epoch", async () => {
      const session = await startSession(log);
      const claim = { epoch: 9, writer: "w2", event: takeover() };
      expect(await refusal(log.claim(session, { ...claim, archivedUpTo: "10-3" }))).toBe("OUTBID");
      expect(await refusal(log.claim(session, { ...claim, archivedUpTo: "9-3" }))).toBe("OUTBID");
    });

    test("starts a missing log directly after the archived position", async () => {
      const session = sessionRef();
      const claim = { epoch: 12, writer: "w1", event: takeover(), archivedUpTo: "11-40" };
      expect(await log.claim(session, claim)).toMatchObject({ first: 41, last: 41 });
      expect(await log.head(session)).toEqual({ epoch: 12, last: "12-41", base: "11-40" });
      expect((await readAll(log, session, "11-40")).map((entry) => entry.cursor)).toEqual(["12-41"]);
      expect(await log.read(session, { after: "11-39" })).toEqual({ ok: false, reason: "trimmed" });
      expect(await log.read(session, { after: "0-0" })).toEqual({ ok: false, reason: "trimmed" });
    });

    test("leaves no gap when the log ends before the archived position", async () => {
      const session = await startSession(log);
      await log.append(session, { writer: "w1", epoch: 7, counter: 1, events: titles("a") });
      await log.claim(session, { epoch: 8, writer: "w2", event: takeover(), archivedUpTo: "7-30" });
      expect(await log.head(session)).toEqual({ epoch: 8, last: "8-31", base: "7-30" });
      expect(await log.read(session, { after: "7-2" })).toEqual({ ok: false, reason: "trimmed" });
    });
  });
}
