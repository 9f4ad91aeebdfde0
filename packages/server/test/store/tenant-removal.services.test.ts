/** Tests on a real PostgreSQL that nothing of a removed tenant stays, and that nothing is added while it is removed. */
import { sql } from "kysely";
import { expect, test } from "vitest";

import { openDatabase } from "../../src/store/database/open-database.ts";
import { createPostgresStore } from "../../src/store/create-postgres-store.ts";
import type { ClosableStore } from "../../src/store/store.ts";
import { batchOf, chat } from "./archive-batch.ts";
import { newTenant, unique } from "./harness.ts";
import { postgresHarness } from "./postgres-harness.ts";

/** The audit outlives its tenant. An erasure is finished after the removal. */
const OUTLIVES = ["audit_heads", "audit_log", "erasures"];

const USED = { turns: 1, calls: 1, input_tokens: 1, output_tokens: 1, total_tokens: 2 };

/** Adds a row to every table that has rows of a tenant and no foreign key to it. */
async function addRows(store: ClosableStore, tenant: string): Promise<void> {
  const actor = { tenant, user: "an" };
  const session = unique("session");
  const ref = { tenant, session };
  await store.sessions.create(actor, { id: session, firstEpoch: 1 });
  await store.archive.write(ref, batchOf(chat(1)));
  await store.journal.write(ref, { turn: "t", key: "k", value: 1, epoch: 1, isRetained: true });
  await store.usage.add(tenant, { ...USED, key: "k", user: "an", apiKey: "key" });
  await store.tickets.redeem(tenant, "ticket", Date.UTC(2100));
  await store.idempotency.begin(actor, { route: "POST /x", key: "k", digest: "d" });
  await store.memories.save(actor, { id: "m", text: "likes tea" });
  await store.webhooks.create(tenant, { url: "https://receiver.example/" });
  await store.webhooks.enqueue(ref, { type: "turn.ended", key: "t", data: {} });
  await store.uploads.begin(ref, { id: "u", name: "n", mediaType: "", by: "an", apiKey: "key" });
  await store.uploads.add(ref, "u", { attempt: 1, bytes: Buffer.from("x") });
  await store.audit.add(tenant, { actor: "an", action: "session.erased", subject: {} });
  await store.audit.addOnce(tenant, "m", { actor: "an", action: "session.erased", subject: {} });
}

test("a removed tenant has rows in no table but those of the audit and of erasures", async () => {
  const { store, db } = await postgresHarness();
  const [removed, stays] = [await newTenant(store), await newTenant(store)];
  for (const tenant of [removed, stays]) await addRows(store, tenant);
  const { rows: tables } = await sql<{ name: string }>`
    select table_name as name from information_schema.columns
    where table_schema = 'turnstream' and column_name = 'tenant_id'
      and not (select relispartition from pg_class where oid = to_regclass(table_name)) order by 1`.execute(
    db,
  );
  const tablesWith = async (tenant: string): Promise<string[]> => {
    const found: string[] = [];
    for (const { name } of tables) {
      const { rows } = await sql`select from ${sql.table(name)} where tenant_id = ${tenant} limit 1`.execute(
        db,
      );
      if (rows.length > 0) found.push(name);
    }
    return found;
  };
  const before = await tablesWith(removed);
  const { rows: unchecked } = await sql<{ name: string }>`
    select distinct table_name as name from information_schema.columns c
    where table_schema = 'turnstream' and column_name = 'tenant_id'
      and not (select relispartition from pg_class where oid = to_regclass(table_name)) and not exists (
      select from pg_constraint where contype = 'f' and conrelid = to_regclass(c.table_name))`.execute(db);
  for (const { name } of unchecked)
    if (!["erasures", "stored_objects", "audit_starts"].includes(name)) expect(before).toContain(name);
  const others = await tablesWith(stays);
  await store.tenants.remove(removed);
  expect(await tablesWith(removed)).toEqual(OUTLIVES);
  expect(await tablesWith(stays)).toEqual(others);
  await store.close();
});

test("a session that is created while its tenant is removed is erased with it, or refused", async () => {
  const { store, db, url } = await postgresHarness();
  const waiting = async () =>
    (
      await sql<{ n: number }>`select count(*) as n from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`.execute(db)
    ).rows[0]?.n;
  const other = createPostgresStore(openDatabase({ url }));
  const tenant = await newTenant(store);
  const actor = { tenant, user: "an" };
  let removing: Promise<string[]> | undefined;
  await store.transaction(async (tx) => {
    await tx.sessions.create(actor, { id: "early" });
    removing = other.tenants.remove(tenant);
    // The removal must wait for this transaction.
    await expect.poll(waiting).toBe(1);
  });
  expect(await removing).toEqual(["early"]);
  const again = await newTenant(store);
  const outcomes = await Promise.all([
    other.tenants.remove(again),
    ...Array.from({ length: 8 }, (_, n) =>
      store.sessions.create({ tenant: again, user: "an" }, { id: `s${n}` }).then(
        ({ id }) => id,
        (error: { code?: string }) => error.code ?? "?",
      ),
    ),
  ]);
  const [erased, ...created] = outcomes;
  expect(created.filter((id) => id !== "NOT_FOUND").toSorted()).toEqual(erased);
  await Promise.all([store, other].map((each) => each.close()));
});
