/** Tests that after an erasure no table of PostgreSQL contains content of the erased users. */
import { LogWriter } from "@turnstream/conformance/support/log-writer.ts";
import { knowledgeOf } from "@turnstream/knowledge";
import { paymentsOf } from "@turnstream/payments";
import { FEATURES } from "@turnstream/testkit/backend/test-features.ts";
import { sql } from "kysely";
import { expect, test } from "vitest";

import { forkShare } from "../../src/store/fork/fork-share.ts";
import type { Db } from "../../src/store/database/database.ts";
import { batchOf } from "./archive-batch.ts";
import { newTenant, unique, pendingErasures } from "./harness.ts";
import { type PostgresHarness, postgresHarness } from "./postgres-harness.ts";
import { startTurn } from "./start-turn.ts";
import { aReport, newPayment } from "./test-payments.ts";

const CANARY = "canary5ac1";

/** The tables in which some row contains the canary, as text or as bytes. */
async function tablesWith(db: Db, text: string): Promise<string[]> {
  const tables = await sql<{ name: string }>`
    select c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = 'turnstream' and c.relkind in ('r', 'p') and not c.relispartition`.execute(db);
  expect(tables.rows.length).toBeGreaterThan(15);
  const hex = Buffer.from(text).toString("hex");
  const found: string[] = [];
  for (const { name } of tables.rows) {
    const { rows } = await sql<{ n: number }>`
      select count(*) as n from ${sql.table(name)} t
      where t::text like ${`%${text}%`} or t::text like ${`%${hex}%`}`.execute(db);
    if ((rows[0]?.n ?? 0) > 0) found.push(name);
  }
  return found.toSorted();
}

async function storeCanary({ store }: PostgresHarness, tenant: string, user: string) {
  const actor = { tenant, user };
  const session = unique("session");
  const ref = { tenant, session };
  await store.sessions.create(actor, { id: session, title: CANARY, firstEpoch: 1 });
  const writer = new LogWriter().session().begin(CANARY).text([CANARY], { final: true }).end();
  await store.archive.write(ref, batchOf(writer.events));
  await store.epochs.next(ref, { seen: 1 });
  await store.queuedMessages.add(ref, { id: "m", text: CANARY, by: user, options: { agent: CANARY } });
  await startTurn(store, ref);
  await store.running.requestStop(ref, { by: user });
  const { epoch } = await store.epochs.next(ref, { seen: 1 });
  await store.journal.write(ref, { turn: "t", key: "k", value: { text: CANARY }, epoch, isRetained: true });
  await store.queuedMessages.add(ref, { id: "m2", text: CANARY, by: user, options: { agent: CANARY } });
  await store.outbox.add(ref, { key: CANARY, draft: { type: "session.update", title: CANARY } });
  await store.blobs.put(ref, { id: "b", mediaType: "text/plain", body: Buffer.from(CANARY) });
  await store.memories.save(actor, { id: "m", text: CANARY });
  const { wanted } = await newPayment(store, ref, { description: CANARY });
  await paymentsOf(store).apply(wanted.orderNo, aReport("failed", { reason: CANARY }));
  const file = {
    id: "a",
    name: CANARY,
    url: CANARY,
    mediaType: "text/plain",
    size: 1,
    isCut: false,
    turn: "t",
  };
  await store.attachments.add(ref, { ...file, text: [CANARY] });
  await store.uploads.begin(ref, { id: "u", name: CANARY, mediaType: "", by: user });
  await store.uploads.add(ref, "u", { attempt: 1, bytes: Buffer.from(CANARY) });
  const asked = { route: "POST /x", key: unique("key"), digest: "d", session };
  const started = await store.idempotency.begin(actor, asked);
  if (started.state !== "yours") throw new Error("a new key must be claimed");
  await store.idempotency.finish(actor, asked, started.claim, { status: 201, body: CANARY });
  await store.webhooks.enqueue(ref, { type: "turn.ended", key: "t", data: { turn_id: CANARY } });
  const share = await store.shares.create(actor, session);
  return { actor, ref, share };
}

const TABLES = [
  "archived_events",
  "attachment_pieces",
  "attachments",
  "blobs",
  "idempotency_keys",
  "memories",
  "outbox",
  "payments",
  "payments_changes",
  "running_turns",
  "sessions",
  "turn_journal",
  "turn_queue",
  "turns",
  "upload_chunks",
  "uploads",
  "waiting_messages",
  "webhook_deliveries",
];

test("erasing a session, a user or a tenant leaves no canary", async () => {
  const harness = await postgresHarness();
  const { store, db } = harness;
  const tenant = await newTenant(store);
  await store.webhooks.create(tenant, { url: "https://receiver.example/" });

  const one = await storeCanary(harness, tenant, "an");
  expect(await tablesWith(db, CANARY)).toEqual(TABLES);
  await store.sessions.remove(one.ref);
  // Memories of a user outlive a session, until they are removed.
  expect(await tablesWith(db, CANARY)).toEqual(["memories"]);
  expect(await store.memories.removeAll(one.actor)).toBe(1);
  expect(await tablesWith(db, CANARY)).toEqual([]);

  const two = await storeCanary(harness, tenant, `user-${CANARY}`);
  await forkShare(store, two.actor, two.share.id, { id: unique("session") });
  expect(await store.sessions.removeUser(tenant, two.actor.user)).toHaveLength(2);
  // The fork has an entry in the audit, with the number of the user.
  await store.userNumbers.forget(tenant, two.actor.user);
  expect(await tablesWith(db, CANARY)).toEqual([]);

  await storeCanary(harness, tenant, "an");
  await knowledgeOf(store).put(tenant, CANARY, { id: CANARY, title: CANARY, text: CANARY });
  const all = [...TABLES, "knowledge_chunks", "knowledge_objects"].toSorted();
  expect(await tablesWith(db, CANARY)).toEqual(all);
  expect(all).toEqual(expect.arrayContaining(FEATURES.flatMap(({ tables }) => tables?.names ?? [])));
  expect(await store.tenants.remove(tenant)).toHaveLength(1);
  expect(await tablesWith(db, CANARY)).toEqual([]);
  expect(await pendingErasures(store)).toHaveLength(4);
  await store.close();
});
