/**
 * Tests that `migrate` and the store work in a database that an app already uses, and change nothing of the app. The
 * folder `other-apps` has the tables of each.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { runSql } from "@turnstream/testkit/servers/run-sql.ts";
import { freshDatabaseUrl } from "@turnstream/testkit/servers/shared-servers.ts";
import { describe, expect, test } from "vitest";
import { migrate } from "../../src/store/database/migrate.ts";
import { openDatabase } from "../../src/store/database/open-database.ts";
import { createPostgresStore } from "../../src/store/create-postgres-store.ts";
import { newSession } from "./harness.ts";

/** Creates a database with PostgreSQL's default search path, which the servers of tests don't have. */
async function databaseWith(...statements: string[]): Promise<string> {
  const url = await freshDatabaseUrl();
  const name = new URL(url).pathname.slice(1);
  await runSql(url, `alter database ${name} set search_path = "$user", public`);
  await runSql(url, ...statements);
  return url;
}

/** Everything in the schema `public`: tables, columns, indexes, constraints, types and rows. */
async function readPublic(url: string): Promise<unknown> {
  const inPublic = "'public'::regnamespace";
  const tables = await runSql(
    url,
    "select tablename as name from pg_tables where schemaname = 'public' order by 1",
  );
  const rows = tables.map(({ name }) => runSql(url, `select t::text as row from public."${String(name)}" t`));
  return {
    tables,
    rows: await Promise.all(rows),
    columns: await runSql(
      url,
      `select attrelid::regclass::text as of, attname, atttypid::regtype::text as type from pg_attribute
       join pg_class on pg_class.oid = attrelid where relnamespace = ${inPublic} order by 1, 2`,
    ),
    constraints: await runSql(
      url,
      `select conname, pg_get_constraintdef(oid) from pg_constraint where connamespace = ${inPublic} order by 1`,
    ),
    types: await runSql(url, `select typname from pg_type where typnamespace = ${inPublic} order by 1`),
    functions: await runSql(url, `select proname from pg_proc where pronamespace = ${inPublic}`),
  };
}

describe.each(["auth-js", "kysely", "prisma"])("a database of an app with %s", (app) => {
  test("gets the tables of Turnstream in their own schema, and keeps everything else", async () => {
    const text = readFileSync(join(import.meta.dirname, "other-apps", `${app}.sql`), "utf8");
    const url = await databaseWith(text);
    const before = await readPublic(url);
    const db = openDatabase({ url, max: 2 });
    expect(await migrate(db)).toHaveLength(1);
    expect(await migrate(db)).toEqual([]);
    const store = createPostgresStore(db);
    const { actor, ref } = await newSession(store);
    expect(await store.sessions.get(actor, ref.session)).toMatchObject({ id: ref.session });
    await store.close();
    expect(await readPublic(url)).toEqual(before);
  });
});

test("two schemas of one database are separate", async () => {
  const url = await databaseWith();
  const [one, two] = ["turnstream", "chat"].map((schema) => openDatabase({ url, schema, max: 2 }));
  if (one === undefined || two === undefined) throw new Error("two databases are opened");
  expect(await migrate(one)).toEqual(await migrate(two));
  const [first, second] = [createPostgresStore(one), createPostgresStore(two)];
  const { actor, ref } = await newSession(first);
  expect(await second.sessions.get(actor, ref.session).catch(() => null)).toBeNull();
  await Promise.all([first.close(), second.close()]);
});

test("a role that may not create schemas uses the one that their owner has created", async () => {
  const role = `app_${Date.now()}`;
  const url = await databaseWith(`create role ${role} login`, `create schema chat authorization ${role}`);
  const limited = new URL(url);
  limited.username = role;
  const db = openDatabase({ url: limited.href, schema: "chat", max: 2 });
  expect(await migrate(db)).toHaveLength(1);
  await db.destroy();
});

test("a role that may not create schemas gets the statement that creates the missing one", async () => {
  const role = `app_${Date.now()}`;
  const url = await databaseWith(`create role ${role} login`);
  const limited = new URL(url);
  limited.username = role;
  const db = openDatabase({ url: limited.href, schema: "chat", max: 2 });
  const needed = `create schema chat authorization ${role};`;
  await expect(migrate(db)).rejects.toMatchObject({
    code: "DENIED",
    message: `${needed}: The role may not do this. Run it as the owner of the database, then retry.`,
  });
  await runSql(url, needed);
  expect(await migrate(db)).toHaveLength(1);
  await db.destroy();
});

test.each(["Chat", "a b", "", "chat;drop", "x".repeat(64)])("refuses the schema %j", (schema) => {
  expect(() => openDatabase({ url: "postgres://x@127.0.0.1:1/x", schema })).toThrow("`schema`");
});
