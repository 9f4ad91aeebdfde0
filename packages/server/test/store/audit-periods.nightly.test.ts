/**
 * Tests the partitions of the audit on a real PostgreSQL, whose clock is advanced by weeks: who can drop them, and that
 * tampering is not hidden by a drop. The contract of the audit tests what is dropped.
 */
import { runSql } from "@turnstream/testkit/servers/run-sql.ts";
import { sql } from "kysely";
import { expect, test } from "vitest";

import type { AuditRow } from "../../src/store/audit.ts";
import { createPostgresStore } from "../../src/store/create-postgres-store.ts";
import { hashAuditRow, parseAuditKeys } from "../../src/store/audit.ts";
import { verifyTenantAudit } from "../../../cli/src/audit/verify-audit.ts";
import type { Store } from "../../src/store/store.ts";
import { newTenant } from "./harness.ts";
import { connectAsApp, type PostgresHarness, timedHarness } from "./postgres-harness.ts";

const WEEK_MS = 7 * 24 * 60 * 60 * 1_000;
const KEY = "k".repeat(32);
const keys = parseAuditKeys(KEY);

async function add(store: Store, tenant: string, times: number): Promise<void> {
  for (let n = 0; n < times; n++)
    await store.audit.add(tenant, { actor: null, action: "memory.edit", subject: { id: `${n}` } });
}

async function maintain(store: Store, retentionMs = 5 * WEEK_MS): Promise<number> {
  let dropped = 0;
  for (;;) {
    const step = await store.audit.maintain({ retentionMs, limit: 100 });
    dropped += step.dropped;
    if (step.recorded + step.dropped === 0) return dropped;
  }
}

async function listPeriods({ db }: PostgresHarness): Promise<number[]> {
  const { rows } = await sql<{ period: number }>`select period from audit_periods order by 1`.execute(db);
  return rows.map(({ period }) => period);
}

const triggers = (state: string) =>
  ["audit_log", "audit_heads", "audit_starts"].map((name) => `alter table ${name} ${state} trigger user`);

/** Switches the triggers off, as the owner of the tables can. */
async function tamper({ url }: PostgresHarness, ...statements: string[]): Promise<void> {
  await runSql(url, ...triggers("disable"), ...statements, ...triggers("enable"));
}

test("a drop is signed, and differs from a removal by the owner of the tables", async () => {
  const harness = await timedHarness();
  const { db } = harness;
  const store = createPostgresStore(db, { auditKey: KEY });
  const tenant = await newTenant(store);
  await add(store, tenant, 4);
  await harness.wait(14 * WEEK_MS);
  await add(store, tenant, 4);
  expect(await maintain(store)).toBeGreaterThan(0);
  expect(await store.audit.list(tenant, { after: 0, limit: 9 })).toHaveLength(4);
  const verify = () => verifyTenantAudit(store.audit, tenant, { keys });
  expect(await verify()).toMatchObject({ ok: true, head: { n: 8 }, start: { n: 4 } });
  const row = (await store.audit.list(tenant, { after: 5, limit: 1 }))[0] as AuditRow;
  await tamper(
    harness,
    `delete from audit_log where tenant_id = '${tenant}' and n <= 6`,
    `update audit_starts set n = 6, hash = '${row.hash}' where tenant_id = '${tenant}'`,
  );
  expect(await verify()).toEqual({ ok: false, fault: { n: 6, why: "cut" } });
  await tamper(harness, `delete from audit_starts where tenant_id = '${tenant}'`);
  expect(await verify()).toEqual({ ok: false, fault: { n: 1, why: "missing" } });
  await store.close();
});

test("rows that are made to look old are not dropped with a signature", async () => {
  const harness = await timedHarness();
  const store = createPostgresStore(harness.db, { auditKey: KEY });
  const [first = 0] = await listPeriods(harness);
  const [edited, rewritten] = [await newTenant(store), await newTenant(store)];
  await harness.wait(14 * WEEK_MS);
  for (const tenant of [edited, rewritten]) await add(store, tenant, 3);
  const back = `period = ${first}, at = at - ${14 * WEEK_MS}`;
  await tamper(harness, `update audit_log set ${back} where tenant_id = '${edited}'`);
  await expect(maintain(store)).rejects.toMatchObject({ code: "CONFLICT" });
  expect(await store.audit.list(edited, { after: 0, limit: 9 })).toHaveLength(3);
  await tamper(harness, `update audit_log set at = at + ${14 * WEEK_MS} where tenant_id = '${edited}'`);
  // With new hashes, which the owner of the tables can compute only without the key.
  let prevHash = "0".repeat(64);
  for (const row of await store.audit.list(rewritten, { after: 0, limit: 9 })) {
    const old = { ...row, at: row.at - 14 * WEEK_MS, prevHash, keyId: null };
    const hash = hashAuditRow(old, null);
    await tamper(
      harness,
      `update audit_log set ${back}, prev_hash = '${prevHash}', hash = '${hash}', key_id = null
        where tenant_id = '${rewritten}' and n = ${row.n}`,
      `update audit_heads set hash = '${hash}' where tenant_id = '${rewritten}'`,
    );
    prevHash = hash;
  }
  // The row of the first tenant is as young as it was written, so its partition stays.
  expect(await maintain(store)).toBe(0);
  expect(await listPeriods(harness)).toContain(first);
  await tamper(harness, `delete from audit_log where tenant_id = '${edited}'`);
  expect(await maintain(store)).toBeGreaterThan(0);
  expect(await store.audit.list(rewritten, { after: 0, limit: 9 })).toEqual([]);
  expect(await verifyTenantAudit(store.audit, rewritten, { keys })).toEqual({
    ok: false,
    fault: { n: 3, why: "cut" },
  });
  await store.close();
});

test("without workers, entries use the newest partition, and are not dropped before they expire", async () => {
  const harness = await timedHarness();
  const { store } = harness;
  const before = await listPeriods(harness);
  await harness.wait(60 * WEEK_MS);
  const tenant = await newTenant(store);
  await add(store, tenant, 2);
  await maintain(store);
  expect((await listPeriods(harness)).length).toBeGreaterThan(4);
  expect(await store.audit.list(tenant, { after: 0, limit: 9 })).toHaveLength(2);
  await harness.wait(10 * WEEK_MS);
  await add(store, tenant, 1);
  expect(await maintain(store)).toBeGreaterThan(0);
  expect(await listPeriods(harness)).not.toContain(before.at(-1));
  expect(await verifyTenantAudit(store.audit, tenant)).toMatchObject({ ok: true, start: { n: 2 } });
  await store.close();
});

test("the role of workers drops partitions only through the function, and no younger rows", async () => {
  const harness = await timedHarness();
  const tenant = await newTenant(harness.store);
  await add(harness.store, tenant, 2);
  const [first = 0] = await listPeriods(harness);
  const { db, store } = await connectAsApp(harness);
  const drop = async () =>
    (await sql<{ ok: boolean }>`select drop_audit_period(${first}) as ok`.execute(db)).rows[0]?.ok;
  for (const statement of [
    `drop table audit_log_${first}`,
    `truncate audit_log_${first}`,
    `delete from audit_log_${first}`,
    "delete from audit_log",
  ])
    await expect(sql.raw(statement).execute(db)).rejects.toMatchObject({ code: "42501" });
  expect(await drop()).toBe(false);
  await harness.wait(6 * WEEK_MS);
  // No start covers the rows.
  expect(await drop()).toBe(false);
  await harness.wait(4 * WEEK_MS);
  expect(await maintain(store)).toBeGreaterThan(0);
  expect(await listPeriods(harness)).not.toContain(first);
  expect(await store.audit.start(tenant)).toMatchObject({ n: 2 });
  await store.close();
  await harness.store.close();
});
