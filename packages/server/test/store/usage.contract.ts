/** The store contract of usage. */
import { expect, test } from "vitest";

import { MAX_USAGE } from "../../src/store/usage.ts";
import { type MakeStore, newTenant, unique, isWhole } from "./harness.ts";
import { suite } from "./suite.ts";

const ONE = { turns: 1, calls: 2, input_tokens: 30, output_tokens: 4, total_tokens: 34, cost: 0.1 };
const TWO = { turns: 2, calls: 4, input_tokens: 60, output_tokens: 8, total_tokens: 68, cost: 0.2 };

export function usageContract(name: string, makeStore: MakeStore): void {
  suite(name, "usage", makeStore, (store, advance) => {
    test("adds up by day and model, each key once", async () => {
      const tenant = await newTenant(store());
      const add = (key: string, day: string, model: string) =>
        store().usage.add(tenant, { key, day, model, ...ONE });
      expect(await add("t1", "2026-01-02", "m")).toBe(true);
      expect(await add("t1", "2026-01-02", "m")).toBe(false);
      expect(await add("t1", "2026-01-03", "other")).toBe(false);
      expect(await add("t2", "2026-01-02", "m")).toBe(true);
      expect(await add("t3", "2026-01-02", "Z")).toBe(true);
      expect(await add("t4", "2026-01-01", "m")).toBe(true);
      expect(await add("t5", "2026-01-31", "m")).toBe(true);
      expect(await store().usage.list(tenant, "2026-01-01", "2026-01-30")).toEqual([
        { day: "2026-01-01", model: "m", ...ONE },
        { day: "2026-01-02", model: "Z", ...ONE },
        { day: "2026-01-02", model: "m", ...TWO },
      ]);
      expect(await store().usage.list(await newTenant(store()), "2026-01-01", "2026-12-31")).toEqual([]);
    });

    test("uses today without a day, and no model without a model", async () => {
      const tenant = await newTenant(store());
      await store().usage.add(tenant, { key: "t1", ...ONE });
      const [row] = await store().usage.list(tenant, "2020-01-01", "2090-01-01");
      expect(row).toEqual({ day: expect.stringMatching(/^20\d\d-\d\d-\d\d$/), model: "", ...ONE });
    });

    test("the same key from many concurrent callers counts once", async () => {
      const tenant = await newTenant(store());
      const keys = Array.from({ length: 10 }, () => unique("turn"));
      const adds = [...keys, ...keys, ...keys].map((key) =>
        store().usage.add(tenant, { key, day: "2026-02-01", ...ONE }),
      );
      expect((await Promise.all(adds)).filter(Boolean)).toHaveLength(10);
      const [row] = await store().usage.list(tenant, "2026-02-01", "2026-02-01");
      expect(row).toMatchObject({ turns: 10, total_tokens: 340 });
    });

    test("a failed transaction counts nothing", async () => {
      const tenant = await newTenant(store());
      const failed = store().transaction(async (tx) => {
        await tx.usage.add(tenant, { key: "t1", day: "2026-02-01", ...ONE });
        throw new Error("undo");
      });
      await expect(failed).rejects.toThrow("undo");
      expect(await store().usage.add(tenant, { key: "t1", day: "2026-02-01", ...ONE })).toBe(true);
      expect(await store().usage.list(tenant, "2026-02-01", "2026-02-01")).toMatchObject([ONE]);
    });

    test.runIf(isWhole(name))("keys can be deleted, and counts stay", async () => {
      const tenant = await newTenant(store());
      await store().usage.add(tenant, { key: "t1", day: "2026-02-01", ...ONE });
      await advance(5);
      expect(await store().usage.pruneMarks({ olderThanMs: 3_600_000, limit: 1000 })).toBe(0);
      expect(await store().usage.pruneMarks({ olderThanMs: 0, limit: 1000 })).toBeGreaterThan(0);
      expect(await store().usage.list(tenant, "2026-02-01", "2026-02-01")).toMatchObject([ONE]);
    });

    test("a sum stops at the largest safe number", async () => {
      const tenant = await newTenant(store());
      const most = 1e15 - 1;
      for (let n = 0; n < 11; n += 1)
        await store().usage.add(tenant, { key: `${n}`, day: "2026-02-01", ...ONE, total_tokens: most });
      const [row] = await store().usage.list(tenant, "2026-02-01", "2026-02-01");
      expect(row).toMatchObject({ turns: 11, total_tokens: MAX_USAGE });
    });

    test("refuses invalid arguments", async () => {
      const tenant = await newTenant(store());
      for (const bad of [
        { day: "2026-02-30" },
        { day: "today" },
        { turns: -1 },
        { calls: 0.5 },
        { key: "" },
      ]) {
        const add = store().usage.add(tenant, { key: "t1", ...ONE, ...bad });
        await expect(add).rejects.toMatchObject({ code: "INVALID" });
      }
      await expect(store().usage.add("missing", { key: "t1", ...ONE })).rejects.toMatchObject({
        code: "NOT_FOUND",
      });
    });
  });
}
