/**
 * Tests the erasure of a user on a real PostgreSQL server: no table of the ledger keeps content or names of the user.
 */
import { paymentsOf } from "@turnstream/payments";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";

import { verifyTenantAudit } from "../../../cli/src/audit/verify-audit.ts";
import { newSession, newTenant, unique } from "./harness.ts";
import { anInteraction } from "./interactions.contract.ts";
import { aReport, newPayment } from "./test-payments.ts";
import { postgresHarness, type PostgresHarness } from "./postgres-harness.ts";

let harness: PostgresHarness;
beforeAll(async () => {
  harness = await postgresHarness();
});
afterAll(() => harness.store.close());

/** The tables that contain the text, in any form. */
async function tablesWith(text: string): Promise<string[]> {
  const { rows: tables } = await sql<{ name: string }>`
    select table_name as name from information_schema.tables where table_schema = 'turnstream'`.execute(
    harness.db,
  );
  expect(tables.length).toBeGreaterThan(15);
  const found: string[] = [];
  for (const { name } of tables) {
    const { rows } = await sql<{ hit: boolean }>`
      select exists (select from ${sql.table(name)} t where t::text like ${`%${text}%`}) as hit`.execute(
      harness.db,
    );
    if (rows[0]?.hit === true) found.push(name);
  }
  return found.toSorted();
}

test("leaves nothing of an erased user, and the audit is still valid", async () => {
  const { store } = harness;
  const canary = "canary-of-content";
  const user = "canary-of-a-user";
  const tenant = await newTenant(store);
  const session = unique("session");
  const ref = { tenant, session };
  await store.sessions.create({ tenant, user }, { id: session });
  const other = await newSession(store);

  const approval = anInteraction("approval", { request: { text: canary } });
  await store.interactions.request(ref, { ...approval, schema: { title: canary } });
  await store.allowances.add(ref, { agent: "broker", tool: canary, digest: "d", by: user });
  await store.interactions.change(ref, {
    id: approval.id,
    to: "rejected",
    by: user,
    reason: canary,
    body: { text: canary },
  });
  const form = anInteraction("form");
  await store.interactions.request(ref, form);
  await store.formDrafts.save(ref, form.id, { text: canary });
  const { wanted } = await newPayment(store, ref, { description: canary });
  await paymentsOf(store).apply(wanted.orderNo, { type: "cancel", by: user });
  await paymentsOf(store).apply(wanted.orderNo, aReport("succeeded", { reason: canary }));
  await paymentsOf(store).resolveFlag(tenant, wanted.id, { by: "key", note: canary });
  const theirs = { tenant, session: unique("session") };
  await store.sessions.create({ tenant, user: "another" }, { id: theirs.session });
  const { wanted: cancelled } = await newPayment(store, theirs);
  await paymentsOf(store).apply(cancelled.orderNo, { type: "cancel", by: user });
  // A report about an order that doesn't exist leaves nothing.
  await paymentsOf(store).apply(unique("order"), aReport("failed", { reason: canary }));
  await store.usage.add(tenant, {
    key: unique("turn"),
    turns: 1,
    calls: 1,
    input_tokens: 1,
    output_tokens: 1,
    total_tokens: 2,
  });
  await store.audit.add(tenant, {
    actor: user,
    action: "approval.approved",
    subject: { interaction: approval.id },
  });
  await store.interactions.request(other.ref, anInteraction("form"));

  expect(await tablesWith(canary)).toEqual([
    "allowances",
    "form_drafts",
    "interaction_changes",
    "interaction_schemas",
    "interactions",
    "payments",
    "payments_changes",
  ]);
  expect(await tablesWith(user)).toEqual([
    "allowances",
    "interaction_changes",
    "payments_changes",
    "people",
    "sessions",
    "turn_queue",
  ]);

  await store.transaction(async (tx) => {
    await tx.sessions.removeUser(tenant, user);
    await tx.userNumbers.forget(tenant, user);
    await tx.audit.add(tenant, { actor: null, action: "user.erased", subject: {}, detail: { sessions: 1 } });
  });
  expect(await tablesWith(user)).toEqual([]);
  expect(await tablesWith(canary)).toEqual([]);
  expect(await verifyTenantAudit(store.audit, tenant)).toMatchObject({ ok: true, head: { n: 2 } });
  expect(await store.interactions.list(other.ref)).toHaveLength(1);
  const [change] = await paymentsOf(store).changes(theirs, cancelled.id);
  expect(change).toMatchObject({ to: "cancelled", by: null });
});

test("a decision leaves nothing of the draft of its form", async () => {
  const { store } = harness;
  const { ref } = await newSession(store);
  const canary = "canary-of-a-draft";
  const form = anInteraction("form");
  await store.interactions.request(ref, form);
  await store.formDrafts.save(ref, form.id, { text: canary });
  expect(await tablesWith(canary)).toEqual(["form_drafts"]);
  await store.interactions.change(ref, { id: form.id, to: "declined" });
  expect(await tablesWith(canary)).toEqual([]);
});
