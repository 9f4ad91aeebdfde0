/** Tests that every table of a migrated database has a bound in docs/tables.md, and that no bound is of a missing table. */
import { readFileSync } from "node:fs";

import { sql } from "kysely";
import { expect, test } from "vitest";

import { MAX_PAGE } from "../../src/store/ports/sessions.ts";
import { newSession } from "./harness.ts";
import { postgresHarness } from "./postgres-harness.ts";

const page = readFileSync(new URL("../../../../docs/tables.md", import.meta.url), "utf8");

test("every table has a bound", async () => {
  const { store, db } = await postgresHarness();
  const { rows } = await sql<{ name: string }>`
    select c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname in ('turnstream', 'turnstream_jobs') and c.relkind in ('r', 'p')
      and not exists (select from pg_inherits where inhrelid = c.oid
        and (n.nspname = 'turnstream' or inhparent = to_regclass('turnstream_jobs.queue_stats')))`.execute(
    db,
  );
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

test("a session keeps its newest epochs", async () => {
  const { store, db } = await postgresHarness();
  const { ref } = await newSession(store);
  for (let n = 0; n < MAX_PAGE + 20; n++) await store.epochs.next(ref, { seen: 0, by: "w", reason: "test" });
  const { rows } = await sql<{ n: number }>`select count(*) as n from session_epochs`.execute(db);
  expect(rows[0]?.n).toBe(MAX_PAGE);
  const listed = (await store.epochs.list(ref, MAX_PAGE)).map(({ epoch }) => epoch);
  expect(listed).toEqual(Array.from({ length: MAX_PAGE }, (_, n) => (listed[0] ?? 0) - n));
  await store.close();
});

test("no foreign key locks a row that the sessions of a tenant share, but those of settings", async () => {
  const { store, db } = await postgresHarness();
  const { rows } = await sql<{ from: string }>`
    select distinct conrelid::regclass::text as from from pg_constraint where contype = 'f' and confrelid in (
      'tenants'::regclass, 'webhook_endpoints'::regclass, 'turnstream_jobs.queue'::regclass)`.execute(db);
  expect(rows.map(({ from }) => from).toSorted()).toEqual([
    "api_keys",
    "caller_limits",
    "knowledge_objects",
    "turnstream_jobs.queue",
    "turnstream_jobs.schedule",
    "turnstream_jobs.subscription",
    "webhook_endpoints",
  ]);
  await store.close();
});
