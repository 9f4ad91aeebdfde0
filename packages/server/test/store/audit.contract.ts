/** The store contract of the audit. */
import { expect, test } from "vitest";

import type { AuditEntry, AuditRow } from "../../src/store/audit.ts";
import type { AuditAction } from "../../src/store/rules/audit-actions.ts";
import { EMPTY_AUDIT_HEAD } from "../../src/store/audit.ts";
import { verifyTenantAudit } from "../../../cli/src/audit/verify-audit.ts";
import { lostEntries, type MakeStore, newSession, newTenant, isWhole } from "./harness.ts";
import { suite } from "./suite.ts";

const WEEK_MS = 7 * 24 * 60 * 60 * 1_000;

export function auditContract(name: string, makeStore: MakeStore): void {
  suite(name, "audit", makeStore, (store, wait) => {
    const add = async (tenant: string, session: string, actor: string | null = null): Promise<AuditRow> => {
      const entry = { actor, action: "share.opened", subject: { session } } as const;
      const row = await store().audit.add(tenant, entry);
      if (row === null) throw new Error("the entry of an action that grants something is never left out");
      return row;
    };

    test("chains the rows of each tenant, starting at 1", async () => {
      const tenant = await newTenant(store());
      expect(await store().audit.head(tenant)).toBeNull();
      expect(await verifyTenantAudit(store().audit, tenant)).toEqual({
        ok: true,
        head: EMPTY_AUDIT_HEAD,
        start: null,
      });
      const first = await add(tenant, "s1", "an");
      const entry = {
        actor: null,
        action: "key.created",
        subject: { z: "1", a: "2" },
        detail: { scopes: ["read"], count: 2, again: false },
      } as const;
      const second = await store().audit.add(tenant, entry);
      await add(await newTenant(store()), "s1");
      expect(first).toMatchObject({
        tenant,
        n: 1,
        actor: await store().userNumbers.numberOf(tenant, "an"),
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
      expect(await store().audit.head(tenant)).toEqual({ n: 2, hash: second?.hash });
      const checkpoints = [{ n: 1, hash: first.hash }];
      expect(await verifyTenantAudit(store().audit, tenant, { checkpoints })).toMatchObject({ ok: true });
    });

    test("concurrent rows form one chain", async () => {
      const tenant = await newTenant(store());
      await Promise.all(
        Array.from({ length: 60 }, (_, at) =>
          at % 3 === 0
            ? add(tenant, `s${at}`)
            : store().transaction((tx) =>
                tx.audit.add(tenant, {
                  actor: `u${at % 4}`,
                  action: at % 3 === 1 ? "approval.rejected" : "approval.approved",
                  subject: { turn: `t${at}` },
                }),
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

    test("drops expired rows in spans of four weeks, and the rest of each chain can be verified", async () => {
      const [busy, idle, young] = [
        await newTenant(store()),
        await newTenant(store()),
        await newTenant(store()),
      ];
      for (const tenant of [busy, busy, idle]) await add(tenant, "old");
      await wait(9 * WEEK_MS);
      const recent = [await add(busy, "s"), await add(busy, "s")];
      await add(young, "s");
      const maintain = (limit: number) => store().audit.maintain({ retentionMs: 4 * WEEK_MS, limit });
      const verify = (tenant: string) => verifyTenantAudit(store().audit, tenant);
      expect(await store().audit.maintain({ retentionMs: null, limit: 10 })).toEqual({
        recorded: 0,
        dropped: 0,
      });
      expect(await store().audit.maintain({ retentionMs: 52 * WEEK_MS, limit: 10 })).toMatchObject({
        dropped: 0,
      });
      await expect(store().audit.maintain({ retentionMs: 3 * WEEK_MS, limit: 10 })).rejects.toMatchObject({
        code: "INVALID",
      });
      let [recorded, dropped] = [0, 0];
      for (;;) {
        const step = await maintain(1);
        // Also between the record and the drop.
        for (const tenant of [busy, idle, young]) expect(await verify(tenant)).toMatchObject({ ok: true });
        if (step.recorded + step.dropped === 0) break;
        recorded += step.recorded;
        dropped += step.dropped;
      }
      expect(recorded).toBeGreaterThanOrEqual(2);
      expect(dropped).toBeGreaterThanOrEqual(1);
      expect(await store().audit.list(busy, { after: 0, limit: 1 })).toEqual(recent.slice(0, 1));
      expect(await store().audit.list(busy, { after: 0, limit: 9 })).toEqual(recent);
      expect(await store().audit.start(busy)).toMatchObject({ tenant: busy, n: 2, signature: null });
      expect(await verify(busy)).toMatchObject({ head: { n: 4 }, start: { n: 2 } });
      // The head stays, so the numbers continue.
      expect(await store().audit.list(idle, { after: 0, limit: 9 })).toEqual([]);
      expect(await add(idle, "s")).toMatchObject({ n: 2 });
      expect(await verify(idle)).toMatchObject({ ok: true, head: { n: 2 }, start: { n: 1 } });
      expect(await store().audit.start(young)).toBeNull();
    });

    test("a failed transaction leaves no row and no gap", async () => {
      const tenant = await newTenant(store());
      await add(tenant, "s1");
      const failed = store().transaction(async (tx) => {
        await tx.audit.add(tenant, { actor: null, action: "memory.edit", subject: {} });
        throw new Error("undo");
      });
      await expect(failed).rejects.toThrow("undo");
      expect(await add(tenant, "s2")).toMatchObject({ n: 2 });
      expect(await verifyTenantAudit(store().audit, tenant)).toMatchObject({ ok: true, head: { n: 2 } });
    });

    test("stores a hash in place of every value that could be a text, a mail or a network address", async () => {
      const tenant = await newTenant(store());
      const values = [
        "text of a user",
        "an@example.com",
        "x".repeat(300),
        "s1\n",
        "127.0.0.1",
        "2001:db8::1",
        "fe80::1%eth0",
        "",
        "..",
      ];
      for (const value of values) {
        const entry = { actor: null, action: "share.opened", subject: { session: value } } as const;
        const row = await store().audit.add(tenant, {
          ...entry,
          detail: { from: value, deep: [{ er: [value] }] },
        });
        const stored =
          value === ".." ? value : (JSON.parse(row?.subject ?? "") as { session: string }).session;
        if (value !== "..") expect(stored).toMatch(/^hash:[0-9a-f]{32}$/);
        expect(JSON.parse(row?.detail ?? "")).toEqual({ deep: [{ er: [stored] }], from: stored });
      }
      expect(await verifyTenantAudit(store().audit, tenant)).toMatchObject({ ok: true });
    });

    test("refuses unknown actions, names that look like content, and what is too large", async () => {
      const tenant = await newTenant(store());
      const entry = { actor: null, action: "share.opened", subject: {} } as const;
      for (const bad of [
        { action: "Wrote hello!" },
        { action: "" },
        { action: "toString" },
        { subject: { "text of a user": "s1" } },
        { subject: { session: 7 } },
        { detail: { "text of a user": 1 } },
        { detail: { n: Number.NaN } },
      ]) {
        const added = store().audit.add(tenant, { ...entry, ...bad } as AuditEntry);
        await expect(added).rejects.toMatchObject({ code: "INVALID" });
      }
      const detail = Array.from({ length: 2000 }, (_, n) => n);
      const large = store().audit.add(tenant, { ...entry, detail });
      await expect(large).rejects.toMatchObject({ code: "TOO_LARGE" });
      expect(await store().audit.head(tenant)).toBeNull();
    });

    test("an entry that can't be written keeps a grant from happening, and never a rejection", async () => {
      const { actor, ref } = await newSession(store());
      // The number of a user needs a tenant.
      const rename = (title: string, action: AuditAction) =>
        store().transaction(async (tx) => {
          await tx.sessions.rename(actor, ref.session, title);
          return tx.audit.add("no such tenant", { actor: "an", action, subject: {} });
        });
      const before = lostEntries.length;
      expect(await rename("rejected", "approval.rejected")).toBeNull();
      expect(lostEntries.slice(before)).toEqual(["the audit of approval.rejected"]);
      await expect(rename("approved", "approval.approved")).rejects.toMatchObject({ code: "NOT_FOUND" });
      expect(await store().sessions.get(actor, ref.session)).toMatchObject({ title: "rejected" });
      expect(await store().audit.head("no such tenant")).toBeNull();
      for (const action of ["approval.cancelled", "form.cancelled", "session.erased"] as const)
        expect(await store().audit.add("no such tenant", { actor: "an", action, subject: {} })).toBeNull();
    });

    test("adds an entry once per mark, also for concurrent callers", async () => {
      const tenant = await newTenant(store());
      const entry = { actor: null, action: "share.read", subject: { share: "h1" } } as const;
      const once = (mark: string) => store().audit.addOnce(tenant, mark, entry);
      const added = await Promise.all(Array.from({ length: 8 }, () => once("read/h1/7")));
      expect(added.filter((row) => row !== null)).toMatchObject([{ n: 1, action: "share.read" }]);
      expect(await once("read/h1/8")).toMatchObject({ n: 2 });
      expect(await store().audit.addOnce(await newTenant(store()), "read/h1/7", entry)).toMatchObject({
        n: 1,
      });
    });

    test("notes new and revoked keys and shares in the same commit", async () => {
      const { actor, ref } = await newSession(store());
      const { tenant } = actor;
      const undone = store().transaction(async (tx) => {
        await tx.keys.create(tenant, { name: "undone", scopes: [] });
        throw new Error("undo");
      });
      await expect(undone).rejects.toThrow("undo");
      const { key } = await store().keys.create(tenant, { name: "k", scopes: ["read"] });
      const share = await store().shares.create(actor, ref.session);
      expect(await store().shares.revoke(actor, share.id)).toBe(true);
      expect(await store().shares.revoke(actor, share.id)).toBe(false);
      expect(await store().keys.revoke(tenant, key.id)).toBe(true);
      expect(await store().keys.revoke(tenant, key.id)).toBe(false);
      const rows = await store().audit.list(tenant, { after: 0, limit: 10 });
      const number = await store().userNumbers.numberOf(tenant, actor.user);
      expect(rows.map(({ action, actor: by, subject }) => [action, by, JSON.parse(subject)])).toEqual([
        ["key.created", null, { key: key.id }],
        ["share.opened", number, { session: ref.session, share: share.id }],
        ["share.revoked", number, { share: share.id }],
        ["key.revoked", null, { key: key.id }],
      ]);
      expect(await store().keys.tenantOf(key.id)).toBe(tenant);
      expect(await store().keys.tenantOf("0".repeat(24))).toBeNull();
    });

    test.runIf(isWhole(name))(
      "erasing a session, a user and the tenant leaves a valid chain without user names",
      async () => {
        const { actor, ref } = await newSession(store());
        const number = await store().userNumbers.numberOf(actor.tenant, actor.user);
        await add(actor.tenant, ref.session, actor.user);
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
      },
    );
  });
}
