/** The store contract of form drafts. */
import { expect, test } from "vitest";

import { type MakeStore, newSession, newTenant } from "./harness.ts";
import { anInteraction } from "./interactions.contract.ts";
import { suite } from "./suite.ts";

export function formDraftsContract(name: string, makeStore: MakeStore): void {
  suite(name, "form drafts", makeStore, (store) => {
    test("returns the last draft while the form is pending", async () => {
      const { ref } = await newSession(store());
      const form = anInteraction("form");
      await store().interactions.request(ref, form);
      expect(await store().formDrafts.get(ref, form.id)).toBeNull();
      expect(await store().formDrafts.save(ref, form.id, { a: 1 })).toMatchObject({ version: 1 });
      const second = await store().formDrafts.save(ref, form.id, { b: "\0 é" });
      expect(second).toMatchObject({ values: { b: "\0 é" }, version: 2 });
      expect(await store().formDrafts.get(ref, form.id)).toEqual(second);
    });

    test("is deleted when the form is decided, and no draft is stored after that", async () => {
      const { ref } = await newSession(store());
      const form = anInteraction("form");
      await store().interactions.request(ref, form);
      await store().formDrafts.save(ref, form.id, { a: 1 });
      const change = store().interactions.change(ref, { id: form.id, to: "submitted", body: { values: {} } });
      expect(await change).toMatchObject({ applied: true });
      expect(await store().formDrafts.get(ref, form.id)).toBeNull();
      expect(await store().formDrafts.save(ref, form.id, { a: 2 })).toBeNull();
      expect(await store().formDrafts.get(ref, form.id)).toBeNull();
    });

    test("concurrent saves and a decision leave no draft", async () => {
      const { ref } = await newSession(store());
      for (let round = 0; round < 10; round++) {
        const form = anInteraction("form");
        await store().interactions.request(ref, form);
        await Promise.all([
          store().formDrafts.save(ref, form.id, { a: 1 }),
          store().transaction((tx) => tx.interactions.change(ref, { id: form.id, to: "declined" })),
          store().formDrafts.save(ref, form.id, { a: 2 }),
        ]);
        expect(await store().formDrafts.get(ref, form.id)).toBeNull();
      }
    });

    test("one of several concurrent decisions wins", async () => {
      const { ref } = await newSession(store());
      for (let round = 0; round < 5; round++) {
        const form = anInteraction("form", { deadlineMs: 60_000 });
        await store().interactions.request(ref, form);
        const results = await Promise.all(
          ["submitted", "declined", "cancelled", "expired", "submitted"].map((to) =>
            store().interactions.change(ref, { id: form.id, to }),
          ),
        );
        expect(results.filter(({ applied }) => applied)).toHaveLength(1);
        expect(await store().interactions.changes(ref, form.id)).toHaveLength(1);
      }
    });

    test("accepts only forms of the tenant and this session, up to a size limit", async () => {
      const { ref } = await newSession(store());
      const form = anInteraction("form");
      const approval = anInteraction("approval");
      await store().interactions.request(ref, form);
      await store().interactions.request(ref, approval);
      expect(await store().formDrafts.save(ref, approval.id, {})).toBeNull();
      expect(await store().formDrafts.save(ref, "nothing", {})).toBeNull();
      await expect(store().formDrafts.save(ref, form.id, { a: "x".repeat(65_536) })).rejects.toMatchObject({
        code: "TOO_LARGE",
      });
      const stranger = { tenant: await newTenant(store()), session: ref.session };
      await expect(store().formDrafts.save(stranger, form.id, {})).rejects.toMatchObject({
        code: "NOT_FOUND",
      });
      await store().formDrafts.save(ref, form.id, { a: 1 });
      expect(await store().formDrafts.get(stranger, form.id)).toBeNull();
      expect(await store().formDrafts.get({ ...ref, session: "other" }, form.id)).toBeNull();
    });
  });
}
