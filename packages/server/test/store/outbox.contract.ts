/** The store contract of the outbox and of transactions. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { backoffMs, type OutboxRow } from "../../src/store/outbox.ts";
import type { ClosableStore } from "../../src/store/store.ts";
import { batchOf, chat } from "./archive-batch.ts";
import { type Harness, type MakeStore, newSession, pendingErasures, isWhole } from "./harness.ts";
import { startTurn } from "./start-turn.ts";

const title = (text: string) => ({ type: "session.update", title: text }) as const;

/** Returns the undelivered rows of the sessions that a relay would take now. */
async function pending(store: ClosableStore): Promise<OutboxRow[]> {
  const due = await store.outbox.take({ limit: 1_000, olderThanMs: 0, leaseMs: 0 });
  return (await Promise.all(due.map((ref) => store.outbox.undelivered(ref, 1_000)))).flat();
}

export function outboxContract(name: string, makeStore: MakeStore): void {
  describe(`${name}: outbox and transactions`, () => {
    let harness: Harness;
    let store: ClosableStore;
    beforeAll(async () => {
      harness = await makeStore();
      store = harness.store;
    });
    afterAll(() => store.close());
    beforeEach(async () => {
      for (const row of await pending(store)) await store.outbox.delivered(row, row.key, "1-1");
    });

    test("a transaction is committed completely or not at all", async () => {
      const { actor, ref } = await newSession(store);
      const failing = store.transaction(async (tx) => {
        await tx.sessions.rename(actor, ref.session, "New");
        await tx.outbox.add(ref, { key: "a", draft: title("New") });
        expect((await tx.sessions.get(actor, ref.session))?.title).toBe("New");
        await tx.queuedMessages.add(ref, { id: "m", text: "t" });
        expect((await tx.queuedMessages.list(ref)).map(({ id }) => id)).toEqual(["m"]);
        await tx.sessions.remove(ref);
        throw new Error("changed my mind");
      });
      await expect(failing).rejects.toThrow("changed my mind");
      expect((await store.sessions.get(actor, ref.session))?.title).toBeNull();
      expect(await pending(store)).toEqual([]);
      expect(await store.queuedMessages.list(ref)).toEqual([]);
      expect(await pendingErasures(store)).toEqual([]);
      const done = await store.transaction(async (tx) => {
        await tx.sessions.rename(actor, ref.session, "New");
        return tx.transaction((inner) => inner.outbox.add(ref, { key: "a", draft: title("New") }));
      });
      expect(done).toBe("added");
      expect((await store.sessions.get(actor, ref.session))?.title).toBe("New");
      expect(await pending(store)).toHaveLength(1);
    });

    test("concurrent transactions are isolated", async () => {
      const { actor, ref } = await newSession(store);
      await Promise.all(
        Array.from({ length: 8 }, (_, n) =>
          store
            .transaction(async (tx) => {
              await tx.outbox.add(ref, { key: `${n}`, draft: title("x") });
              await tx.sessions.rename(actor, ref.session, `${n}`);
              if (n % 2 === 0) throw new Error("no");
            })
            .catch(() => undefined),
        ),
      );
      const keys = (await pending(store)).map((row) => row.key);
      expect(keys.toSorted()).toEqual(["1", "3", "5", "7"]);
      // Numbers follow the order of the commits, so the last number belongs to the last name.
      expect((await store.sessions.get(actor, ref.session))?.title).toBe(keys.at(-1));
    });

    test("a key is added once", async () => {
      const { ref } = await newSession(store);
      expect(await store.outbox.add(ref, { key: "k", draft: title("a"), since: "930-9" })).toBe("added");
      expect(await store.outbox.add(ref, { key: "k", draft: title("b") })).toBe("already");
      const [row, ...more] = await pending(store);
      expect(more).toEqual([]);
      expect(row).toMatchObject({ ...ref, key: "k", draft: title("a"), since: "930-9", attempts: 0 });
      expect(await store.outbox.delivered(ref, "k", "3-10")).toBe(true);
      expect(await store.outbox.delivered(ref, "k", "3-10")).toBe(false);
      expect(await store.outbox.add(ref, { key: "k", draft: title("b") })).toBe("already");
      expect(await pending(store)).toEqual([]);
    });

    test("accepts only events that a log accepts", async () => {
      const { ref } = await newSession(store);
      const add = (key: string, text = "x") => store.outbox.add(ref, { key, draft: title(text) });
      for (const key of ["", "call 1|x", "turn/résultat", "a\nb", "x".repeat(251)])
        await expect(add(key)).rejects.toMatchObject({ code: "INVALID" });
      await expect(add("large", "x".repeat(65_000))).rejects.toMatchObject({ code: "TOO_LARGE" });
      await expect(add("wide", "漢".repeat(22_000))).rejects.toMatchObject({ code: "TOO_LARGE" });
      expect(await add("turn_1/step/2:a.b@c-d")).toBe("added");
    });

    test("the `since` of a row is at least the archived position when it was added", async () => {
      const { ref } = await newSession(store);
      await store.outbox.add(ref, { key: "before", draft: title("x") });
      const batch = batchOf(chat(1));
      await store.archive.write(ref, batch);
      await store.outbox.add(ref, { key: "after", draft: title("x") });
      await store.outbox.add(ref, { key: "early", draft: title("x"), since: "1-1" });
      await store.outbox.add(ref, { key: "late", draft: title("x"), since: "900-1" });
      const rows = await store.outbox.undelivered(ref, 10);
      expect(rows.map(({ key, since }) => [key, since])).toEqual([
        ["before", "0-0"],
        ["after", batch.to],
        ["early", batch.to],
        ["late", "900-1"],
      ]);
    });

    test("one relay at a time takes a session, when its first row is due", async () => {
      const { ref } = await newSession(store);
      const { ref: other } = await newSession(store);
      for (const key of ["a1", "a2"]) await store.outbox.add(ref, { key, draft: title(key) });
      const query = { limit: 10, olderThanMs: 0, leaseMs: 300_000 };
      expect(await store.outbox.take({ ...query, olderThanMs: 60_000 })).toEqual([]);
      expect(await store.outbox.take(query)).toEqual([ref]);
      await store.outbox.add(other, { key: "b1", draft: title("b1") });
      expect(await store.outbox.take(query)).toEqual([other]);
      expect(await store.outbox.take(query)).toEqual([]);
      expect((await store.outbox.undelivered(ref, 10)).map((row) => row.key)).toEqual(["a1", "a2"]);
      expect(await store.outbox.undelivered({ ...ref, tenant: "else" }, 10)).toEqual([]);
      await harness.wait(320_000);
      expect(await store.outbox.take({ ...query, limit: 1 })).toEqual([ref]);
    });

    test("a relay leaves a row alone that a turn will archive, until its time has passed", async () => {
      const { ref } = await newSession(store);
      await store.outbox.add(ref, { key: "m", draft: title("m"), relayAfterMs: 15_000 });
      const query = { limit: 10, olderThanMs: 0, leaseMs: 300_000 };
      expect(await store.outbox.take(query)).toEqual([]);
      expect(await pending(store)).toEqual([]);
      expect((await store.outbox.undelivered(ref, 10)).map((row) => row.key)).toEqual(["m"]);
      await harness.wait(16_000);
      expect(await store.outbox.take(query)).toEqual([ref]);
    });

    test("a relay takes a row that was added while a turn ran", async () => {
      const { ref } = await newSession(store);
      await store.queuedMessages.add(ref, { id: "a", text: "a" });
      await startTurn(store, ref);
      await store.outbox.add(ref, { key: "m", draft: title("m"), relayAfterMs: 15_000 });
      expect(await store.outbox.take({ limit: 10, olderThanMs: 0, leaseMs: 300_000 })).toEqual([ref]);
    });

    test("concurrent relays share the sessions", async () => {
      const refs = [];
      for (let n = 0; n < 20; n += 1) refs.push((await newSession(store)).ref);
      for (const ref of refs) await store.outbox.add(ref, { key: "k", draft: title("x") });
      const query = { limit: 5, olderThanMs: 0, leaseMs: 60_000 };
      const taken = (await Promise.all(Array.from({ length: 8 }, () => store.outbox.take(query)))).flat();
      const rest = await store.outbox.take({ ...query, limit: 100 });
      const ids = [...taken, ...rest].map(({ session }) => session);
      expect(ids.toSorted()).toEqual(refs.map(({ session }) => session).toSorted());
    });

    test("an undeliverable row is postponed with backoff, with the rows behind it", async () => {
      const { ref } = await newSession(store);
      for (const key of ["a1", "a2"]) await store.outbox.add(ref, { key, draft: title(key) });
      const query = { limit: 10, olderThanMs: 0, leaseMs: 0 };
      await store.outbox.postpone(ref);
      expect(await store.outbox.take(query)).toEqual([]);
      expect((await store.outbox.undelivered(ref, 10)).map((row) => [row.key, row.attempts])).toEqual([
        ["a1", 1],
        ["a2", 0],
      ]);
      await harness.wait(backoffMs(1) + 20);
      expect(await store.outbox.take(query)).toEqual([ref]);
      expect(backoffMs(2)).toBe(2 * backoffMs(1));
      expect(backoffMs(100)).toBe(60_000);
    });

    test("reopens delivered rows that are not archived", async () => {
      const { ref } = await newSession(store);
      for (const key of ["a", "b", "c"]) await store.outbox.add(ref, { key, draft: title(key) });
      const { to, ...rest } = batchOf(chat(1));
      const [epoch, seq] = to.split("-").map(Number);
      await store.outbox.delivered(ref, "a", to);
      // The log continues after the archived position, so this event may be there.
      await store.outbox.delivered(ref, "b", `${epoch}-${(seq ?? 0) + 1}`);
      await store.archive.write(ref, { ...rest, to, delivered: ["c"] });
      // It was marked as delivered within the archived range, but is missing there: it was lost.
      expect((await store.outbox.undelivered(ref, 10)).map((row) => row.key)).toEqual(["a"]);
      expect(await store.outbox.isUndelivered(ref, "a")).toBe(true);
      expect(await store.outbox.isUndelivered(ref, "c")).toBe(false);
      expect(await store.outbox.reopen({ ...ref, tenant: "else" })).toBe(0);
      expect(await store.outbox.reopen(ref)).toBe(1);
      expect((await store.outbox.undelivered(ref, 10)).map((row) => row.key)).toEqual(["a", "b"]);
    });

    test("one process at a time takes a session with published rows that are not archived", async () => {
      const { ref } = await newSession(store);
      const { ref: other } = await newSession(store);
      const query = { limit: 1_000, olderThanMs: 0, leaseMs: 300_000 };
      // Other tests leave sessions behind.
      const take = async (of: typeof query) =>
        (await store.outbox.takeUnarchived(of)).filter((each) =>
          [ref.session, other.session].includes(each.session),
        );
      for (const key of ["a1", "a2"]) await store.outbox.add(ref, { key, draft: title(key) });
      await store.outbox.add(other, { key: "b1", draft: title("b1") });
      expect(await take(query)).toEqual([]);
      for (const key of ["a1", "a2"]) await store.outbox.delivered(ref, key, "900-1");
      expect(await take({ ...query, olderThanMs: 60_000 })).toEqual([]);
      expect(await take(query)).toEqual([ref]);
      expect(await take(query)).toEqual([]);
      await harness.wait(320_000);
      await store.archive.write(ref, { ...batchOf(chat(1)), delivered: ["a1", "a2"] });
      expect(await take(query)).toEqual([]);
    });

    test("archiving marks the rows that it found in the log", async () => {
      const { ref } = await newSession(store);
      for (const key of ["a", "b"]) await store.outbox.add(ref, { key, draft: title(key) });
      await store.archive.write(ref, { ...batchOf(chat(1)), delivered: ["a", "unknown"] });
      expect((await pending(store)).map((row) => row.key)).toEqual(["b"]);
    });

    test.runIf(isWhole(name))("prunes rows that were archived long ago, and no others", async () => {
      const { ref } = await newSession(store);
      while ((await store.outbox.prune({ olderThanMs: 0, limit: 1000 })) > 0);
      for (const key of ["a", "b", "c"]) await store.outbox.add(ref, { key, draft: title(key) });
      await store.outbox.delivered(ref, "c", "900-1");
      await store.archive.write(ref, { ...batchOf(chat(1)), delivered: ["a", "b"] });
      expect(await store.outbox.prune({ olderThanMs: 60_000, limit: 10 })).toBe(0);
      await harness.wait(2);
      expect(await store.outbox.prune({ olderThanMs: 0, limit: 1 })).toBe(1);
      expect(await store.outbox.prune({ olderThanMs: 0, limit: 10 })).toBe(1);
      expect(await store.outbox.add(ref, { key: "c", draft: title("c") })).toBe("already");
      expect(await store.outbox.add(ref, { key: "a", draft: title("a") })).toBe("added");
    });
  });
}
