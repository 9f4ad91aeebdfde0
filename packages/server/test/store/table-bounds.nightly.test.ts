/** Tests that every table of a migrated database has a bound in docs/tables.md, and that no bound is of a missing table. */
import { readFileSync } from "node:fs";

import { sql } from "kysely";
import { expect, test } from "vitest";

import { postgresHarness } from "./postgres-harness.ts";

const page = readFileSync(new URL("../../../../docs/tables.md", import.meta.url), "utf8");

test("every table has a bound", async () => {
  const { store, db } = await postgresHarness();
  const { rows } = await sql<{ name: string }>`
    select c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = 'turnstream' and c.relkind in ('r', 'p')
      and not exists (select from pg_inherits where inhrelid = c.oid)`.execute(db);
  expect(rows.length).toBeGreaterThan(45);
  const declared = page
    .split("\n")
    .filter((line) => line.startsWith("| `"))
    .flatMap((line) => [...(line.split("|")[1] ?? "").matchAll(/`(\w+)`/g)].map(([, name = ""]) => name));
  expect(declared.toSorted()).toEqual(rows.map(({ name }) => name).toSorted());
  for (const line of page.split("\n").filter((each) => each.startsWith("| `")))
    expect(line.split("|")[2]?.trim().length).toBeGreaterThan(4);
  await store.close();
});

test("no foreign key locks a row that the sessions of a tenant share, but those of settings", async () => {
  const { store, db } = await postgresHarness();
  const { rows } = await sql<{ from: string }>`
    select distinct conrelid::regclass::text as from from pg_constraint where contype = 'f' and confrelid in (
      'tenants'::regclass, 'webhook_endpoints'::regclass)`.execute(db);
  expect(rows.map(({ from }) => from).toSorted()).toEqual([
    "api_keys",
    "caller_limits",
    "knowledge_objects",
    "webhook_endpoints",
  ]);
  await store.close();
});
