/** Tests erasures that run concurrently with other work on the same sessions, on a real PostgreSQL server. */
import { paymentsOf } from "@turnstream/payments";
import { type LogEvent, sql } from "kysely";
import pg from "pg";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";

import { openDatabase } from "../../src/store/database/open-database.ts";
import { createPostgresStore } from "../../src/store/create-postgres-store.ts";
import type { ClosableStore } from "../../src/store/store.ts";
import { newSession, newTenant, unique, pendingErasures } from "./harness.ts";
import { anInteraction } from "./interactions.contract.ts";
import { aReport, newPayment } from "./test-payments.ts";
import { type PostgresHarness, timedHarness } from "./postgres-harness.ts";

let harness: PostgresHarness;
let store: ClosableStore;
let other: ClosableStore;
let deadlocks: number;

function countDeadlocks(event: LogEvent): void {
  if (event.level === "error" && (event.error as { code?: string }).code === "40P01") deadlocks++;
}

beforeAll(async () => {
  harness = await timedHarness({ max: 20, onQuery: countDeadlocks });
  store = harness.store;
  other = createPostgresStore(openDatabase({ url: harness.url, max: 20, onQuery: countDeadlocks }));
});
beforeEach(() => {
  deadlocks = 0;
});
afterAll(() => Promise.all([store, other].map((each) => each.close())));

/** The number of queries that wait for a lock. */
async function blocked(): Promise<number> {
  const { rows } = await sql<{ n: number }>`
    select count(*) as n from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`.execute(harness.db);
  return rows[0]?.n ?? 0;
}

async function untilBlocked(): Promise<void> {
  await expect.poll(blocked, { interval: 5 }).toBeGreaterThan(0);
}

test("a session can't be created again while its erasure is being committed", async () => {
  const { actor, ref } = await newSession(store);
  let made: Promise<unknown> | undefined;
  await store.transaction(async (tx) => {
    await tx.sessions.remove(ref);
    made = other.sessions.create(actor, { id: ref.session });
    made.catch(() => undefined);
    await untilBlocked();
  });
  await expect(made).rejects.toMatchObject({ code: "EXISTS" });
  expect(await store.sessions.find(ref)).toBeNull();
  expect((await pendingErasures(store)).map(({ session }) => session)).toContain(ref.session);
});

test("a session that is renamed while old ones are erased is not erased", async () => {
  const { actor, ref } = await newSession(store);
  const { ref: old } = await newSession(store);
  await harness.wait(3_600_000);
  await store.transaction(async (tx) => {
    await tx.sessions.rename(actor, ref.session, "Used");
    // Not yet committed, so its age is unknown.
    expect(await other.sessions.removeExpired({ olderThanMs: 1_800_000, limit: 1000 })).toContainEqual(old);
  });
  expect(await other.sessions.removeExpired({ olderThanMs: 1_800_000, limit: 1000 })).not.toContainEqual(ref);
  expect(await store.sessions.find(ref)).not.toBeNull();
});

test("erasing a session and updating its payment don't deadlock", async () => {
  for (let race = 0; race < 10; race += 1) {
    const { ref } = await newSession(store);
    const { wanted } = await newPayment(store, ref);
    const [removed, outcome] = await Promise.all([
      other.sessions.remove(ref),
      store.transaction(async (tx) => {
        const result = await paymentsOf(tx).apply(wanted.orderNo, aReport("succeeded"));
        if (result.outcome === "changed")
          // The erasure is first in the queue for the session's row, and this transaction needs the row too.
          await tx.outbox.add(ref, { key: "k", draft: { type: "session.update", title: "t" } });
        return result.outcome;
      }),
    ]);
    expect(removed).toBe(true);
    expect(["changed", "unknown"]).toContain(outcome);
  }
  expect(deadlocks).toBe(0);
});

test("erasing a session and deciding in it don't deadlock", async () => {
  const { ref } = await newSession(store);
  await store.interactions.request(ref, anInteraction("approval", { id: "i" }));
  let removing: Promise<boolean> | undefined;
  await store.transaction(async (tx) => {
    await tx.interactions.change(ref, { id: "i", to: "approved" });
    removing = other.sessions.remove(ref);
    await untilBlocked();
    // The erasure is first in the queue for the session's row, and this transaction needs the row too.
    await tx.outbox.add(ref, { key: "k", draft: { type: "session.update", title: "t" } });
  });
  expect(await removing).toBe(true);
  expect(deadlocks).toBe(0);
});

test("an erasure that was aborted by a deadlock is retried", async () => {
  // Locks in the wrong order: first a row that references the session, then the session.
  const { ref } = await newSession(store);
  await store.interactions.request(ref, anInteraction("approval", { id: "i" }));
  const holder = new pg.Client({ connectionString: harness.url });
  await holder.connect();
  // This connection never checks for deadlocks, so that the erasure has to.
  await holder.query("set deadlock_timeout = '1h'");
  await holder.query("begin");
  await holder.query("update interactions set version = version where session_id = $1", [ref.session]);
  const removing = other.sessions.remove(ref);
  await untilBlocked();
  await holder.query("update sessions set title = title where id = $1", [ref.session]);
  await holder.query("commit");
  await holder.end();
  expect(await removing).toBe(true);
  expect(deadlocks).toBe(1);
  expect(await store.sessions.find(ref)).toBeNull();
});

test("users who decided in each other's sessions can be erased concurrently", async () => {
  const tenant = await newTenant(store);
  const users = Array.from({ length: 6 }, () => unique("user"));
  for (const user of users) {
    const session = unique("session");
    await store.sessions.create({ tenant, user }, { id: session });
    const ref = { tenant, session };
    for (const by of users) {
      await store.interactions.request(ref, anInteraction("approval", { id: by }));
      await store.interactions.change(ref, { id: by, to: "approved", by });
      await store.queuedMessages.add(ref, { id: by, text: "t", by });
    }
  }
  const removed = await Promise.all(users.map((user) => other.sessions.removeUser(tenant, user)));
  expect(removed.map((sessions) => sessions.length)).toEqual(users.map(() => 1));
});
