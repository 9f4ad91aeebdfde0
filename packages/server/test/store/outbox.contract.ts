/** What every store promises of the outbox and of transactions. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { backoffMs, type OutboxRow } from "../../src/store/outbox.ts";
import type { OpenStore } from "../../src/store/store.ts";
import { batchOf, chat } from "./archive-batch.ts";
import { type Harness, type MakeStore, newSession } from "./harness.ts";

const title = (text: string) => ({ type: "session.update", title: text }) as const;
const soon = { limit: 1000, olderThanMs: 0 };

export function outboxContract(name: string, makeStore: MakeStore): void {
  describe(`${name}: outbox and transactions`, () => {
    let harness: Harness;
    let store: OpenStore;
    beforeAll(async () => {
      harness = await makeStore();
      store = harness.store;
    });
    afterAll(() => store.close());
    beforeEach(async () => {
      await store.outbox.deliver(soon, async () => "1-1");
      for (const row of await store.outbox.pending(soon)) await store.outbox.delivered(row, row.key, "1-1");
    });

    test("what a transaction does is there as a whole or not at all", async () => {
      const { actor, ref } = await newSession(store);
      const failing = store.transaction(async (tx) => {
        await tx.sessions.rename(actor, ref.session, "New");
        await tx.outbox.add(ref, { key: "a", draft: title("New") });
        expect((await tx.sessions.get(actor, ref.session))?.title).toBe("New");
        await tx.waiting.add(ref, { id: "m", text: "t" });
        expect(await tx.waiting.take(ref)).toMatchObject({ id: "m" });
        await tx.sessions.remove(ref);
        throw new Error("changed my mind");
      });
      await expect(failing).rejects.toThrow("changed my mind");
      expect((await store.sessions.get(actor, ref.session))?.title).toBeNull();
      expect(await store.outbox.pending(soon)).toEqual([]);
      expect(await store.waiting.list(ref)).toEqual([]);
      expect(await store.sessions.pendingErasures(1000)).toEqual([]);
      const done = await store.transaction(async (tx) => {
        await tx.sessions.rename(actor, ref.session, "New");
        return tx.transaction((inner) => inner.outbox.add(ref, { key: "a", draft: title("New") }));
      });
      expect(done).toBe("added");
      expect((await store.sessions.get(actor, ref.session))?.title).toBe("New");
      expect(await store.outbox.pending(soon)).toHaveLength(1);
    });

    test("transactions at the same time don't mix", async () => {
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
      const keys = (await store.outbox.pending(soon)).map((row) => row.key);
      expect(keys.toSorted()).toEqual(["1", "3", "5", "7"]);
      // Numbers follow the order of the commits, so the last number is the last name.
      expect((await store.sessions.get(actor, ref.session))?.title).toBe(keys.at(-1));
    });

    test("a key counts once", async () => {
      const { ref } = await newSession(store);
      expect(await store.outbox.add(ref, { key: "k", draft: title("a"), since: "3-9" })).toBe("added");
      expect(await store.outbox.add(ref, { key: "k", draft: title("b") })).toBe("already");
      const [row, ...more] = await store.outbox.pending(soon);
      expect(more).toEqual([]);
      expect(row).toMatchObject({ ...ref, key: "k", draft: title("a"), since: "3-9", attempts: 0 });
      expect(await store.outbox.delivered(ref, "k", "3-10")).toBe(true);
      expect(await store.outbox.delivered(ref, "k", "3-10")).toBe(false);
      expect(await store.outbox.add(ref, { key: "k", draft: title("b") })).toBe("already");
      expect(await store.outbox.pending(soon)).toEqual([]);
    });

    test("young rows are left to their writers", async () => {
      const { ref } = await newSession(store);
      await store.outbox.add(ref, { key: "k", draft: title("a") });
      const old = { limit: 10, olderThanMs: 200 };
      expect(await store.outbox.pending(old)).toEqual([]);
      expect(await store.outbox.deliver(old, async () => "1-1")).toEqual({ delivered: 0, failed: 0 });
      await harness.wait(210);
      expect(await store.outbox.pending(old)).toHaveLength(1);
      expect(await store.outbox.deliver(old, async () => "1-1")).toEqual({ delivered: 1, failed: 0 });
    });

    test("a row that fails waits, and holds back only its session", async () => {
      const { ref } = await newSession(store);
      const { ref: other } = await newSession(store);
      for (const key of ["a1", "a2"]) await store.outbox.add(ref, { key, draft: title(key) });
      await store.outbox.add(other, { key: "b1", draft: title("b1") });
      const seen: string[] = [];
      const append = async (row: OutboxRow) => {
        seen.push(row.key);
        if (row.key === "a1" && row.attempts === 0) throw new Error("no log");
        return "1-5";
      };
      expect(await store.outbox.deliver(soon, append)).toEqual({ delivered: 1, failed: 1 });
      expect(await store.outbox.deliver(soon, append)).toEqual({ delivered: 0, failed: 0 });
      expect((await store.outbox.pending(soon)).map((row) => [row.key, row.attempts])).toEqual([
        ["a1", 1],
        ["a2", 0],
      ]);
      await harness.wait(backoffMs(1) + 20);
      expect(await store.outbox.deliver(soon, append)).toEqual({ delivered: 2, failed: 0 });
      expect(seen).toEqual(["a1", "b1", "a1", "a2"]);
    });

    test("an append that gives no cursor has failed", async () => {
      const { ref } = await newSession(store);
      await store.outbox.add(ref, { key: "k", draft: title("a") });
      expect(await store.outbox.deliver(soon, async () => "nowhere")).toEqual({ delivered: 0, failed: 1 });
    });

    test("four relays bring every row once, in its session's order", async () => {
      const refs = [];
      for (let n = 0; n < 12; n += 1) refs.push((await newSession(store)).ref);
      for (let n = 0; n < 10; n += 1)
        for (const ref of refs) await store.outbox.add(ref, { key: `${n}`, draft: title("x") });
      const log = new Map<string, string[]>();
      const working = new Set<string>();
      const append = async (row: OutboxRow) => {
        expect(working).not.toContain(row.session);
        working.add(row.session);
        await new Promise((done) => setTimeout(done, Math.random() * 3));
        log.set(row.session, [...(log.get(row.session) ?? []), row.key]);
        working.delete(row.session);
        return `1-${row.id}`;
      };
      const drain = async () => {
        let delivered = 0;
        while ((await store.outbox.pending({ ...soon, limit: 1 })).length > 0) {
          delivered += (await store.outbox.deliver({ ...soon, limit: 7 }, append)).delivered;
          await harness.wait(1);
        }
        return delivered;
      };
      const delivered = await Promise.all([drain(), drain(), drain(), drain()]);
      expect(delivered.reduce((sum, n) => sum + n, 0)).toBe(120);
      for (const ref of refs)
        expect(log.get(ref.session)).toEqual(Array.from({ length: 10 }, (_, n) => `${n}`));
    });

    test("archiving marks what it has seen in the log", async () => {
      const { ref } = await newSession(store);
      for (const key of ["a", "b"]) await store.outbox.add(ref, { key, draft: title(key) });
      await store.archive.write(ref, { ...batchOf(chat(1)), delivered: ["a", "unknown"] });
      expect((await store.outbox.pending(soon)).map((row) => row.key)).toEqual(["b"]);
    });

    test("old delivered rows are pruned, others stay", async () => {
      const { ref } = await newSession(store);
      while ((await store.outbox.prune({ olderThanMs: 0, limit: 1000 })) > 0);
      for (const key of ["a", "b", "c"]) await store.outbox.add(ref, { key, draft: title(key) });
      await store.outbox.delivered(ref, "a", "1-1");
      await store.outbox.delivered(ref, "b", "1-2");
      expect(await store.outbox.prune({ olderThanMs: 60_000, limit: 10 })).toBe(0);
      await harness.wait(2);
      expect(await store.outbox.prune({ olderThanMs: 0, limit: 1 })).toBe(1);
      expect(await store.outbox.prune({ olderThanMs: 0, limit: 10 })).toBe(1);
      expect((await store.outbox.pending(soon)).map((row) => row.key)).toEqual(["c"]);
    });
  });
}
