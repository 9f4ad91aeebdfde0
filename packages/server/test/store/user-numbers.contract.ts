/** The store contract of user numbers. */
import { expect, test } from "vitest";

import { type MakeStore, newTenant } from "./harness.ts";
import { suite } from "./suite.ts";

export function userNumbersContract(name: string, makeStore: MakeStore): void {
  suite(name, "user numbers", makeStore, (store) => {
    test("a user has one number within a tenant", async () => {
      const tenant = await newTenant(store());
      const other = await newTenant(store());
      const number = await store().userNumbers.numberOf(tenant, "an");
      expect(await store().userNumbers.numberOf(tenant, "an")).toBe(number);
      expect(await store().userNumbers.numberOf(tenant, "binh")).not.toBe(number);
      expect(await store().userNumbers.numberOf(other, "an")).not.toBe(number);
      expect(await store().userNumbers.nameOf(tenant, number)).toBe("an");
      expect(await store().userNumbers.nameOf(other, number)).toBeNull();
    });

    test("concurrent requests return the same number", async () => {
      const tenant = await newTenant(store());
      const numbers = await Promise.all(
        Array.from({ length: 20 }, () => store().userNumbers.numberOf(tenant, "an")),
      );
      expect(new Set(numbers).size).toBe(1);
    });

    test("a forgotten user has no number, and gets a new one later", async () => {
      const tenant = await newTenant(store());
      const number = await store().userNumbers.numberOf(tenant, "an");
      expect(await store().userNumbers.forget(tenant, "an")).toBe(true);
      expect(await store().userNumbers.forget(tenant, "an")).toBe(false);
      expect(await store().userNumbers.nameOf(tenant, number)).toBeNull();
      expect(await store().userNumbers.numberOf(tenant, "an")).toBeGreaterThan(number);
    });

    test("refuses invalid names and unknown tenants", async () => {
      const tenant = await newTenant(store());
      await expect(store().userNumbers.numberOf(tenant, "a\0")).rejects.toMatchObject({ code: "INVALID" });
      await expect(store().userNumbers.numberOf("missing", "an")).rejects.toMatchObject({
        code: "NOT_FOUND",
      });
    });
  });
}
