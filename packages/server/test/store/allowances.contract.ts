/** The store contract of allowances. */
import { expect, test } from "vitest";
import { type MakeStore, newSession, unique, isWhole } from "./harness.ts";
import { suite } from "./suite.ts";

export function allowancesContract(name: string, makeStore: MakeStore): void {
  suite(name, "allowances", makeStore, (store) => {
    const rule = { agent: "broker", tool: "trade", digest: "sha256:1" };

    test("apply to one tool of one agent in one session", async () => {
      const { ref } = await newSession(store());
      const other = await newSession(store());
      expect(await store().allowances.add(ref, { ...rule, by: "an" })).toBe("added");
      const found = await store().allowances.find(ref, "broker", "trade");
      expect(found).toMatchObject({ ...rule, by: "an" });
      expect(found?.at).toBeGreaterThan(1_700_000_000_000);
      expect(await store().allowances.find(ref, "broker", "sell")).toBeNull();
      expect(await store().allowances.find(ref, "clerk", "trade")).toBeNull();
      expect(await store().allowances.find(other.ref, "broker", "trade")).toBeNull();
      const foreign = { tenant: other.ref.tenant, session: ref.session };
      expect(await store().allowances.find(foreign, "broker", "trade")).toBeNull();
      expect(await store().allowances.list(foreign)).toEqual([]);
      expect(await store().allowances.remove(foreign, "broker", "trade")).toBe(false);
      expect(await store().allowances.list(ref)).toHaveLength(1);
    });

    test("keep the first version, and are listed in the order of creation", async () => {
      const { ref } = await newSession(store());
      const first = { agent: "z", tool: "t", digest: "sha256:1", by: "an" };
      await store().allowances.add(ref, first);
      await store().allowances.add(ref, rule);
      expect(await store().allowances.add(ref, { ...first, by: "binh" })).toBe("already");
      const all = await store().allowances.list(ref);
      expect(all.map(({ agent, by }) => [agent, by])).toEqual([
        ["z", "an"],
        ["broker", null],
      ]);
    });

    test("are replaced by one with another digest, which keeps its place in the list", async () => {
      const { ref } = await newSession(store());
      await store().allowances.add(ref, { ...rule, by: "an" });
      await store().allowances.add(ref, { ...rule, tool: "sell" });
      expect(await store().allowances.add(ref, { ...rule, digest: "sha256:2", by: "binh" })).toBe("added");
      expect(await store().allowances.list(ref)).toMatchObject([
        { tool: "trade", digest: "sha256:2", by: "binh" },
        { tool: "sell", digest: "sha256:1" },
      ]);
    });

    test("can be revoked once and given again", async () => {
      const { ref } = await newSession(store());
      await store().allowances.add(ref, rule);
      expect(await store().allowances.remove(ref, "broker", "trade")).toBe(true);
      expect(await store().allowances.remove(ref, "broker", "trade")).toBe(false);
      expect(await store().allowances.find(ref, "broker", "trade")).toBeNull();
      expect(await store().allowances.add(ref, rule)).toBe("added");
    });

    test.runIf(isWhole(name))(
      "are erased with their session, and lose the name of an erased user",
      async () => {
        const { actor, ref } = await newSession(store());
        const guest = unique("guest");
        await store().allowances.add(ref, { ...rule, by: guest });
        await store().sessions.removeUser(actor.tenant, guest);
        expect(await store().allowances.find(ref, "broker", "trade")).toMatchObject({ ...rule, by: null });
        await store().sessions.remove(ref);
        expect(await store().allowances.list(ref)).toEqual([]);
        await expect(store().allowances.add(ref, rule)).rejects.toMatchObject({ code: "NOT_FOUND" });
      },
    );

    test("refuse names that a column can't store", async () => {
      const { ref } = await newSession(store());
      for (const bad of [
        { ...rule, tool: "" },
        { ...rule, agent: "a\0" },
        { ...rule, digest: "" },
        { ...rule, by: "x".repeat(300) },
      ])
        await expect(store().allowances.add(ref, bad)).rejects.toMatchObject({ code: "INVALID" });
    });
  });
}
