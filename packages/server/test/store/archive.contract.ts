/** The store contract of epochs, turns and the archive. */
import { type SessionEvent, foldAll, SCHEMA_VERSION, snapshot } from "@turnstream/protocol";
import { LogWriter } from "@turnstream/conformance/support/log-writer.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import type { SessionRef } from "../../src/util/refs.ts";
import type { ClosableStore } from "../../src/store/store.ts";
import { batchOf, chat } from "./archive-batch.ts";
import { type Harness, type MakeStore, newSession } from "./harness.ts";

export function archiveContract(name: string, makeStore: MakeStore): void {
  describe(`${name}: archive`, () => {
    let harness: Harness;
    let store: ClosableStore;
    beforeAll(async () => {
      harness = await makeStore();
      store = harness.store;
    });
    afterAll(() => store.close());

    const allEvents = async (ref: SessionRef, limit = 1000) => {
      const events: SessionEvent[] = [];
      for (;;) {
        const last = events.at(-1);
        const after = last === undefined ? 0 : Number(last.id.split("-")[1]);
        const page = await store.archive.events(ref, { after, limit });
        if (page.length === 0) return events;
        events.push(...page);
      }
    };

    test("gives each epoch once, above the epoch of the log", async () => {
      const { actor, ref: first } = await newSession(store);
      const { id } = await store.sessions.create(actor, { id: `${first.session}-7`, firstEpoch: 7 });
      const ref = { ...first, session: id };
      expect(await store.epochs.next(ref, { seen: 0 })).toMatchObject({ epoch: 7 });
      expect(await store.epochs.next(ref, { seen: 3 })).toMatchObject({ epoch: 8 });
      expect(await store.epochs.next(ref, { seen: 40 })).toMatchObject({ epoch: 41 });
      const many = await Promise.all(Array.from({ length: 200 }, () => store.epochs.next(ref, { seen: 41 })));
      expect(many.map(({ epoch }) => epoch).toSorted((a, b) => a - b)).toEqual(
        Array.from({ length: 200 }, (_, n) => 42 + n),
      );
      expect(await store.sessions.find(ref)).toMatchObject({ epoch: 241 });
      await expect(store.epochs.next(ref, { seen: -1 })).rejects.toMatchObject({ code: "INVALID" });
    });

    test("is empty at first", async () => {
      const { ref } = await newSession(store);
      expect(await store.archive.header(ref)).toEqual({ archived: "0-0", header: null, v: null });
      const nothing = { archived: "0-0", header: null, v: null, turns: [], earlier: 0 };
      expect(await store.archive.window(ref, 5)).toEqual(nothing);
      expect(await store.archive.events(ref, { after: 0, limit: 10 })).toEqual([]);
      expect(await store.turns.list(ref, { limit: 10 })).toEqual([]);
    });

    test("writes journal entries with the events, or nothing", async () => {
      const { ref } = await newSession(store);
      const { epoch } = await store.epochs.next(ref, { seen: 0 });
      const log = chat(2);
      const entry = (key: string) => ({ turn: "t", key, value: 1, epoch });
      const keys = async () => (await store.journal.read(ref, "t")).map(({ key }) => key);
      const batch = { ...batchOf(log), epoch };
      expect(await store.archive.write(ref, { ...batch, journal: [entry("a"), entry("b")] })).toBe("written");
      expect(await keys()).toEqual(["a", "b"]);
      // The events are archived already, for example because the first answer was lost.
      expect(await store.archive.write(ref, { ...batch, journal: [entry("b"), entry("c")] })).toBe("already");
      expect(await keys()).toEqual(["a", "b", "c"]);
      const { ref: other } = await newSession(store);
      const { epoch: old } = await store.epochs.next(other, { seen: 0 });
      await store.epochs.next(other, { seen: 0 });
      const late = { turn: "t", key: "late", value: 1, epoch: old };
      await expect(
        store.archive.write(other, { ...batchOf(log), epoch: old + 1, journal: [late] }),
      ).rejects.toMatchObject({ code: "FENCED" });
      expect(await store.archive.write(other, { ...batchOf(log), epoch: old, journal: [late] })).toEqual({
        behind: old + 1,
      });
      expect((await store.archive.header(other)).archived).toBe("0-0");
      expect(await store.journal.read(other, "t")).toEqual([]);
    });

    test("returns written events, header and turns", async () => {
      const { ref } = await newSession(store);
      const log = chat(3, 'with \u0000, "\ud800" and \u{1f600}');
      const batch = batchOf(log);
      expect(await store.archive.write(ref, batch)).toBe("written");
      expect(await allEvents(ref)).toEqual(batch.events);
      expect(await allEvents(ref, 2)).toEqual(batch.events);
      const { archived, header, v } = await store.archive.header(ref);
      expect({ archived, header, v }).toEqual({
        archived: batch.to,
        header: batch.header,
        v: SCHEMA_VERSION,
      });
      const window = await store.archive.window(ref, 100);
      expect(window.turns).toEqual(snapshot(foldAll(log)).turns);
      expect(await store.sessions.find(ref)).toMatchObject({ archived: batch.to, epoch: 1 });
    });

    test("marks a header if an older version folds newer events or continues a newer state", async () => {
      const log = chat(3);
      const [first, second] = [log[5]?.id ?? "", log[9]?.id ?? ""];
      const version = async (ref: SessionRef) => (await store.archive.header(ref)).v;
      const write = async (ref: SessionRef, from: string, to: string, v: number, eventVersion = v) => {
        const batch = batchOf(log, from, to);
        const events = batch.events.map((event) => ({ ...event, v: eventVersion }) as SessionEvent);
        expect(await store.archive.write(ref, { ...batch, events, v })).toBe("written");
      };
      const [own, next] = [SCHEMA_VERSION, SCHEMA_VERSION + 1];
      const { ref } = await newSession(store);
      await write(ref, "0-0", first, own);
      expect(await version(ref)).toBe(own);
      await write(ref, first, second, own, next);
      expect(await version(ref)).toBe(-own);
      await write(ref, second, log.at(-1)?.id ?? "", own);
      expect(await version(ref)).toBe(-own);
      // Readers fold a turn from its events, so it is exact.
      expect((await store.turns.list(ref, { limit: 10 })).map(({ v }) => v)).toEqual([own, own, own]);
      const { ref: back } = await newSession(store);
      await write(back, "0-0", first, next);
      await write(back, first, second, own);
      expect(await version(back)).toBe(-own);
      await write(back, second, log.at(-1)?.id ?? "", next);
      expect(await version(back)).toBe(next);
    });

    test("stores a checkpoint until the next one, for its tenant only, and erases it with its session", async () => {
      const { ref } = await newSession(store);
      expect(await store.archive.checkpoint(ref)).toBeNull();
      const log = chat(2);
      const half = log[3]?.id ?? "";
      const checkpoint = snapshot(foldAll(log.slice(0, 2)));
      await store.archive.write(ref, { ...batchOf(log, "0-0", half), checkpoint });
      await store.archive.write(ref, batchOf(log, half));
      expect(await store.archive.checkpoint(ref)).toEqual(checkpoint);
      const foreign = { ...ref, tenant: (await newSession(store)).ref.tenant };
      await expect(store.archive.checkpoint(foreign)).rejects.toMatchObject({ code: "NOT_FOUND" });
      await store.sessions.remove(ref);
      await expect(store.archive.checkpoint(ref)).rejects.toMatchObject({ code: "NOT_FOUND" });
    });

    test("a window has the newest turns and the number of the others", async () => {
      const { ref } = await newSession(store);
      const log = chat(7);
      await store.archive.write(ref, batchOf(log));
      const window = await store.archive.window(ref, 3);
      expect(window.turns.map((turn) => turn.number)).toEqual([5, 6, 7]);
      expect(window.earlier).toBe(4);
      expect(await store.archive.window(ref, 0)).toMatchObject({ turns: [], earlier: 7 });
      expect(await store.archive.window(ref, 7)).toMatchObject({ earlier: 0 });
    });

    test("a turn with a pending form stays in the window until the form is closed", async () => {
      const { ref } = await newSession(store);
      const writer = new LogWriter().session().begin("fill in");
      const on = writer.place();
      writer.add({ type: "form.request", ...on, form: "f1", schema: { id: "s", title: "t", fields: [] } });
      writer.end("requires_interaction");
      for (let n = 0; n < 4; n += 1) writer.begin("more").text(["ok"]).end();
      const before = writer.state;
      const first = batchOf(writer.events);
      await store.archive.write(ref, first);
      const window = await store.archive.window(ref, 2);
      expect(window.turns).toEqual(snapshot(before, 2).turns);
      expect(window.earlier).toBe(snapshot(before, 2).earlier);
      const open = async () => (await store.turns.list(ref, { limit: 100 })).filter((turn) => turn.open);
      expect((await open()).map(({ snapshot: turn }) => turn.number)).toEqual([1]);
      writer.add({ type: "form.update", ...on, version: 1, status: "submitted", values: {} });
      expect(await store.archive.write(ref, batchOf(writer.events, first.to))).toBe("written");
      expect(await open()).toEqual([]);
      const after = await store.archive.window(ref, 2);
      expect(after.turns).toEqual(snapshot(writer.state, 2).turns);
      expect(after.earlier).toBe(3);
      const all = await store.archive.window(ref, 5);
      expect(all.turns).toEqual(snapshot(writer.state).turns);
    });

    test("pages turns, the newest first", async () => {
      const { ref } = await newSession(store);
      const log = chat(9);
      await store.archive.write(ref, batchOf(log));
      const numbers: number[] = [];
      let before: number | undefined;
      for (;;) {
        const page = await store.turns.list(ref, { limit: 4, ...(before === undefined ? {} : { before }) });
        numbers.push(...page.map(({ snapshot: turn }) => turn.number));
        before = page.at(-1)?.start;
        if (before === undefined) break;
      }
      expect(numbers).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1]);
      const [newest] = await store.turns.list(ref, { limit: 1 });
      expect(newest).toMatchObject({ status: "end_turn", open: false, end: log.length });
      expect(await store.turns.get(ref, newest?.id ?? "")).toEqual(newest);
      expect(await store.turns.get(ref, "nothing")).toBeNull();
      expect(await store.turns.get({ ...ref, tenant: "else" }, newest?.id ?? "")).toBeNull();
      const { ref: other } = await newSession(store);
      expect(await store.turns.get(other, newest?.id ?? "")).toBeNull();
    });

    test("writing in steps equals writing at once", async () => {
      const { ref } = await newSession(store);
      const { ref: whole } = await newSession(store);
      const log = chat(4);
      await store.archive.write(whole, batchOf(log));
      let from = "0-0";
      for (let seq = 3; from !== log.at(-1)?.id; seq = Math.min(seq + 3, log.length)) {
        const batch = batchOf(log, from, `1-${seq}`);
        expect(await store.archive.write(ref, batch)).toBe("written");
        from = batch.to;
      }
      const { turns } = await store.archive.window(ref, 100);
      expect(turns).toEqual(snapshot(foldAll(log)).turns);
      expect((await store.archive.window(whole, 100)).turns).toEqual(turns);
      expect(foldAll(await allEvents(ref))).toEqual(foldAll(await allEvents(whole)));
    });

    test("a repeated write changes nothing, and a conflict returns the position", async () => {
      const { ref } = await newSession(store);
      const log = chat(2);
      const first = batchOf(log, "0-0", "1-5");
      expect(await store.archive.write(ref, first)).toBe("written");
      const before = await store.archive.window(ref, 9);
      expect(await store.archive.write(ref, first)).toBe("already");
      expect(await store.archive.write(ref, batchOf(log, "0-0", "1-3"))).toBe("already");
      expect(await store.archive.write(ref, batchOf(log, "0-0", "1-7"))).toEqual({ conflict: "1-5" });
      expect(await store.archive.write(ref, batchOf(log, "1-6", "1-7"))).toEqual({ conflict: "1-5" });
      // The same seqs on a timeline that was lost.
      const lost = log.map((event) => ({ ...event, id: event.id.replace("1-", "2-") }));
      expect(await store.archive.write(ref, batchOf(lost, "0-0", "2-5"))).toEqual({ conflict: "1-5" });
      expect(await store.archive.window(ref, 9)).toEqual(before);
    });

    test("refuses a write of an earlier epoch", async () => {
      const { ref } = await newSession(store);
      const log = chat(1);
      expect(await store.archive.write(ref, batchOf(log, "0-0", "1-4"))).toBe("written");
      const { epoch } = await store.epochs.next(ref, { seen: 1 });
      expect(await store.archive.write(ref, batchOf(log, "1-4"))).toEqual({ behind: epoch });
      expect(await store.archive.write(ref, batchOf(log, "0-0", "1-4"))).toBe("already");
      expect(await store.archive.header(ref)).toMatchObject({ archived: "1-4" });
    });

    test("accepts events of an earlier epoch if their log continued under the newest", async () => {
      const { ref } = await newSession(store);
      const log = chat(1);
      const { epoch } = await store.epochs.next(ref, { seen: 1 });
      const first = batchOf(log, "0-0", "1-4");
      expect(await store.archive.write(ref, { ...first, epoch: epoch - 1 })).toEqual({ behind: epoch });
      expect(await store.archive.write(ref, { ...first, epoch })).toBe("written");
      // An epoch that a log has was given out, whatever the store remembers.
      expect(await store.archive.write(ref, { ...batchOf(log, "1-4"), epoch: epoch + 7 })).toBe("written");
      expect((await store.epochs.next(ref, { seen: 0 })).epoch).toBeGreaterThan(epoch + 7);
    });

    test("one of 20 writers with the same start writes", async () => {
      const { ref } = await newSession(store);
      const log = chat(2);
      const results = await Promise.all(
        Array.from({ length: 20 }, (_, n) =>
          store.archive.write(ref, batchOf(log, "0-0", `1-${(n % 10) + 3}`)),
        ),
      );
      expect(results.filter((result) => result === "written")).toHaveLength(1);
      const { archived } = await store.archive.header(ref);
      for (const result of results)
        if (typeof result === "object") expect(result).toEqual({ conflict: archived });
      expect((await allEvents(ref)).at(-1)?.id).toBe(archived);
    });

    test("refuses a batch with a gap", async () => {
      const { ref } = await newSession(store);
      const log = chat(1);
      const batch = batchOf(log);
      const { events } = batch;
      for (const wrong of [
        { ...batch, events: events.slice(1) },
        { ...batch, events: events.toSpliced(3, 1) },
        { ...batch, events: events.slice(0, -1) },
        { ...batch, events: [...events, ...events.slice(-1)] },
        { ...batch, events: events.toReversed() },
        { ...batch, events: [] },
        { ...batch, header: { ...batch.header, seq: 2 } },
        { ...batch, from: "1-9999", to: "1-3" },
        { ...batch, from: "nonsense" },
      ])
        await expect(store.archive.write(ref, wrong)).rejects.toMatchObject({ code: "INVALID" });
      expect(await store.archive.events(ref, { after: 0, limit: 9 })).toEqual([]);
    });

    test("a session moves to the front when a turn starts or ends, and only then", async () => {
      const { actor, ref } = await newSession(store);
      const updated = async () => (await store.sessions.get(actor, ref.session))?.updatedAt ?? 0;
      const log = chat(1);
      const turnStart = log.findIndex((event) => event.type === "turn.start") + 1;
      const at0 = await updated();
      await harness.wait(5);
      await store.archive.write(ref, batchOf(log, "0-0", `1-${turnStart}`));
      const at1 = await updated();
      expect(at1).toBeGreaterThan(at0);
      await harness.wait(5);
      await store.archive.write(ref, batchOf(log, `1-${turnStart}`, `1-${log.length - 1}`));
      expect(await updated()).toBe(at1);
      await store.archive.write(ref, batchOf(log, `1-${log.length - 1}`));
      expect(await updated()).toBeGreaterThan(at1);
    });

    test("does not give out an epoch that the archive has seen", async () => {
      const { ref } = await newSession(store);
      const log = chat(1).map((event) => ({ ...event, id: event.id.replace("1-", "900-") }));
      await store.archive.write(ref, batchOf(log));
      expect(await store.epochs.next(ref, { seen: 0 })).toMatchObject({ epoch: 901 });
    });
  });
}
