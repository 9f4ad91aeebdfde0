/** Tests that tenants take turns for the connections of the pool, on PostgreSQL. */
import { freshDatabaseUrl } from "@turnstream/testkit/servers/shared-servers.ts";
import { sql } from "kysely";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { Db } from "../../src/store/database/database.ts";
import { openDatabase } from "../../src/store/database/open-database.ts";
import { runAs } from "../../src/util/work-owner.ts";

const WIDTH = 8;
const FLOOD = 40;

let db: Db;
let url: string;
beforeEach(async () => {
  url = await freshDatabaseUrl();
  db = openDatabase({ url, max: WIDTH });
});
afterEach(() => db.destroy());

/** Starts many statements of one user. @returns how many of them have ended */
function flood(
  tenant: string,
  user: string,
): { readonly all: Promise<unknown>; readonly ended: () => number } {
  let ended = 0;
  const statements = runAs({ tenant, user }, () =>
    Array.from({ length: FLOOD }, async () => {
      await sql`select pg_sleep(0.05)`.execute(db);
      ended++;
    }),
  );
  return { all: Promise.all(statements), ended: () => ended };
}

it.each([
  ["tenant", { tenant: "other", user: "u" }],
  ["user", { tenant: "flood", user: "other" }],
])("40 statements of one user before 8 connections don't delay another %s", async (_, owner) => {
  const { all, ended } = flood("flood", "u");
  for (let n = 0; n < 5; n++) {
    const before = ended();
    const select = () => sql`select 1`.execute(db);
    // The second statement runs in a transaction.
    await runAs(owner, () => (n % 2 === 0 ? select() : db.transaction().execute(select)));
    // A statement waits until one of the flood ends. On a busy machine, further ones end before its answer arrives.
    expect(ended() - before).toBeLessThanOrEqual(2 * WIDTH);
  }
  await all;
});

const countSleeping = () => sql<{ n: number }>`
  select count(*)::int as n from pg_stat_activity where query like '%pg_sleep%' and state = 'active' and pid <> pg_backend_pid()`;

it("a tenant uses a quarter of the connections while there are others, and all of them alone", async () => {
  const most = async (): Promise<number> => {
    const { all, ended } = flood("flood", "u");
    let peak = 0;
    while (ended() < FLOOD) {
      const { rows } = await runAs({ tenant: "", user: "" }, () => countSleeping().execute(watcher));
      peak = Math.max(peak, rows[0]?.n ?? 0);
    }
    await all;
    return peak;
  };
  const watcher = openDatabase({ url, max: 1 });
  expect(await most()).toBeGreaterThan(WIDTH / 4);
  await runAs({ tenant: "other", user: "u" }, () => sql`select 1`.execute(db));
  expect(await most()).toBeLessThanOrEqual(WIDTH / 4);
  await watcher.destroy();
});

it("a statement that waits too long for a connection fails, and the connections stay usable", async () => {
  const impatient = openDatabase({ url, max: 1, timeouts: { connectMs: 200 } });
  // The limit also applies to opening the connection.
  await expect.poll(() => sql`select 1`.execute(impatient).then(() => true)).toBe(true);
  await impatient.connection().execute(async () => {
    await expect(sql`select 1`.execute(impatient)).rejects.toThrow("timeout exceeded");
    await expect(sql`select nonsense`.execute(impatient)).rejects.toThrow("timeout exceeded");
  });
  await expect(sql`select nonsense`.execute(impatient)).rejects.toThrow("nonsense");
  expect((await sql`select 1`.execute(impatient)).rows).toHaveLength(1);
  await impatient.destroy();
});
