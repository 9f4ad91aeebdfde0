/** The store contract of API keys. */
import { expect, test } from "vitest";

import { type MakeStore, newTenant, isWhole } from "./harness.ts";
import { suite } from "./suite.ts";

export function keysContract(name: string, makeStore: MakeStore): void {
  suite(name, "keys", makeStore, (store, advance) => {
    const newKey = async () => {
      const tenant = await newTenant(store());
      return { tenant, ...(await store().keys.create(tenant, { name: "CI", scopes: ["read", "write"] })) };
    };

    test("a key identifies its tenant and scopes", async () => {
      const { tenant, key, secret } = await newKey();
      expect(secret).toMatch(new RegExp(`^ts_${key.id}_[A-Za-z0-9_-]{43}$`));
      expect(key).toMatchObject({ name: "CI", expiresAt: null, revokedAt: null, lastUsedAt: null });
      expect(await store().keys.verify(secret)).toEqual({ id: key.id, tenant, scopes: ["read", "write"] });
    });

    test("refuses anything but the exact key", async () => {
      const { secret } = await newKey();
      const other = await newKey();
      const changed = (at: number) =>
        secret.slice(0, at) + (secret[at] === "a" ? "b" : "a") + secret.slice(at + 1);
      const bad = Array.from(secret, (_, at) => changed(at)).filter((text) => text !== secret);
      expect(bad.length).toBe(secret.length);
      const mixed = other.secret.slice(0, 28) + secret.slice(28);
      for (const text of [
        ...bad,
        mixed,
        "",
        secret.slice(0, -1),
        `${secret}a`,
        `${secret}\n`,
        "x".repeat(10_000),
      ]) {
        expect(await store().keys.verify(text)).toBeNull();
      }
    });

    test("a revoked key stays invalid", async () => {
      const { tenant, key, secret } = await newKey();
      const { key: other } = await store().keys.create(tenant, { name: "B", scopes: [] });
      expect(await store().keys.revoke(await newTenant(store()), key.id)).toBe(false);
      expect(await store().keys.live([key.id, other.id, "missing"])).toEqual(new Set([key.id, other.id]));
      expect(await store().keys.revoke(tenant, key.id)).toBe(true);
      expect(await store().keys.revoke(tenant, key.id)).toBe(false);
      expect(await store().keys.verify(secret)).toBeNull();
      expect(await store().keys.live([key.id, other.id])).toEqual(new Set([other.id]));
      // Keys that were created in the same millisecond have no fixed order.
      const listed = await store().keys.list(tenant);
      expect(listed).toHaveLength(2);
      expect(listed.find(({ id }) => id === key.id)).toMatchObject({
        id: key.id,
        revokedAt: expect.any(Number),
      });
      expect(listed.find(({ id }) => id === other.id)).toMatchObject({ revokedAt: null });
    });

    test("a key expires", async () => {
      const tenant = await newTenant(store());
      const { key } = await store().keys.create(tenant, { name: "now", scopes: [] });
      const soon = { name: "soon", scopes: [], expiresAt: key.createdAt + 300_000 };
      const { secret, key: expiring } = await store().keys.create(tenant, soon);
      expect(await store().keys.verify(secret)).not.toBeNull();
      await advance(400_000);
      expect(await store().keys.verify(secret)).toBeNull();
      expect(await store().keys.live([expiring.id])).toEqual(new Set());
    });

    test("records its use at most once a minute", async () => {
      const { tenant, secret } = await newKey();
      await store().keys.verify(secret);
      const used = async () => (await store().keys.list(tenant))[0]?.lastUsedAt;
      await expect.poll(used).toEqual(expect.any(Number));
      const once = await used();
      await advance(20);
      await store().keys.verify(secret);
      await advance(20);
      expect(await used()).toBe(once);
    });

    test("lists the newest of many keys, oldest first", async () => {
      const { tenant, key: first } = await newKey();
      const made: string[] = [];
      for (let n = 0; n < 100; n += 1) {
        const some = Array.from({ length: 10 }, () => store().keys.create(tenant, { name: "", scopes: [] }));
        made.push(...(await Promise.all(some)).map(({ key }) => key.id));
      }
      const listed = await store().keys.list(tenant);
      expect(listed).toHaveLength(1000);
      expect(listed.map(({ id }) => id)).not.toContain(first.id);
      expect(new Set(listed.map(({ id }) => id))).toEqual(new Set(made));
      expect(listed.map(({ createdAt }) => createdAt)).toEqual(
        listed.map(({ createdAt }) => createdAt).toSorted((a, b) => a - b),
      );
    });

    test.runIf(isWhole(name))("keys are erased with their tenant", async () => {
      const { tenant, secret } = await newKey();
      await store().tenants.remove(tenant);
      expect(await store().keys.verify(secret)).toBeNull();
      await expect(store().keys.create(tenant, { name: "A", scopes: [] })).rejects.toMatchObject({
        code: "NOT_FOUND",
      });
    });
  });
}
