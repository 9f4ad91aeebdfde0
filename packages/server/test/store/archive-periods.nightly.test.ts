/** Tests the partitions of sessions and of the audit on a real PostgreSQL, whose clock is advanced by weeks. */
import { sql } from "kysely";
import { expect, test } from "vitest";

import type { ClosableStore } from "../../src/store/store.ts";
import type { SessionRef } from "../../src/util/refs.ts";
import { batchOf, chat } from "./archive-batch.ts";
import { newSession } from "./harness.ts";
import { connectAsApp, type PostgresHarness, timedHarness } from "./postgres-harness.ts";
import { startTurn } from "./start-turn.ts";

const DAY_MS = 24 * 60 * 60 * 1_000;
const RETENTION_MS = 7 * DAY_MS;
const MAINTAIN = { retentionMs: RETENTION_MS, limit: 10 };
const PAGE = { after: 0, limit: 1_000 };

async function newChat(store: ClosableStore) {
  const { ref, actor } = await newSession(store);
  await store.archive.write(ref, batchOf(chat(2)));
  await store.journal.write(
    ref,
    { turn: "t", key: "kept", value: { file: 1 }, epoch: 1, isRetained: true },
    { turn: "t", key: "b", value: 2, epoch: 1 },
  );
  return { ref, actor, events: await store.archive.events(ref, PAGE), content: await contentOf(store, ref) };
}

/** All that the partitions have of a session. */
async function contentOf({ archive, turns, journal }: ClosableStore, ref: SessionRef) {
  return {
    events: await archive.events(ref, PAGE),
    window: await archive.window(ref, 10),
    turns: await turns.list(ref, { limit: 10 }),
    journal: await journal.read(ref, "t"),
    retained: await journal.retained(ref, ["t"]),
  };
}

/** So that it counts as used. */
async function rename({ sessions }: ClosableStore, ref: SessionRef): Promise<void> {
  const { user = "" } = (await sessions.find(ref)) ?? {};
  await sessions.rename({ tenant: ref.tenant, user }, ref.session, "Used");
}

const TABLES = ["archived_events", "turns", "turn_journal"];

/** The periods in which each of the tables has rows of the session. */
async function periodsOf({ db }: PostgresHarness, { tenant, session }: SessionRef): Promise<number[]> {
  const found = await Promise.all(
    TABLES.map(async (name) => {
      const { rows } = await sql<{ period: number }>`select distinct period from ${sql.table(name)}
        where tenant_id = ${tenant} and session_id = ${session} order by 1`.execute(db);
      return rows.map(({ period }) => period);
    }),
  );
  for (const periods of found) expect(periods).toEqual(found[0]);
  return found[0] ?? [];
}

async function listPeriods({ db }: PostgresHarness): Promise<number[]> {
  const { rows } = await sql<{ period: number }>`select period from archive_periods order by 1`.execute(db);
  return rows.map(({ period }) => period);
}

test("an expired period is dropped, and sessions that are still used keep their events", async () => {
  const harness = await timedHarness();
  const { store } = harness;
  const [expired, used] = [await newChat(store), await newChat(store)];
  const [first] = await listPeriods(harness);
  expect(await store.archive.maintain(MAINTAIN)).toEqual({ moved: 0, dropped: 0 });
  await harness.wait(21 * DAY_MS);
  await rename(store, used.ref);
  expect(await store.sessions.removeExpired({ olderThanMs: RETENTION_MS, limit: 10 })).toEqual([expired.ref]);
  // Hidden at once, and dropped with its period.
  expect(await store.archive.events(expired.ref, PAGE)).toEqual([]);
  expect(await periodsOf(harness, expired.ref)).toHaveLength(1);
  expect(await store.archive.maintain(MAINTAIN)).toEqual({ moved: 1, dropped: 0 });
  expect(await contentOf(store, used.ref)).toEqual(used.content);
  // A reader that has read the old period still finds the events.
  expect(await periodsOf(harness, used.ref)).toHaveLength(2);
  expect(await store.archive.maintain(MAINTAIN)).toEqual({ moved: 0, dropped: 0 });
  await harness.wait(11 * 60_000);
  // And the next week, in which no session was created.
  expect(await store.archive.maintain(MAINTAIN)).toEqual({ moved: 0, dropped: 2 });
  expect(await periodsOf(harness, expired.ref)).toEqual([]);
  expect(await periodsOf(harness, used.ref)).toHaveLength(1);
  expect(await listPeriods(harness)).not.toContain(first);
  expect(await contentOf(store, used.ref)).toEqual(used.content);
  // The archive continues in the new period.
  const log = chat(3);
  const more = batchOf(log, used.events.at(-1)?.id);
  expect(await store.archive.write(used.ref, more)).toBe("written");
  expect(await store.archive.events(used.ref, PAGE)).toHaveLength(used.events.length + more.events.length);
  await store.close();
});

test("all columns of a moved session are copied", async () => {
  const harness = await timedHarness();
  const { store, db } = harness;
  const { ref } = await newChat(store);
  await harness.wait(21 * DAY_MS);
  await rename(store, ref);
  expect(await store.archive.maintain(MAINTAIN)).toMatchObject({ moved: 1 });
  for (const name of TABLES) {
    const { rows } = await sql<{ rows: string; periods: number }>`
      select row::text as rows, count(*) as periods
      from (select to_jsonb(t) - 'period' as row from ${sql.table(name)} t) each group by 1`.execute(db);
    expect(rows.length).toBeGreaterThan(0);
    for (const row of rows) expect(row.periods).toBe(2);
  }
  await store.close();
});

test("a session with a running turn delays the drop of its own period only, and one with a parked turn is moved", async () => {
  const harness = await timedHarness();
  const { store } = harness;
  const [running, parked] = [await newChat(store), await newChat(store)];
  await harness.wait(7 * DAY_MS);
  const { ref: later } = await newChat(store);
  for (const { ref } of [running, parked]) {
    await store.queuedMessages.add(ref, { id: "m", text: "go" });
    expect(await startTurn(store, ref)).not.toBeNull();
  }
  const { turn = "" } = (await store.running.get(running.ref)) ?? {};
  const [held] = (await store.queue.held("w")).filter(({ session }) => session === parked.ref.session);
  if (held === undefined) throw new Error("the turn was not started");
  const { turn: waiting = "" } = (await store.running.get(parked.ref)) ?? {};
  await store.queue.park(held, waiting, { wakeAt: null });
  await harness.wait(21 * DAY_MS);
  for (const ref of [running.ref, parked.ref, later]) await rename(store, ref);
  expect(await store.archive.maintain(MAINTAIN)).toEqual({ moved: 2, dropped: 0 });
  expect(await contentOf(store, parked.ref)).toEqual(parked.content);
  const [first = 0] = await listPeriods(harness);
  await harness.wait(11 * 60_000);
  expect(await store.archive.maintain(MAINTAIN)).toMatchObject({ moved: 0 });
  const periods = await listPeriods(harness);
  expect(periods).toContain(first);
  expect(periods).not.toContain(first + 1);
  expect(await contentOf(store, running.ref)).toEqual(running.content);
  await store.queue.end(running.ref, turn);
  expect(await store.archive.maintain(MAINTAIN)).toMatchObject({ moved: 1 });
  await harness.wait(11 * 60_000);
  await store.archive.maintain(MAINTAIN);
  expect(await listPeriods(harness)).not.toContain(first);
  expect(await contentOf(store, running.ref)).toEqual(running.content);
  await store.close();
});

test("a new session with the id of an expired one has none of its events", async () => {
  const harness = await timedHarness();
  const { store } = harness;
  const { ref, actor } = await newChat(store);
  await harness.wait(21 * DAY_MS);
  await store.sessions.removeExpired({ olderThanMs: RETENTION_MS, limit: 10 });
  await harness.wait(1_000);
  await store.sessions.erased(ref, { olderThanMs: 0 });
  await store.sessions.create(actor, { id: ref.session, firstEpoch: 1 });
  expect(await store.archive.events(ref, PAGE)).toEqual([]);
  expect(await store.archive.write(ref, batchOf(chat(1)))).toBe("written");
  // An erasure on request deletes the rows of all periods.
  await store.sessions.remove(ref);
  expect(await periodsOf(harness, ref)).toEqual([]);
  await store.close();
});

test("an erased session that was moved leaves no events, and one that expires in its period neither", async () => {
  const harness = await timedHarness();
  const { store } = harness;
  const { ref } = await newChat(store);
  await harness.wait(21 * DAY_MS);
  await rename(store, ref);
  expect(await store.archive.maintain(MAINTAIN)).toMatchObject({ moved: 1 });
  expect(await periodsOf(harness, ref)).toHaveLength(2);
  await store.sessions.remove(ref);
  expect(await periodsOf(harness, ref)).toEqual([]);
  const { ref: young } = await newChat(store);
  await harness.wait(60_000);
  await store.sessions.removeExpired({ olderThanMs: 1_000, limit: 10 });
  expect(await periodsOf(harness, young)).toEqual([]);
  await store.close();
});

test("without workers, sessions use the newest period that exists", async () => {
  const harness = await timedHarness();
  const { store } = harness;
  const before = await listPeriods(harness);
  await harness.wait(200 * DAY_MS);
  const { events } = await newChat(store);
  expect(events.length).toBeGreaterThan(2);
  await store.archive.maintain({ retentionMs: null, limit: 10 });
  expect((await listPeriods(harness)).length).toBe(before.length + 5);
  await store.close();
});

test("a role that can't create tables creates and drops periods, with the grants of the documentation", async () => {
  const harness = await timedHarness();
  const { ref } = await newChat(harness.store);
  const { db, store } = await connectAsApp(harness);
  await expect(sql`create table mine (id text)`.execute(db)).rejects.toThrow("permission denied");
  await harness.wait(21 * DAY_MS);
  const before = await listPeriods(harness);
  await store.sessions.remove(ref);
  await store.archive.maintain(MAINTAIN);
  expect((await listPeriods(harness)).length).toBeGreaterThan(before.length);
  const { events } = await newChat(store);
  expect(events.length).toBeGreaterThan(2);
  await harness.wait(11 * 60_000);
  expect(await store.archive.maintain(MAINTAIN)).toMatchObject({ dropped: 2 });
  await store.close();
  await harness.store.close();
});
