/** What every store promises of people's numbers. */
import { expect, test } from "vitest";

import { type MakeStore, newTenant } from "./harness.ts";
import { suite } from "./suite.ts";

export function userNumbersContract(name: string, makeStore: MakeStore): void {
  suite(name, "people", makeStore, (store) => {
    test("a person has one number, in one tenant", async () => {
      const tenant = await newTenant(store());
      const other = await newTenant(store());
      const number = await store().userNumbers.numberOf(tenant, "an");
      expect(await store().userNumbers.numberOf(tenant, "an")).toBe(number);
      expect(await store().userNumbers.numberOf(tenant, "binh")).not.toBe(number);
      expect(await store().userNumbers.numberOf(other, "an")).not.toBe(number);
      expect(await store().userNumbers.nameOf(tenant, number)).toBe("an");
      expect(await store().userNumbers.nameOf(other, number)).toBeNull();
    });

    test("asked for at once by many, it is still one", async () => {
      const tenant = await newTenant(store());
      const numbers = await Promise.all(
        Array.from({ length: 20 }, () => store().userNumbers.numberOf(tenant, "an")),
      );
      expect(new Set(numbers).size).toBe(1);
    });

    test("who was forgotten is nobody, and somebody new when they return", async () => {
      const tenant = await newTenant(store());
      const number = await store().userNumbers.numberOf(tenant, "an");
      expect(await store().userNumbers.forget(tenant, "an")).toBe(true);
      expect(await store().userNumbers.forget(tenant, "an")).toBe(false);
      expect(await store().userNumbers.nameOf(tenant, number)).toBeNull();
      expect(await store().userNumbers.numberOf(tenant, "an")).toBeGreaterThan(number);
    });

    test("bad names and unknown tenants are refused", async () => {
      const tenant = await newTenant(store());
      await expect(store().userNumbers.numberOf(tenant, "a\0")).rejects.toMatchObject({ code: "INVALID" });
      await expect(store().userNumbers.numberOf("nobody", "an")).rejects.toMatchObject({ code: "NOT_FOUND" });
    });
  });
}
