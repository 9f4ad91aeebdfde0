/** Tests `turnstream payments` on a real database: operators find, read and resolve flagged payments. */
import { paymentsOf } from "@turnstream/payments";
import { createPostgresStore, openDatabase } from "@turnstream/server";
import type { ClosableStore } from "@turnstream/server/internal";
import { migrateDatabase } from "@turnstream/testkit/backend/migrate-database.ts";
import { freshDatabaseUrl } from "@turnstream/testkit/servers/shared-servers.ts";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ran } from "./ran.ts";

let url: string;
let store: ClosableStore;

beforeEach(async () => {
  url = await freshDatabaseUrl();
  store = createPostgresStore(openDatabase({ url }));
  await migrateDatabase(url);
  for (const id of ["acme", "other"]) await store.tenants.create({ id, name: id });
  await store.sessions.create({ tenant: "acme", user: "an" }, { id: "s1" });
});
afterEach(() => store.close());

const turnstream = (...args: string[]) => ran(args, { DATABASE_URL: url });
const payments = (...args: string[]) => turnstream("payments", ...args, "--tenant", "acme");
const ref = { tenant: "acme", session: "s1" };

const line = (id: string) =>
  `${id}\tlate_success\tcancelled\t2400 TWD\tTS${id.toUpperCase()}\tnewebpay\ts1\n`;

/** A payment that the user cancelled, and for which the provider reports a success afterwards. */
async function addLateSuccess(id: string): Promise<void> {
  const at = { turn: "t1", run: "main", block: id, index: 0 };
  await store.interactions.request(ref, { id, kind: "payment", ...at, request: {} });
  const orderNo = `TS${id.toUpperCase()}`;
  await paymentsOf(store).create(ref, {
    id,
    orderNo,
    tokenHash: id.padEnd(64, "0"),
    provider: "newebpay",
    description: "Deposit",
    amount: 2400,
    currency: "TWD",
    locale: "en",
    continues: false,
    agent: null,
    mode: null,
    expiresMs: 60_000,
    queryAfterMs: 60_000,
  });
  await paymentsOf(store).apply(orderNo, { type: "cancel", by: "an" });
  await paymentsOf(store).apply(orderNo, {
    type: "succeeded",
    provider: "newebpay",
    paid: { amount: 2400, currency: "TWD" },
    providerRef: "9",
    event: `e-${id}`,
    reason: "授權成功",
    evidenceHash: null,
  });
}

test("S08 payments list, show and resolve flagged payments of one tenant", async () => {
  for (const id of ["a1", "b2"]) await addLateSuccess(id);
  expect(await payments("list", "--flagged")).toMatchObject({ code: 0, out: line("b2") + line("a1") });
  const { out } = await payments("show", "a1");
  const [first, ...changes] = out.trimEnd().split("\n");
  expect(`${first}\n`).toBe(line("a1"));
  expect(changes.map((text) => text.split("\t").toSpliced(1, 1))).toEqual([
    ["1", "user an", "cancel", "changed", "pending -> cancelled", "-", "-"],
    ["2", "provider", "succeeded", "flagged", "cancelled -> cancelled", "2400 TWD", "授權成功"],
  ]);
  expect(await payments("resolve", "a1", "--note", "Refunded.", "--by", "linh")).toMatchObject({ code: 0 });
  expect((await payments("list", "--flagged")).out).toBe(line("b2"));
  expect((await payments("show", "a1")).out).toMatch(/\nresolved\t\S+\tlinh\tRefunded\.\n/);
  expect(await payments("resolve", "a1", "--note", "again")).toMatchObject({
    code: 1,
    err: expect.stringContaining("Payment a1 has no unresolved flag.") as string,
  });
  const notes = await store.audit.list("acme", { after: 0, limit: 10 });
  expect(notes.map(({ action }) => action)).toContain("payment.flag_resolved");
});

test("an unknown payment, one of another tenant, and missing options are errors", async () => {
  await addLateSuccess("a1");
  for (const args of [
    ["show", "x"],
    ["resolve", "x", "--note", "n"],
  ])
    expect(await payments(...args)).toMatchObject({
      code: 1,
      err: expect.stringContaining("Tenant acme has no payment x.") as string,
    });
  for (const args of [
    ["show", "a1"],
    ["resolve", "a1", "--note", "n"],
  ])
    expect(await turnstream("payments", ...args, "--tenant", "other")).toMatchObject({ code: 1 });
  expect(await turnstream("payments", "list", "--flagged", "--tenant", "missing")).toMatchObject({ code: 1 });
  for (const args of [
    ["list"],
    ["show"],
    ["resolve", "a1"],
    ["resolve", "a1", "--note", " "],
    ["refund"],
    ["resolve", "a1", "--note", "n", "--by", "a b"],
  ])
    expect(await payments(...args)).toMatchObject({ code: 2 });
  expect(await paymentsOf(store).flagged("acme")).toHaveLength(1);
  expect((await turnstream("payments", "--help")).out).toContain("late_success");
});
