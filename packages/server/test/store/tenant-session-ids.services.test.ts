/** Tests migration 0021 on databases that have rows: every row finds its tenant, and every key has one. */
import { readdirSync } from "node:fs";

import { freshDatabaseUrl } from "@turnstream/testkit/servers/shared-servers.ts";
import { sql } from "kysely";
import type { Migration } from "kysely/migration";
import { expect, test } from "vitest";

import type { Db } from "../../src/store/postgres/database.ts";
import { openDatabase } from "../../src/store/postgres/open-database.ts";
import { createPostgresStore } from "../../src/store/postgres/store.ts";

const folder = new URL("../../src/store/postgres/migrations/", import.meta.url);
const FILES = readdirSync(folder).toSorted();

/** Runs the migrations of which `isWanted` returns true, without recording them. */
async function run(db: Db, isWanted: (file: string) => boolean): Promise<void> {
  for (const file of FILES.filter(isWanted)) {
    const [migration] = Object.values(
      (await import(new URL(file, folder).href)) as Readonly<Record<string, Migration>>,
    );
    await migration?.up(db);
  }
}

/** The rows of one session in each table, as version 0017 stored them. */
const ROWS = [
  "sessions (id, tenant_id, user_id, epoch) values ('S', 'T', 'an', 1)",
  "session_epochs (session_id, epoch, by, reason) values ('S', 1, 'w', 'r')",
  "turns (session_id, id, start_seq, status, open, snapshot) values ('S', 't', 1, 'end_turn', true, '{}')",
  "waiting_messages (session_id, id, body, by_user) values ('S', 'm', '{}', 'an')",
  "archived_events (session_id, first_seq, last_seq, epoch, type, at, event) values ('S', 1, 1, 1, 'x', 1, '{}')",
  "outbox (session_id, key, draft, since_epoch, since_seq) values ('S', 'k', '{}', 0, 0)",
  "blobs (session_id, id, media_type, size, body) values ('S', 'b', 't', 1, 'b')",
  "shares (id, session_id, up_to_epoch, up_to_seq) values ('share-S', 'S', 1, 1)",
  "running_turns (session_id, turn) values ('S', 't')",
  "turn_journal (session_id, turn, key, value, kept) values ('S', 't', 'k', '{}', true)",
  `interactions (session_id, id, tenant_id, kind, key, turn_id, run_id, block_id, item_index, request)
    values ('S', 'i-S', 'T', 'payment', 'i-S', 't', 'r', 'b', 1, '{}')`,
  `interaction_changes (session_id, interaction_id, version, status, body, at)
    values ('S', 'i-S', 1, 'pending', '{}', now())`,
  "interaction_schemas (session_id, interaction_id, schema) values ('S', 'i-S', '{}')",
  "form_drafts (session_id, interaction_id, body, version, saved_at) values ('S', 'i-S', '{}', 1, now())",
  "allowances (session_id, tenant_id, agent, tool) values ('S', 'T', 'a', 't')",
  `payments (session_id, id, tenant_id, order_no, token_hash, amount, currency, provider, description, locale,
    continues, expires_at, check_ms) values ('S', 'i-S', 'T', 'o-S', 'h-S', 1, 'TWD', 'p', '""', 'en', true, now(), 1)`,
  `payment_changes (session_id, payment_id, n, actor, input, outcome, from_status, to_status, at)
    values ('S', 'i-S', 1, 'user', 'x', 'changed', 'pending', 'pending', now())`,
  `attachments (session_id, id, turn, name, url, media_type, size, chars, pieces)
    values ('S', 'a', 't', 'n', 'u', 'm', 1, 1, 1)`,
  "attachment_pieces (session_id, attachment_id, n, at, line, text) values ('S', 'a', 0, 0, 1, 'x')",
  "uploads (session_id, id, name, media_type) values ('S', 'u', 'n', 'm')",
  "upload_chunks (session_id, upload_id, n, bytes) values ('S', 'u', 0, 'x')",
  `idempotency_keys (tenant_id, user_id, route, key, digest, made_id, claimed_until, session_id)
    values ('T', 'an', 'r', 'k-S', 'd', 'm', now(), 'S')`,
  "erasures (session_id) values ('erased-S')",
];

async function fill(db: Db, tenant: string, session: string): Promise<void> {
  for (const row of ROWS)
    await sql
      .raw(
        `insert into ${row.replaceAll("'T'", `'${tenant}'`).replaceAll(/'([a-z-]*)S'/g, `'$1${session}'`)}`,
      )
      .execute(db);
}

test("existing rows keep their tenant, and afterwards two tenants can use one id", async () => {
  const db = openDatabase({ url: await freshDatabaseUrl() });
  await sql`create schema turnstream`.execute(db);
  await run(db, (file) => file < "0018");
  await sql`insert into tenants (id, name) values ('acme', ''), ('evil', ''), ('idle', '')`.execute(db);
  for (const session of ["s1", "s2", "s3"]) await fill(db, "acme", session);
  await fill(db, "evil", "s4");
  await run(db, (file) => file > "0018");

  const { rows: tables } = await sql<{ name: string }>`
    select distinct table_name as name from information_schema.columns
    where table_schema = 'turnstream' and column_name = 'session_id' and table_name <> 'erasures'
      and not (select relispartition from pg_class where oid = to_regclass(table_name))`.execute(db);
  expect(tables.length).toBeGreaterThan(20);
  for (const { name } of tables) {
    const { rows } = await sql<{ tenant: string; session: string }>`
      select tenant_id as tenant, session_id as session from ${sql.table(name)} order by 2`.execute(db);
    const expected = ["acme s1", "acme s2", "acme s3", "evil s4"];
    const found = rows.map((row) => `${row.tenant} ${row.session}`);
    const isFilled = !["webhook_deliveries", "dead_turns", "stored_objects"].includes(name);
    expect([name, isFilled ? found : expected]).toEqual([name, expected]);
  }
  const { rows: keys } = await sql<{ definition: string }>`
    select pg_get_constraintdef(oid) as definition from pg_constraint
    where connamespace = 'turnstream'::regnamespace and contype in ('p', 'u', 'f')
      and pg_get_constraintdef(oid) like '%session_id%'`.execute(db);
  expect(keys.length).toBeGreaterThan(35);
  for (const { definition } of keys) expect(definition).toMatch(/^[A-Z ]+\(tenant_id, session_id\b/);

  const store = createPostgresStore(db);
  const evil = { tenant: "evil", user: "an" };
  expect(await store.sessions.create(evil, { id: "s1" })).toMatchObject({ number: 5 });
  expect(await store.sessions.create({ ...evil, tenant: "acme" }, { id: "s4" })).toMatchObject({ number: 4 });
  expect(await store.sessions.create({ ...evil, tenant: "idle" }, { id: "s4" })).toMatchObject({ number: 1 });
  expect(await store.sessions.byNumber(evil, 4)).toMatchObject({ id: "s4" });
  expect(await store.sessions.byNumber(evil, 1)).toBeNull();
  await store.sessions.remove({ tenant: "acme", session: "s1" });
  expect(await store.sessions.find({ tenant: "evil", session: "s1" })).not.toBeNull();
  await store.close();
});
