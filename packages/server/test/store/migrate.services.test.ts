/** Tests migrating and opening a real PostgreSQL: concurrently, repeatedly, and with errors that contain no content. */
import { readdirSync, readFileSync } from "node:fs";

import { freshDatabaseUrl } from "@turnstream/testkit/servers/shared-servers.ts";
import { type LogEvent, sql } from "kysely";
import pg from "pg";
import { expect, test } from "vitest";

import { StoreError } from "../../src/store/errors.ts";
import { toStoreError } from "../../src/store/database/errors.ts";
import { migrate, readMigrations, requireBaseline, runMigrations } from "../../src/store/database/migrate.ts";
import type { StoreMigration } from "../../src/store/database/migration-steps.ts";
import { baseline } from "../../src/store/database/migrations/0001-baseline.ts";
import { openDatabase } from "../../src/store/database/open-database.ts";
import { createPostgresStore } from "../../src/store/create-postgres-store.ts";
import { newSession, newTenant, pendingErasures } from "./harness.ts";
import { postgresHarness } from "./postgres-harness.ts";

const folder = new URL("../../src/store/database/migrations/", import.meta.url);
const FILES = readdirSync(folder);

test("four processes can migrate an empty database at once, and each migration runs once", async () => {
  const url = await freshDatabaseUrl();
  const pools = Array.from({ length: 4 }, () => openDatabase({ url, max: 2 }));
  const ran = await Promise.all(pools.map((db) => runMigrations(db, [NOTES])));
  expect(ran.flat().toSorted()).toEqual([baseline.name, NOTES.name]);
  expect(await runMigrations(pools[0] as (typeof pools)[0], [NOTES])).toEqual([]);
  const stores = pools.map((db) => createPostgresStore(db));
  await newTenant(stores[3] as (typeof stores)[0]);
  await Promise.all(stores.map((store) => store.close()));
});

/** A migration after the baseline. It changes and indexes a table that the store uses. */
const NOTES: StoreMigration = {
  name: "0002-notes",
  async up(db) {
    await sql`alter table erasures add column note text`.execute(db);
  },
  indexes: { erasures_by_note: sql`on erasures (note)` },
};

test("a transaction that uses a table delays the migration, which lets others pass", async () => {
  const { store, db, url } = await postgresHarness({ timeouts: { lockMs: 20_000 } });
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query("begin");
  await client.query("select from erasures");
  const migrating = runMigrations(db, [NOTES]);
  const waits = async () =>
    (
      await sql`select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like 'alter table%'`.execute(
        db,
      )
    ).rows.length;
  await expect.poll(waits).toBe(1);
  // It waits behind the migration. Unless the migration gives way, it fails as BUSY.
  expect(await pendingErasures(store)).toEqual([]);
  await client.query("commit");
  await client.end();
  expect(await migrating).toEqual([NOTES.name]);
  const { rows } = await sql<{ lock_timeout: string }>`show lock_timeout`.execute(db);
  expect(rows[0]?.lock_timeout).toBe("20s");
  await store.close();
});

test("builds an index concurrently if it is missing, or if an interrupted migration left it invalid", async () => {
  const { store, url } = await postgresHarness();
  let concurrent = 0;
  const onQuery = ({ query }: LogEvent) =>
    void (query.sql.startsWith("create index concurrently") && concurrent++);
  const db = openDatabase({ url, onQuery });
  const isValid = async () =>
    (
      await sql<{ is: boolean }>`select indisvalid as is from pg_index
        where indexrelid = to_regclass('erasures_by_note')`.execute(db)
    ).rows[0]?.is;
  expect(await runMigrations(db, [NOTES])).toEqual([NOTES.name]);
  expect([await isValid(), concurrent]).toEqual([true, 1]);
  await sql`update pg_index set indisvalid = false where indexrelid = 'erasures_by_note'::regclass`.execute(
    db,
  );
  expect(await runMigrations(db, [NOTES])).toEqual([]);
  expect([await isValid(), concurrent]).toEqual([true, 2]);
  await sql`drop index erasures_by_note`.execute(db);
  await runMigrations(db, [NOTES]);
  expect([await isValid(), concurrent]).toEqual([true, 3]);
  await db.destroy();
  await store.close();
});

test("a migration creates only indexes of its own tables, because those of existing tables are built concurrently", () => {
  expect(FILES).toContain("0001-baseline.ts");
  for (const file of FILES) {
    const text = readFileSync(new URL(file, folder), "utf8");
    const created = [...text.matchAll(/create table (\w+) /g)].map(([, table]) => table);
    for (const [, table = ""] of text.matchAll(/create (?:unique )?index \w+\s+on (\w+)/g))
      expect([file, created]).toEqual([file, expect.arrayContaining([table])]);
  }
});

test("a migration imports nothing of ours except types, so that no other change alters its SQL", () => {
  for (const file of FILES) {
    const text = readFileSync(new URL(file, folder), "utf8");
    const imported = [...text.matchAll(/^import (type )?[^;]*?from "([^"]+)";/gm)];
    expect(imported.length).toBeGreaterThan(0);
    const ours = imported.filter(
      ([, type, from = ""]) => type === undefined && /^[.]|^@turnstream/.test(from),
    );
    expect([file, ours.map(([, , from]) => from)]).toEqual([file, []]);
  }
});

test("migrating needs only one connection", async () => {
  const db = openDatabase({ url: await freshDatabaseUrl(), max: 1 });
  expect(await migrate(db)).toEqual([baseline.name]);
  await db.destroy();
});

test("an error of the database is a StoreError without row contents", async () => {
  const { store, db } = await postgresHarness();
  const { actor, ref } = await newSession(store);
  await sql`alter table sessions add constraint no_canary check (title <> 'canary-7f')`.execute(db);
  const error = await store.sessions.rename(actor, ref.session, "canary-7f").catch((e: unknown) => e);
  expect(error).toBeInstanceOf(StoreError);
  expect(error).toMatchObject({ code: "INVALID", cause: { sqlstate: "23514", constraint: "no_canary" } });
  const { message, stack, cause } = error as StoreError;
  expect(JSON.stringify([message, stack, cause])).not.toContain("canary-7f");
  await store.close();
});

test("an unreachable database is UNAVAILABLE", async () => {
  const store = createPostgresStore(openDatabase({ url: "postgres://missing@127.0.0.1:1/none" }));
  await expect(store.tenants.get("t")).rejects.toMatchObject({ code: "UNAVAILABLE" });
  await expect(store.transaction((tx) => tx.tenants.get("t"))).rejects.toMatchObject({ code: "UNAVAILABLE" });
  await store.close();
});

test("reports a database that is newer than this version", async () => {
  const { store, db } = await postgresHarness();
  await sql`insert into migrations (name) values ('0099-later')`.execute(db);
  const error = await migrate(db).catch((e: unknown) => e);
  expect(error).toMatchObject({ code: "OUTDATED" });
  expect((error as StoreError).message).toContain("0099-later");
  expect((error as StoreError).message).toContain("deploy the newer version");
  await store.close();
});

test("refuses a database that another baseline created, and changes nothing", async () => {
  const { store, db } = await postgresHarness();
  await sql`update migrations set name = '0001-baseline-0' where name = ${baseline.name}`.execute(db);
  const message =
    "the schema turnstream: Another unreleased version created these tables, and they can't be migrated: drop the schema, or use an empty database.";
  for (const use of [migrate, requireBaseline])
    await expect(use(db)).rejects.toMatchObject({ code: "OTHER_BASELINE", message });
  expect(await readMigrations(db)).toEqual({ otherBaseline: "0001-baseline-0", pending: [], unknown: [] });
  const { rows } = await sql`select name from migrations where not name like '%/%'`.execute(db);
  expect(rows).toEqual([{ name: "0001-baseline-0" }]);
  await sql`drop schema turnstream cascade`.execute(db);
  expect(await migrate(db)).toEqual([baseline.name]);
  await requireBaseline(db);
  await store.close();
});

test("reports a database that is not migrated, with the command to run", async () => {
  const store = createPostgresStore(openDatabase({ url: await freshDatabaseUrl() }));
  await expect(store.tenants.get("t")).rejects.toMatchObject({
    code: "NOT_MIGRATED",
    message: expect.stringContaining(
      "Run `turnstream migrate` first, with `--feature` and the package of each feature.",
    ),
  });
  await store.close();
});

test("maps errors of the database to codes", () => {
  const codes = {
    "22001": "INVALID",
    "22003": "INVALID",
    "22008": "INVALID",
    "22021": "INVALID",
    "22P02": "INVALID",
    "22P05": "INVALID",
    "25006": "UNAVAILABLE",
    "25P03": "UNAVAILABLE",
    "28P01": "UNAVAILABLE",
    "3D000": "UNAVAILABLE",
    "57P03": "UNAVAILABLE",
    "25P02": "ABORTED",
    "55P03": "BUSY",
    "42501": "UNAVAILABLE",
    "3F000": "NOT_MIGRATED",
    "42P01": "NOT_MIGRATED",
    "42703": "NOT_MIGRATED",
    "42601": "INTERNAL",
  };
  const messages = Object.keys(codes).map((state) => {
    const error = Object.assign(new Error("x"), { code: state });
    return [state, toStoreError(error, "test").code];
  });
  expect(Object.fromEntries(messages)).toEqual(codes);
});

test("a missing login, database or write permission is UNAVAILABLE", async () => {
  const { store, url } = await postgresHarness();
  const { actor, ref } = await newSession(store);
  const { secret, key } = await store.keys.create(ref.tenant, { name: "k", scopes: [] });
  const at = (change: (to: URL) => void) => {
    const to = new URL(url);
    change(to);
    return createPostgresStore(openDatabase({ url: to.href }));
  };
  const nowhere = at((to) => (to.pathname = "/nowhere"));
  const unknownRole = at((to) => (to.username = "missing"));
  const readOnly = at((to) => to.searchParams.set("options", "-c default_transaction_read_only=on"));
  await expect(nowhere.tenants.get("t")).rejects.toMatchObject({ code: "UNAVAILABLE" });
  await expect(unknownRole.tenants.get("t")).rejects.toMatchObject({ code: "UNAVAILABLE" });
  await expect(readOnly.sessions.rename(actor, ref.session, "x")).rejects.toMatchObject({
    code: "UNAVAILABLE",
    cause: { sqlstate: "25006" },
  });
  // A valid key is still accepted.
  for (let n = 0; n < 3; n += 1) expect(await readOnly.keys.verify(secret)).toMatchObject({ id: key.id });
  expect(await readOnly.transaction((tx) => tx.keys.verify(secret))).toMatchObject({ id: key.id });
  expect((await store.keys.list(ref.tenant))[0]?.lastUsedAt).toBeNull();
  await Promise.all([store, nowhere, unknownRole, readOnly].map((each) => each.close()));
});

test("recording the use of a key blocks no request, and happens once across several servers", async () => {
  const { store, db, url } = await postgresHarness();
  const other = createPostgresStore(openDatabase({ url }));
  const { ref } = await newSession(store);
  const { secret, key } = await store.keys.create(ref.tenant, { name: "k", scopes: [] });
  const later = await store.keys.create(ref.tenant, { name: "later", scopes: [] });
  await sql`create table notings (key text)`.execute(db);
  await sql`create function note() returns trigger language plpgsql as
    'begin insert into notings values (new.id); return new; end'`.execute(db);
  await sql`create trigger noting after update on api_keys for each row execute function note()`.execute(db);
  const notings = async () =>
    (await sql<{ key: string }>`select key from notings`.execute(db)).rows.map((row) => row.key);
  const waiting = async () =>
    (
      await sql<{ n: number }>`select count(*) as n from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`.execute(db)
    ).rows[0]?.n;
  await db.transaction().execute(async (tx) => {
    await sql`select from api_keys where id = ${key.id} for update`.execute(tx);
    const uses = Array.from({ length: 10 }, () => [store, other].map((each) => each.keys.verify(secret)));
    const verified = await Promise.all(uses.flat());
    expect(verified.every((each) => each?.id === key.id)).toBe(true);
    // Each server tries once, not for every use.
    await expect.poll(waiting).toBe(2);
  });
  await expect.poll(waiting).toBe(0);
  await expect.poll(notings).toEqual([key.id]);
  await Promise.all([store.keys.verify(secret), other.keys.verify(secret)]);
  await store.keys.verify(later.secret);
  await expect.poll(notings).toEqual([key.id, later.key.id]);
  await Promise.all([store, other].map((each) => each.close()));
});

test("retries transactions that deadlock", async () => {
  const { store } = await postgresHarness();
  const one = await newSession(store);
  const two = await newSession(store);
  let calls = 0;
  let holding = 0;
  const both = (first: typeof one, second: typeof one) =>
    store.transaction(async (tx) => {
      calls += 1;
      await tx.sessions.rename(first.actor, first.ref.session, "x");
      holding += 1;
      // Each has its first row before it asks for the other's. A retry doesn't wait.
      await expect.poll(() => holding).toBeGreaterThan(1);
      await tx.sessions.rename(second.actor, second.ref.session, "x");
    });
  await Promise.all([both(one, two), both(two, one)]);
  expect(calls).toBeGreaterThan(2);
  await store.close();
});

test("every reference to a session has an index for its erasure", async () => {
  const { store, db } = await postgresHarness();
  const references = await sql<{ from: string; same: boolean; indexed: boolean }>`
    select k.conrelid::regclass::text as from, own.attcollation = other.attcollation as same,
      exists (select from pg_index i where i.indrelid = k.conrelid and i.indkey[0] = k.conkey[1]
        and i.indcollation[0] = other.attcollation and coalesce(pg_get_expr(i.indpred, i.indrelid), '') in ('', '(session_id IS NOT NULL)')) as indexed
    from pg_constraint k
    join pg_attribute own on own.attrelid = k.conrelid and own.attnum = k.conkey[1]
    join pg_attribute other on other.attrelid = k.confrelid and other.attnum = k.confkey[1]
    where k.contype = 'f' and k.confrelid = 'sessions'::regclass`.execute(db);
  expect(references.rows.length).toBeGreaterThanOrEqual(7);
  expect(references.rows.filter(({ same, indexed }) => !same || !indexed)).toEqual([]);
  await store.close();
});

test("every key of a session, and of a row of a session, starts with its tenant", async () => {
  const { store, db } = await postgresHarness();
  const { rows: keys } = await sql<{ definition: string }>`
    select pg_get_constraintdef(oid) as definition from pg_constraint
    where connamespace = 'turnstream'::regnamespace and contype in ('p', 'u', 'f')
      and pg_get_constraintdef(oid) like '%session_id%'`.execute(db);
  expect(keys.length).toBeGreaterThan(35);
  for (const { definition } of keys) expect(definition).toMatch(/^[A-Z ]+\(tenant_id, session_id\b/);
  await store.close();
});
