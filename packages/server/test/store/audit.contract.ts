/** The store contract of the audit. */
import { expect, test } from "vitest";

import { EMPTY_AUDIT_HEAD } from "../../src/store/rules/audit.ts";
import { verifyTenantAudit } from "../../src/store/rules/verify-audit.ts";
import { type MakeStore, newSession, newTenant } from "./harness.ts";
import { suite } from "./suite.ts";

export function auditContract(name: string, makeStore: MakeStore): void {
  suite(name, "audit", makeStore, (store) => {
    const add = (tenant: string, session: string, actor: number | null = null) =>
      store().audit.add(tenant, { actor, action: "session.delete", subject: { session } });

    test("chains the rows of each tenant, starting at 1", async () => {
      const tenant = await newTenant(store());
      expect(await store().audit.head(tenant)).toBeNull();
      expect(await verifyTenantAudit(store().audit, tenant)).toEqual({ ok: true, head: EMPTY_AUDIT_HEAD });
      const first = await add(tenant, "s1", 7);
      const entry = {
        actor: null,
        action: "key.create",
        subject: { z: "1", a: "2" },
        detail: { scopes: ["read"], count: 2, again: false },
      };
      const second = await store().audit.add(tenant, entry);
      await add(await newTenant(store()), "s1");
      expect(first).toMatchObject({
        tenant,
        n: 1,
        actor: 7,
        prevHash: EMPTY_AUDIT_HEAD.hash,
        detail: "null",
      });
      expect(second).toMatchObject({
        n: 2,
        actor: null,
        subject: '{"a":"2","z":"1"}',
        detail: '{"again":false,"count":2,"scopes":["read"]}',
        prevHash: first.hash,
      });
      expect(await store().audit.list(tenant, { after: 0, limit: 10 })).toEqual([first, second]);
      expect(await store().audit.list(tenant, { after: 1, limit: 1 })).toEqual([second]);
      expect(await store().audit.head(tenant)).toEqual({ n: 2, hash: second.hash });
      expect(await verifyTenantAudit(store().audit, tenant, [{ n: 1, hash: first.hash }])).toMatchObject({
        ok: true,
      });
    });

    test("concurrent rows form one chain", async () => {
      const tenant = await newTenant(store());
      await Promise.all(
        Array.from({ length: 60 }, (_, at) =>
          at % 3 === 0
            ? add(tenant, `s${at}`)
            : store().transaction((tx) =>
                tx.audit.add(tenant, { actor: at, action: "turn.stop", subject: { turn: `t${at}` } }),
              ),
        ),
      );
      expect(await verifyTenantAudit(store().audit, tenant)).toMatchObject({ ok: true, head: { n: 60 } });
    });

    test("can be verified while rows are added", async () => {
      const tenant = await newTenant(store());
      const adding = (async () => {
        for (let at = 0; at < 40; at += 1) await add(tenant, `s${at}`);
      })();
      for (let at = 0; at < 10; at += 1) {
        expect(await verifyTenantAudit(store().audit, tenant)).toMatchObject({ ok: true });
      }
      await adding;
    });

    test("a failed transaction leaves no row and no gap", async () => {
      const tenant = await newTenant(store());
      await add(tenant, "s1");
      const failed = store().transaction(async (tx) => {
        await tx.audit.add(tenant, { actor: null, action: "x", subject: {} });
        throw new Error("undo");
      });
      await expect(failed).rejects.toThrow("undo");
      expect(await add(tenant, "s2")).toMatchObject({ n: 2 });
      expect(await verifyTenantAudit(store().audit, tenant)).toMatchObject({ ok: true, head: { n: 2 } });
    });

    test("refuses values that look like content", async () => {
      const tenant = await newTenant(store());
      const entry = { actor: null, action: "session.delete", subject: {} };
      for (const bad of [
        { action: "Wrote hello!" },
        { action: "" },
        { actor: 1.5 },
        { subject: { session: "text of a user" } },
        { subject: { "text of a user": "s1" } },
        { subject: { session: "x".repeat(300) } },
        { subject: { user: "an@example.com" } },
        { subject: { session: "s1\n" } },
        { detail: "text of a user" },
        { detail: { who: "an@example.com" } },
        { detail: { "text of a user": 1 } },
        { detail: { deep: [{ er: ["text of a user"] }] } },
        { detail: { n: Number.NaN } },
      ]) {
        await expect(store().audit.add(tenant, { ...entry, ...bad })).rejects.toMatchObject({
          code: "INVALID",
        });
      }
      const large = store().audit.add(tenant, {
        ...entry,
        detail: Array.from({ length: 2000 }, (_, n) => n),
      });
      await expect(large).rejects.toMatchObject({ code: "TOO_LARGE" });
      expect(await store().audit.head(tenant)).toBeNull();
    });

    test("erasing a session, a user and the tenant leaves a valid chain without user names", async () => {
      const { actor, ref } = await newSession(store());
      const number = await store().userNumbers.numberOf(actor.tenant, actor.user);
      await add(actor.tenant, ref.session, number);
      await store().sessions.remove(ref);
      await store().userNumbers.forget(actor.tenant, actor.user);
      await add(actor.tenant, ref.session);
      await store().tenants.remove(actor.tenant);
      expect(await verifyTenantAudit(store().audit, actor.tenant)).toMatchObject({
        ok: true,
        head: { n: 2 },
      });
      const rows = await store().audit.list(actor.tenant, { after: 0, limit: 10 });
      expect(rows[0]?.actor).toBe(number);
      expect(JSON.stringify(rows)).not.toContain(`"${actor.user}"`);
    });
  });
}
