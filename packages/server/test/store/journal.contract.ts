/** The store contract of the journal. */
import type { Json } from "@turnstream/protocol";
import { expect, test } from "vitest";

import { isStoreError } from "../../src/store/errors.ts";
import type { SessionRef } from "../../src/util/refs.ts";
import type { Store } from "../../src/store/store.ts";
import { batchOf, chat } from "./archive-batch.ts";
import { type MakeStore, newSession, newTenant, unique } from "./harness.ts";
import { startTurn } from "./start-turn.ts";
import { suite } from "./suite.ts";

const next = (store: Store, ref: SessionRef) => store.epochs.next(ref, { seen: 0 });

export function journalContract(name: string, makeStore: MakeStore): void {
  suite(name, "journal", makeStore, (store) => {
    test("writes each key once, and returns the values unchanged, in order", async () => {
      const { ref } = await newSession(store());
      const { epoch } = await next(store(), ref);
      const values: Json[] = [null, "a \0 \ud800", 1.5, { z: 1, a: [{ b: false }] }, [], ""];
      for (const [n, value] of values.entries())
        expect(await store().journal.write(ref, { turn: "t", key: `k${9 - n}`, value, epoch })).toBe(
          "written",
        );
      await store().journal.write(ref, { turn: "u", key: "k9", value: "other turn", epoch });
      expect(await store().journal.write(ref, { turn: "t", key: "k9", value: "second", epoch })).toBe(
        "already",
      );
      const read = await store().journal.read(ref, "t");
      expect(read).toEqual(values.map((value, n) => ({ key: `k${9 - n}`, value })));
      expect(Object.keys(read[3]?.value as object)).toEqual(["z", "a"]);
      expect(await store().journal.read(ref, "u")).toEqual([{ key: "k9", value: "other turn" }]);
      expect(await store().journal.read(ref, "none")).toEqual([]);
    });

    test("writes several entries of a turn in one commit, and counts what is new", async () => {
      const { ref } = await newSession(store());
      const { epoch } = await next(store(), ref);
      const entry = (key: string, value: Json) => ({ turn: "t", key, value, epoch, isRetained: key === "b" });
      expect(await store().journal.write(ref, entry("a", 1), entry("b", 2))).toBe("written");
      expect(await store().journal.write(ref, entry("b", 3), entry("c", 4))).toBe("written");
      expect(await store().journal.write(ref, entry("c", 5), entry("a", 6))).toBe("already");
      const written = [
        { key: "a", value: 1 },
        { key: "b", value: 2 },
        { key: "c", value: 4 },
      ];
      expect(await store().journal.read(ref, "t")).toEqual(written);
      expect(await store().journal.retained(ref, ["t"])).toEqual([{ turn: "t", key: "b", value: 2 }]);
      for (const other of [{ turn: "u" }, { epoch: epoch + 1 }]) {
        const mixed = store().journal.write(ref, entry("d", 7), { ...entry("e", 8), ...other });
        await expect(mixed).rejects.toMatchObject({ code: "INVALID" });
      }
      expect(await store().journal.read(ref, "t")).toEqual(written);
    });

    test("concurrent branches keep their own results", async () => {
      const { ref } = await newSession(store());
      const { epoch } = await next(store(), ref);
      const written = await Promise.all(
        Array.from({ length: 60 }, (_, n) => {
          const key = `call/${n % 20}`;
          return store().journal.write(ref, { turn: "t", key, value: { n: n % 20 }, epoch });
        }),
      );
      expect(written.filter((answer) => answer === "written")).toHaveLength(20);
      const read = await store().journal.read(ref, "t");
      expect(read).toHaveLength(20);
      expect(read.every(({ key, value }) => key === `call/${(value as { n: number }).n}`)).toBe(true);
    });

    test("refuses writes of a fenced worker, also of existing keys", async () => {
      const { ref } = await newSession(store());
      const { epoch } = await next(store(), ref);
      await store().journal.write(ref, { turn: "t", key: "a", value: 1, epoch });
      const { epoch: newer } = await next(store(), ref);
      for (const key of ["a", "b"]) {
        const late = store().journal.write(ref, { turn: "t", key, value: 2, epoch });
        await expect(late).rejects.toMatchObject({ code: "FENCED" });
      }
      expect(await store().journal.read(ref, "t")).toEqual([{ key: "a", value: 1 }]);
      expect(await store().journal.write(ref, { turn: "t", key: "a", value: 2, epoch: newer })).toBe(
        "already",
      );
      expect(await store().journal.write(ref, { turn: "t", key: "b", value: 2, epoch: newer })).toBe(
        "written",
      );
    });

    test("refuses writes of a process that no longer runs the turn, and lets it end nothing", async () => {
      const { ref } = await newSession(store());
      await store().queuedMessages.add(ref, { id: "m", text: "m" });
      const [one, other] = [unique("exec"), unique("exec")];
      const started = await startTurn(store(), ref, { executor: one });
      if (started === null) throw new Error("nothing to run");
      const { turn } = started.row;
      const { epoch } = started.held;
      const entry = (executor: string, key: string) => ({ turn, key, value: 1, epoch, executor });
      const writes = (executor: string, key: string) => store().journal.write(ref, entry(executor, key));
      expect(await writes(one, "a")).toBe("written");
      // The store has lost the epoch of the writer.
      const higher = { ...entry(one, "b"), epoch: epoch + 1 };
      await expect(store().journal.write(ref, higher)).rejects.toMatchObject({ code: "FENCED" });
      const mixed = store().journal.write(ref, entry(one, "b"), entry(other, "c"));
      await expect(mixed).rejects.toMatchObject({ code: "INVALID" });
      await expect(writes(other, "b")).rejects.toMatchObject({ code: "FENCED" });
      await store().queue.release([started.held]);
      // Nothing has a higher epoch yet.
      for (const key of ["a", "b"]) await expect(writes(one, key)).rejects.toMatchObject({ code: "FENCED" });
      const batch = { ...batchOf(chat(1)), epoch, journal: [entry(one, "b")] };
      await expect(store().archive.write(ref, batch)).rejects.toMatchObject({ code: "FENCED" });
      const end = (executor: string) => store().queue.end(ref, turn, { epoch, executor });
      await expect(end(one)).rejects.toMatchObject({ code: "FENCED" });
      expect(await store().journal.read(ref, turn)).toEqual([{ key: "a", value: 1 }]);
      const again = await startTurn(store(), ref, { executor: other });
      const held = { epoch: again?.held.epoch ?? 0, executor: other };
      expect(await store().journal.write(ref, { turn, key: "b", value: 2, ...held })).toBe("written");
      expect(await store().queue.end(ref, turn, held)).toBe("ended");
      expect(await store().queue.end(ref, turn, held)).toBe("over");
    });

    test("refuses entries whose writer knows one that the store has lost", async () => {
      const { ref } = await newSession(store());
      const { epoch } = await next(store(), ref);
      const entry = (key: string, ...after: string[]) => ({ turn: "t", key, value: 1, epoch, after });
      const batch = { ...batchOf(chat(1)), epoch };
      expect(await store().journal.write(ref, entry("a"))).toBe("written");
      expect(await store().journal.write(ref, entry("b", "a"), entry("c", "a"))).toBe("written");
      await store().journal.write(ref, { turn: "u", key: "lost", value: 1, epoch });
      const gap = [entry("d", "b"), entry("e", "c", "lost")];
      await expect(store().journal.write(ref, ...gap)).rejects.toMatchObject({ code: "FENCED" });
      await expect(store().archive.write(ref, { ...batch, journal: gap })).rejects.toMatchObject({
        code: "FENCED",
      });
      expect((await store().archive.header(ref)).archived).toBe("0-0");
      const known = [entry("d", "b"), entry("e", "c")];
      for (const result of ["written", "already"])
        expect(await store().archive.write(ref, { ...batch, journal: known })).toBe(result);
      expect((await store().journal.read(ref, "t")).map(({ key }) => key)).toEqual(["a", "b", "c", "d", "e"]);
    });

    test("gives a conditional epoch to one caller, and only if there is no newer one", async () => {
      const { ref } = await newSession(store());
      const { epoch } = await next(store(), ref);
      const ask = (ifEpoch: number) => store().epochs.next(ref, { seen: 0, ifEpoch });
      const asked = await Promise.allSettled(Array.from({ length: 20 }, () => ask(epoch)));
      const given = asked.filter(({ status }) => status === "fulfilled");
      expect(given).toMatchObject([{ value: { epoch: epoch + 1 } }]);
      const refused = asked.filter(({ status }) => status === "rejected");
      expect(refused.every((each) => "reason" in each && isStoreError(each.reason, "CONFLICT"))).toBe(true);
      const session = await ask(epoch + 1);
      expect(session).toMatchObject({ epoch: epoch + 2 });
      expect(session).toEqual(await store().sessions.find(ref));
      await expect(ask(epoch + 3)).rejects.toMatchObject({ code: "CONFLICT" });
      await expect(ask(-1)).rejects.toMatchObject({ code: "INVALID" });
      expect(await store().sessions.find(ref)).toMatchObject({ epoch: epoch + 2 });
      const otherTenant = { ...ref, tenant: "else" };
      await expect(store().epochs.next(otherTenant, { seen: 0, ifEpoch: epoch + 2 })).rejects.toMatchObject({
        code: "NOT_FOUND",
      });
    });

    test("is committed with its transaction, or not at all", async () => {
      const { actor, ref } = await newSession(store());
      const { epoch } = await next(store(), ref);
      const entry = { turn: "t", key: "a", value: 1, epoch };
      const undone = store().transaction(async (tx) => {
        await tx.journal.write(ref, entry);
        throw new Error("undo");
      });
      await expect(undone).rejects.toThrow("undo");
      expect(await store().journal.read(ref, "t")).toEqual([]);
      const fenced = store().transaction(async (tx) => {
        await tx.sessions.rename(actor, ref.session, "changed");
        await tx.journal.write(ref, { ...entry, epoch: epoch - 1 });
      });
      await expect(fenced).rejects.toMatchObject({ code: "FENCED" });
      expect(await store().sessions.find(ref)).toMatchObject({ title: null });
      await store().transaction(async (tx) => {
        await tx.journal.write(ref, entry);
        expect(await tx.journal.read(ref, "t")).toHaveLength(1);
        await tx.outbox.add(ref, { key: "o", draft: { type: "session.update", title: "x" } });
      });
      expect(await store().journal.read(ref, "t")).toHaveLength(1);
    });

    test("orders a concurrent claim before or after a write, never in between", async () => {
      const { ref } = await newSession(store());
      const seen = { written: 0, fenced: 0 };
      for (let round = 0; round < 200; round++) {
        const { epoch } = await next(store(), ref);
        const key = `k${round}`;
        // What the new owner reads after it got its epoch is everything that the previous owner has written.
        const write = () =>
          store()
            .journal.write(ref, { turn: "t", key, value: round, epoch })
            .catch((error: unknown) => (isStoreError(error) ? error.code : "?"));
        const claim = async () => {
          await next(store(), ref);
          return (await store().journal.read(ref, "t")).some((entry) => entry.key === key);
        };
        const works = round % 2 === 0 ? [write(), claim()] : [claim(), write()];
        const both = await Promise.all(works);
        const [answer, wasSeen] = round % 2 === 0 ? both : both.toReversed();
        expect([answer, wasSeen]).toEqual(wasSeen === true ? ["written", true] : ["FENCED", false]);
        seen[wasSeen === true ? "written" : "fenced"]++;
      }
      expect(seen.written + seen.fenced).toBe(200);
      expect(seen.written).toBeGreaterThan(0);
      expect(seen.fenced).toBeGreaterThan(0);
    });

    test("retained entries outlive their turn, the others don't", async () => {
      const { ref } = await newSession(store());
      const { epoch } = await next(store(), ref);
      for (const turn of ["t1", "t2", "t3"])
        for (const key of ["a", "b", "c"])
          await store().journal.write(ref, {
            turn,
            key,
            value: `${turn}${key}`,
            epoch,
            isRetained: key !== "b",
          });
      expect(await store().journal.close(ref, "t1")).toBe(1);
      expect(await store().journal.close(ref, "t1")).toBe(0);
      expect((await store().journal.read(ref, "t1")).map(({ key }) => key)).toEqual(["a", "c"]);
      expect(await store().journal.read(ref, "t2")).toHaveLength(3);
      const retained = await store().journal.retained(ref, ["t2", "t1", "none"]);
      expect(retained.map(({ turn, key, value }) => `${turn}${key} ${JSON.stringify(value)}`)).toEqual([
        't1a "t1a"',
        't1c "t1c"',
        't2a "t2a"',
        't2c "t2c"',
      ]);
      expect(await store().journal.retained(ref, [])).toEqual([]);
    });

    test("the end of a turn can shorten retained entries, and no others", async () => {
      const { ref } = await newSession(store());
      const { epoch } = await next(store(), ref);
      const entry = { turn: "t", value: "long", epoch, isRetained: true };
      await store().journal.write(
        ref,
        { ...entry, key: "a" },
        { ...entry, key: "b" },
        { ...entry, key: "c", isRetained: false },
      );
      await store().journal.write(ref, { ...entry, turn: "u", key: "a" });
      const short = ["a", "c", "unknown"].map((key) => ({ key, value: "short" }));
      expect(await store().journal.close(ref, "t", short)).toBe(1);
      expect(await store().journal.read(ref, "t")).toEqual([
        { key: "a", value: "short" },
        { key: "b", value: "long" },
      ]);
      expect(await store().journal.read(ref, "u")).toEqual([{ key: "a", value: "long" }]);
      const foreign = { ...ref, tenant: (await newSession(store())).ref.tenant };
      await store().journal.close(foreign, "u", [{ key: "a", value: "foreign" }]);
      expect(await store().journal.read(ref, "u")).toEqual([{ key: "a", value: "long" }]);
    });

    test("is not visible to another tenant, and is erased with its session", async () => {
      const { ref } = await newSession(store());
      const foreign = { ...ref, tenant: await newTenant(store()) };
      const { epoch } = await next(store(), ref);
      const entry = { turn: "t", key: "a", value: 1, epoch, isRetained: true };
      await expect(store().journal.write(foreign, entry)).rejects.toMatchObject({ code: "NOT_FOUND" });
      await store().journal.write(ref, entry);
      await store().journal.write(ref, { ...entry, key: "b", isRetained: false });
      expect(await store().journal.read(foreign, "t")).toEqual([]);
      expect(await store().journal.retained(foreign, ["t"])).toEqual([]);
      expect(await store().journal.close(foreign, "t")).toBe(0);
      expect(await store().journal.read(ref, "t")).toHaveLength(2);
      await store().sessions.remove(ref);
      expect(await store().journal.read(ref, "t")).toEqual([]);
      await expect(store().journal.write(ref, entry)).rejects.toMatchObject({ code: "NOT_FOUND" });
    });

    test("refuses values that can't be stored", async () => {
      const { ref } = await newSession(store());
      const { epoch } = await next(store(), ref);
      const entry = { turn: "t", key: "a", value: 1 as Json, epoch };
      const refused = (change: object, code: string) =>
        expect(store().journal.write(ref, { ...entry, ...change })).rejects.toMatchObject({ code });
      await refused({ turn: "" }, "INVALID");
      await refused({ key: "a\0" }, "INVALID");
      await refused({ key: "\ud800" }, "INVALID");
      await refused({ epoch: 1.5 }, "INVALID");
      await refused({ value: undefined }, "INVALID");
      await refused({ value: "x".repeat(17_000_000) }, "TOO_LARGE");
      const many = Array.from({ length: 1_001 }, (_, n) => `t${n}`);
      await expect(store().journal.retained(ref, many)).rejects.toMatchObject({ code: "INVALID" });
      expect(await store().journal.retained(ref, many.slice(1))).toEqual([]);
      await expect(store().journal.retained(ref, ["a\0"])).rejects.toMatchObject({ code: "INVALID" });
      expect(await store().journal.read(ref, "t")).toEqual([]);
    });
  });
}
