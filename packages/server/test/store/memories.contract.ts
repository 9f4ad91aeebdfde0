/** The store contract of memories. */
import { expect, test } from "vitest";

import { MAX_MEMORIES, MAX_MEMORY_CHARS } from "../../src/store/memories.ts";
import { type MakeStore, newSession, newTenant } from "./harness.ts";
import { suite } from "./suite.ts";

export function memoriesContract(name: string, makeStore: MakeStore): void {
  suite(name, "memories", makeStore, (store, advance) => {
    test("saves, changes and deletes; lists pinned ones first, then the last changed", async () => {
      const actor = { tenant: await newTenant(store()), user: "an" };
      const { memories } = store();
      for (const id of ["a", "b", "c"]) {
        expect(await memories.save(actor, { id, text: ` likes ${id}\0 `, pinned: id === "a" })).toBe("saved");
        await advance(2);
      }
      expect(await memories.save(actor, { id: "a", text: "another" })).toBe("already");
      const texts = async () => (await memories.list(actor)).map(({ text }) => text);
      expect(await texts()).toEqual(["likes a\ufffd", "likes c\ufffd", "likes b\ufffd"]);
      expect(await memories.change(actor, "b", { text: "hates b" })).toMatchObject({
        id: "b",
        text: "hates b",
        pinned: false,
      });
      expect(await memories.change(actor, "a", { pinned: false })).toMatchObject({ pinned: false });
      expect(await texts()).toEqual(["likes a\ufffd", "hates b", "likes c\ufffd"]);
      expect(await memories.change(actor, "x", { text: "y" })).toBeNull();
      expect([await memories.remove(actor, "a"), await memories.remove(actor, "a")]).toEqual([true, false]);
      expect([await memories.removeAll(actor), await memories.removeAll(actor)]).toEqual([2, 0]);
      expect(await texts()).toEqual([]);
    });

    test("are not visible to another user or tenant", async () => {
      const tenant = await newTenant(store());
      const an = { tenant, user: "an" };
      const { memories } = store();
      await memories.save(an, { id: "m", text: "a secret" });
      for (const other of [
        { tenant, user: "binh" },
        { tenant: await newTenant(store()), user: "an" },
      ]) {
        expect(await memories.list(other)).toEqual([]);
        expect(await memories.change(other, "m", { text: "x" })).toBeNull();
        expect(await memories.remove(other, "m")).toBe(false);
        expect(await memories.removeAll(other)).toBe(0);
        expect(await memories.save(other, { id: "m", text: "of their own" })).toBe("saved");
      }
      expect(await memories.list(an)).toMatchObject([{ text: "a secret" }]);
    });

    test("are limited in number, also for concurrent saves, and in length", async () => {
      const actor = { tenant: await newTenant(store()), user: "an" };
      const { memories } = store();
      for (let n = 0; n < MAX_MEMORIES - 5; n++) await memories.save(actor, { id: `m${n}`, text: "x" });
      const many = Array.from({ length: 20 }, (_, n) => memories.save(actor, { id: `n${n}`, text: "x" }));
      expect((await Promise.all(many)).filter((outcome) => outcome === "saved")).toHaveLength(5);
      expect(await memories.list(actor)).toHaveLength(MAX_MEMORIES);
      const long = { id: "l", text: "x".repeat(MAX_MEMORY_CHARS + 1) };
      await expect(memories.save(actor, long)).rejects.toMatchObject({ code: "TOO_LARGE" });
      await expect(memories.save(actor, { id: "a b", text: "x" })).rejects.toMatchObject({ code: "INVALID" });
      await expect(memories.save(actor, { id: "l", text: " " })).rejects.toMatchObject({ code: "INVALID" });
      const otherTenant = { tenant: "missing", user: "an" };
      await expect(memories.save(otherTenant, { id: "l", text: "x" })).rejects.toMatchObject({
        code: "NOT_FOUND",
      });
    });

    test("outlive a session, and are erased with the user", async () => {
      const { actor, ref } = await newSession(store());
      const other = { ...actor, user: "binh" };
      await store().memories.save(actor, { id: "m", text: "x" });
      await store().memories.save(other, { id: "m", text: "y" });
      await store().sessions.remove(ref);
      expect(await store().memories.list(actor)).toHaveLength(1);
      await store().sessions.removeUser(actor.tenant, actor.user);
      expect(await store().memories.list(actor)).toEqual([]);
      expect(await store().memories.list(other)).toHaveLength(1);
      await store().tenants.remove(actor.tenant);
      expect(await store().memories.list(other)).toEqual([]);
    });
  });
}
