/** The store contract of transactions: concurrent calls, late calls and caught errors. */
import { expect, test } from "vitest";

import type { Store } from "../../src/store/store.ts";
import { type MakeStore, newSession, newTenant, unique } from "./harness.ts";
import { suite } from "./suite.ts";

export function transactionsContract(name: string, makeStore: MakeStore): void {
  suite(name, "transactions", makeStore, (store, advance) => {
    test("a failed call rolls back everything that runs concurrently with it", async () => {
      const { actor } = await newSession(store());
      const ids = Array.from({ length: 5 }, () => unique("session"));
      let refused: unknown;
      const several = async (tx: Store) => {
        for (const id of ids) await tx.sessions.create(actor, { id });
      };
      const failed = store().transaction((tx) =>
        Promise.all([
          tx.sessions.rename(actor, "nothing", "New"),
          several(tx).catch((error: unknown) => {
            refused = error;
          }),
        ]),
      );
      await expect(failed).rejects.toMatchObject({ code: "NOT_FOUND" });
      await advance(50);
      expect((await store().sessions.list(actor, { limit: 100 })).sessions).toHaveLength(1);
      expect(refused).toMatchObject({ code: "ABORTED" });
      for (const id of ids) await store().sessions.create(actor, { id });
    });

    test("calls that are queued when another fails leave nothing", async () => {
      const { actor } = await newSession(store());
      const ids = Array.from({ length: 5 }, () => unique("tenant"));
      const failed = store().transaction((tx) =>
        Promise.all([
          // The database reports no error here, because the update just matches no row.
          tx.sessions.rename(actor, "nothing", "New"),
          ...ids.map((id) => tx.tenants.create({ id, name: "T" })),
        ]),
      );
      await expect(failed).rejects.toMatchObject({ code: "NOT_FOUND" });
      await advance(50);
      for (const id of ids) expect(await store().tenants.get(id)).toBeNull();
    });

    test("a call of several steps that is running when another fails leaves nothing", async () => {
      const { actor, ref } = await newSession(store());
      const tenant = await newTenant(store());
      for (let n = 0; n < 10; n += 1) {
        const failed = store().transaction((tx) =>
          Promise.all([
            tx.sessions.rename(actor, "nothing", "New"),
            tx.queuedMessages.add(ref, { id: `${n}`, text: "t" }),
            tx.audit.add(tenant, { actor: null, action: "memory.edit", subject: {} }),
            tx.blobs.put(ref, { id: `${n}`, mediaType: "t", body: new Uint8Array(1) }),
          ]),
        );
        await expect(failed).rejects.toMatchObject({ code: "NOT_FOUND" });
      }
      await advance(50);
      expect(await store().queuedMessages.list(ref)).toEqual([]);
      expect(await store().audit.head(tenant)).toBeNull();
      expect(await store().blobs.get(ref, "0")).toBeNull();
    });

    test("a caught error still rolls back everything, and is thrown to the caller", async () => {
      const { actor, ref } = await newSession(store());
      const failed = store().transaction(async (tx) => {
        await tx.sessions.rename(actor, ref.session, "changed");
        await tx.sessions.create(actor, { id: ref.session }).catch(() => undefined);
        await expect(tx.sessions.find(ref)).rejects.toMatchObject({ code: "ABORTED" });
        return "done";
      });
      await expect(failed).rejects.toMatchObject({ code: "EXISTS" });
      expect(await store().sessions.find(ref)).toMatchObject({ title: null });
    });

    test("a call that was not awaited is part of the transaction", async () => {
      const { actor, ref } = await newSession(store());
      await store().transaction(async (tx) => {
        void tx.queuedMessages.add(ref, { id: "m", text: "t" });
      });
      expect(await store().queuedMessages.list(ref)).toHaveLength(1);
      let lost: Promise<unknown> | undefined;
      const failed = store().transaction(async (tx) => {
        await tx.sessions.rename(actor, ref.session, "changed");
        lost = tx.tenants.create({ id: ref.tenant, name: "again" });
        lost.catch(() => undefined);
      });
      await expect(failed).rejects.toMatchObject({ code: "EXISTS" });
      expect(await store().sessions.find(ref)).toMatchObject({ title: null });
    });

    test("refuses calls after the transaction has ended", async () => {
      const { actor, ref } = await newSession(store());
      let leaked: Store | undefined;
      await store().transaction(async (tx) => {
        leaked = tx;
        await tx.sessions.find(ref);
      });
      const over = leaked as Store;
      for (const late of [
        () => over.sessions.rename(actor, ref.session, "late"),
        () => over.sessions.find(ref),
        () => over.transaction(async () => "late"),
      ])
        await expect(late()).rejects.toMatchObject({ code: "ABORTED" });
      await expect(
        store().transaction(async (tx) => {
          leaked = tx;
          throw new Error("undo");
        }),
      ).rejects.toThrow("undo");
      await expect((leaked as Store).sessions.find(ref)).rejects.toMatchObject({ code: "ABORTED" });
      expect(await store().sessions.find(ref)).toMatchObject({ title: null });
    });
  });
}
