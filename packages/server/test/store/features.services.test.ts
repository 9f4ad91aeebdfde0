/**
 * Tests the tables of features on a real PostgreSQL, with `reactions`, which a third party could have written: how they
 * are created and removed, and that erasures reach their rows in every process.
 */
import { FEATURES } from "@turnstream/testkit/backend/test-features.ts";
import { runSql } from "@turnstream/testkit/servers/run-sql.ts";
import { freshDatabaseUrl } from "@turnstream/testkit/servers/shared-servers.ts";
import { sql } from "kysely";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { reactionPart, tables } from "../../../../examples/reactions/reactions.ts";
import { createPostgresStore } from "../../src/store/create-postgres-store.ts";
import type { Db } from "../../src/store/database/database.ts";
import { migrate, readMigrations, removeFeature } from "../../src/store/database/migrate.ts";
import { openDatabase } from "../../src/store/database/open-database.ts";
import { createTables, type FeatureTables } from "../../src/store/features.ts";
import type { ClosableStore } from "../../src/store/store.ts";
import { newSession, unique } from "./harness.ts";

let url: string;
let db: Db;
let store: ClosableStore;
beforeEach(async () => {
  url = await freshDatabaseUrl();
  db = openDatabase({ url });
  store = createPostgresStore(db);
  await migrate(db, { features: [tables] });
});
afterEach(() => store.close());

/** Tables of another feature, created by these statements. */
function tablesOf(statements: readonly string[], more: Partial<FeatureTables> = {}): FeatureTables {
  return { feature: "notes", names: ["notes"], migrations: [createTables(statements)], ...more };
}

async function namesOfTables(prefix: string): Promise<unknown[]> {
  const { rows } = await sql<{ name: string }>`select table_name as name from information_schema.tables
    where table_schema = 'turnstream' and starts_with(table_name, ${prefix}) order by 1`.execute(db);
  return rows.map(({ name }) => name);
}

async function listed(): Promise<unknown[]> {
  const { rows } = await sql<{ name: string }>`select name from features order by name`.execute(db);
  return rows.map(({ name }) => name);
}

/** Counts the reactions whose rows contain a text. */
async function countRows(text = ""): Promise<number> {
  const { rows } = await sql`select from reactions r where r::text like ${`%${text}%`}`.execute(db);
  return rows.length;
}

/** Creates a session of the user, who reacts there, and so does a colleague. */
async function react(user: string, tenant: string) {
  const ref = { tenant, session: unique("session") };
  await store.sessions.create({ tenant, user }, { id: ref.session });
  for (const by of [user, "colleague"]) await store.use(reactionPart).add(ref, "m", by, "👍");
  return ref;
}

/** The queries that wait for a lock. */
function blocked(): Promise<unknown[]> {
  return runSql(
    url,
    "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
  );
}

describe("migrate", () => {
  test("creates the tables of a feature once, beside those of others", async () => {
    expect(await migrate(db, { features: [tables] })).toEqual([]);
    const more = FEATURES.flatMap((feature) => feature.tables ?? []);
    const ran = await migrate(db, { features: [...more, tables] });
    expect(ran.map((name) => name.split("/0001-tables-")[0])).toEqual(more.map(({ feature }) => feature));
    expect(await listed()).toEqual(["knowledge", "payments", "reactions"]);
    expect(await readMigrations(db)).toEqual({ otherBaseline: null, pending: [], unknown: [] });
  });

  test.each<[string, Partial<FeatureTables>]>([
    ['a feature\'s name must have small letters, digits and _, got "Notes"', { feature: "Notes" }],
    ["the table sessions of the feature notes must be notes, or start with notes_", { names: ["sessions"] }],
    ["the table notesbook of the feature notes", { names: ["notesbook"] }],
    [
      "the table notes_; drop table sessions of the feature notes",
      { names: ["notes_; drop table sessions"] },
    ],
    [
      "the user column sessions.user_id must be of a table of the feature notes",
      { userColumns: [["sessions", "user_id"]] },
    ],
  ])("refuses %s", async (message, more) => {
    await expect(migrate(db, { features: [tables, tablesOf([], more)] })).rejects.toThrow(message);
    expect(await listed()).toEqual(["reactions"]);
  });

  const columns = "tenant_id text, session_id text, user_id text";
  const ofSession = "foreign key (tenant_id, session_id) references sessions on delete cascade";
  const NULLABLE = "must be nullable, in a table with tenant_id and session_id";
  test.each<[what: string, statement: string, problem: string, userColumns?: FeatureTables["userColumns"]]>([
    [
      "that is not created",
      "create table notes_of_others (id text)",
      "the migrations must create the table notes",
    ],
    [
      "of a session without a key",
      `create table notes (${columns})`,
      "the table notes must reference sessions with ON DELETE CASCADE",
    ],
    [
      "that would prevent the erasure of its session",
      `create table notes (${columns}, foreign key (tenant_id, session_id) references sessions)`,
      "the table notes must reference sessions with ON DELETE CASCADE",
    ],
    [
      "of a session that only its tenant erases",
      `create table notes (${columns}, foreign key (tenant_id) references tenants on delete cascade)`,
      "the table notes must reference sessions with ON DELETE CASCADE",
    ],
    [
      "of a tenant without a key",
      "create table notes (tenant_id text)",
      "the table notes must reference sessions or tenants with ON DELETE CASCADE",
    ],
    [
      "of a tenant with a user column",
      "create table notes (tenant_id text references tenants on delete cascade, user_id text)",
      `the user column notes.user_id ${NULLABLE}`,
      [["notes", "user_id"]],
    ],
    [
      "with a user column that can't be null",
      `create table notes (${columns} not null, ${ofSession})`,
      `the user column notes.user_id ${NULLABLE}`,
      [["notes", "user_id"]],
    ],
    [
      "without its user column",
      `create table notes (${columns}, ${ofSession})`,
      `the user column notes.by_user ${NULLABLE}`,
      [["notes", "by_user"]],
    ],
  ])("refuses a table %s", async (_, statement, problem, userColumns = []) => {
    const refused = tablesOf([statement], { userColumns });
    await expect(migrate(db, { features: [refused] })).rejects.toMatchObject({
      code: "INVALID",
      message: expect.stringContaining(problem),
    });
    // Nothing of it stays, so the corrected table can be created.
    expect([await namesOfTables("notes"), await listed()]).toEqual([[], ["reactions"]]);
    const corrected = tablesOf(["create table notes (id text primary key)"]);
    expect(await migrate(db, { features: [corrected] })).toHaveLength(1);
  });

  test("accepts a table that is erased with another one of its feature", async () => {
    const chain = tablesOf(
      [
        `create table notes (tenant_id text references tenants on delete cascade, id text, primary key (tenant_id, id))`,
        `create table notes_lines (tenant_id text, id text, n bigint,
          foreign key (tenant_id, id) references notes on delete cascade)`,
      ],
      { names: ["notes_lines", "notes"] },
    );
    expect(await migrate(db, { features: [chain] })).toHaveLength(1);
    expect(await removeFeature(db, "notes")).toBe(true);
    expect(await namesOfTables("notes")).toEqual([]);
  });

  test("refuses other tables under the name of a feature with OTHER_BASELINE, and keeps its rows", async () => {
    const { ref } = await newSession(store);
    await store.use(reactionPart).add(ref, "m", "an", "👍");
    const statement = "create table reactions (id text)";
    const other: FeatureTables = { ...tables, migrations: [createTables([statement])], userColumns: [] };
    await expect(migrate(db, { features: [other] })).rejects.toMatchObject({
      code: "OTHER_BASELINE",
      message: expect.stringContaining("which `turnstream migrate --remove reactions` deletes"),
    });
    expect(await store.use(reactionPart).list(ref, "m")).toHaveLength(1);
    expect(await removeFeature(db, "reactions")).toBe(true);
    expect(await migrate(db, { features: [other] })).toHaveLength(1);
  });

  test("runs a later migration of a feature, and an older version of the feature refuses the database", async () => {
    const later = {
      ...tables,
      names: ["reactions_kinds", "reactions"],
      migrations: [
        ...tables.migrations,
        {
          name: "0002-kinds",
          up: async (tx: Db) => void (await sql`create table reactions_kinds (id text)`.execute(tx)),
        },
      ],
    } as const;
    expect(await migrate(db, { features: [later] })).toEqual(["reactions/0002-kinds"]);
    await expect(migrate(db, { features: [tables] })).rejects.toMatchObject({
      code: "OUTDATED",
      message: expect.stringContaining("reactions/0002-kinds"),
    });
    // A process without the feature doesn't mind.
    expect(await migrate(db)).toEqual([]);
    await removeFeature(db, "reactions");
    expect(await namesOfTables("reactions")).toEqual([]);
  });
});

describe("removeFeature", () => {
  test("deletes the tables of one feature, which can then be created again", async () => {
    await migrate(db, { features: FEATURES.flatMap((feature) => feature.tables ?? []) });
    const { ref } = await newSession(store);
    await store.use(reactionPart).add(ref, "m", "an", "👍");
    expect(await removeFeature(db, "reactions")).toBe(true);
    expect([await listed(), await namesOfTables("reactions")]).toEqual([["knowledge", "payments"], []]);
    expect(await removeFeature(db, "reactions")).toBe(false);
    expect(await removeFeature(db, "sessions")).toBe(false);
    await expect(store.use(reactionPart).list(ref, "m")).rejects.toMatchObject({ code: "NOT_MIGRATED" });
    expect(await migrate(db, { features: [tables] })).toHaveLength(1);
    expect(await store.use(reactionPart).list(ref, "m")).toEqual([]);
    expect(await store.sessions.find(ref)).not.toBeNull();
  });
});

describe("an erasure", () => {
  test("of a session, a user or a tenant leaves no row, also in a process without the feature", async () => {
    // No code of the feature runs with this store.
    const without = createPostgresStore(openDatabase({ url }));
    for (const eraser of [store, without]) {
      const tenant = unique("tenant");
      await store.tenants.create({ id: tenant, name: "T" });
      const ref = await react("an", tenant);
      await react("an", tenant);
      await react("bo", tenant);
      expect(await countRows()).toBe(6);

      expect(await eraser.sessions.remove(ref)).toBe(true);
      expect(await countRows()).toBe(4);

      expect(await eraser.sessions.removeUser(tenant, "an")).toHaveLength(1);
      expect([await countRows(), await countRows("an,")]).toEqual([2, 0]);

      // In the session of another user, the reaction stays without the id.
      expect(await eraser.sessions.removeUser(tenant, "colleague")).toEqual([]);
      expect([await countRows(), await countRows("colleague")]).toEqual([2, 0]);

      await eraser.tenants.remove(tenant);
      expect(await countRows()).toBe(0);
    }
    await without.close();
  });

  test("waits for a reaction that is being committed, and then erases it", async () => {
    const { ref } = await newSession(store);
    let erased: Promise<boolean> | undefined;
    await store.transaction(async (tx) => {
      await tx.use(reactionPart).add(ref, "m", "an", "👍");
      erased = store.sessions.remove(ref);
      await expect.poll(blocked).toHaveLength(1);
    });
    expect(await erased).toBe(true);
    expect(await countRows()).toBe(0);
  });
});

test("every table of every feature is erased with its session or its tenant, and no key prevents that", async () => {
  const all = [...FEATURES.flatMap((feature) => feature.tables ?? []), tables];
  await migrate(db, { features: all });
  const names = all.flatMap((each) => each.names);
  expect(names.length).toBeGreaterThan(4);
  for (const { feature, names: declared } of all)
    expect(declared).toEqual(expect.arrayContaining(await namesOfTables(`${feature}_`)));

  const { rows: columns } = await sql<{ name: string; column: string; isNullable: boolean }>`
    select table_name as name, column_name as column, is_nullable = 'YES' as "isNullable"
    from information_schema.columns where table_schema = 'turnstream' and table_name = any(${names}::text[])`.execute(
    db,
  );
  const tablesWith = (column: string) =>
    columns.filter((each) => each.column === column).map(({ name }) => name);
  expect(tablesWith("tenant_id").toSorted()).toEqual(names.toSorted());

  const { rows: keys } = await sql<{ from: string; to: string; cascades: boolean }>`
    select conrelid::regclass::text as from, confrelid::regclass::text as to, confdeltype = 'c' as cascades
    from pg_constraint where contype = 'f' and conrelid::regclass::text = any(${names}::text[])`.execute(db);
  expect(keys.filter(({ cascades }) => !cascades)).toEqual([]);
  const isErased = (name: string, owners: readonly string[]): boolean =>
    keys.some(({ from, to }) => from === name && (owners.includes(to) || isErased(to, owners)));
  const ofSession = tablesWith("session_id");
  for (const name of names)
    expect([name, isErased(name, ofSession.includes(name) ? ["sessions"] : ["tenants"])]).toEqual([
      name,
      true,
    ]);

  // Columns with user ids have one of these names.
  const users = columns.filter(
    ({ name, column }) => /^(by_)?user(_id)?$/.test(column) && ofSession.includes(name),
  );
  const declared = all.flatMap(({ userColumns = [] }) => userColumns.map((each) => each.join(".")));
  expect(users.map(({ name, column }) => `${name}.${column}`).toSorted()).toEqual(declared.toSorted());
  expect(users.filter(({ isNullable }) => !isNullable)).toEqual([]);
});

test("old rows are deleted in batches, also by two workers at once", async () => {
  const { ref } = await newSession(store);
  const reactions = store.use(reactionPart);
  for (let n = 0; n < 30; n++) await reactions.add(ref, `m${n}`, "an", "👍");
  await sql`update reactions set at = now() - interval '2 years' where n <= 25`.execute(db);
  await reactions.deleteOld(10);
  const left = async () => (await sql`select from reactions`.execute(db)).rows.length;
  expect(await left()).toBe(20);
  await Promise.all([reactions.deleteOld(20), reactions.deleteOld(20)]);
  expect(await left()).toBe(5);
  await reactions.deleteOld(20);
  expect(await left()).toBe(5);
});
