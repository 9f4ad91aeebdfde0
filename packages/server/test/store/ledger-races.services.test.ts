/** Tests concurrent decisions over separate connections: approvals and payments on a real PostgreSQL server. */
import { paymentsOf } from "@turnstream/payments";
import { setTimeout as sleep } from "node:timers/promises";

import { sql } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";

import type { TransitionResult } from "../../src/store/interactions.ts";
import { openDatabase } from "../../src/store/database/open-database.ts";
import { createPostgresStore } from "../../src/store/create-postgres-store.ts";
import type { PaymentInput } from "../../../payments/src/store/payment-transitions.ts";
import type { ClosableStore } from "../../src/store/store.ts";
import { newSession } from "./harness.ts";
import { anInteraction } from "./interactions.contract.ts";
import { checkHistory, inputsOf, newPayment } from "./test-payments.ts";
import { type PostgresHarness, timedHarness } from "./postgres-harness.ts";

const WISHES = ["approved", "edited", "rejected", "timed_out", "cancelled"];
const RACES = 300;
const NOTHING = { turns: 0, calls: 0, input_tokens: 0, output_tokens: 0, total_tokens: 0 };

let harness: PostgresHarness;
let racers: ClosableStore[];

beforeAll(async () => {
  harness = await timedHarness();
  const { url } = harness;
  racers = WISHES.map(() => createPostgresStore(openDatabase({ url, max: 1 })));
});

afterAll(async () => {
  await Promise.all([...racers, harness.store].map((store) => store.close()));
});

test(`one winner in each of ${RACES} races of approve, edit, reject, timeout and stop`, async () => {
  const { ref } = await newSession(harness.store);
  const wins = new Map<string, number>();
  for (let race = 0; race < RACES; race += 1) {
    // A third has no deadline, a third one that has passed, and a third one that passes about now.
    const deadline = [{}, { deadlineMs: 0 }, { deadlineMs: 3 }][race % 3];
    const { id } = anInteraction("approval");
    await harness.store.interactions.request(ref, anInteraction("approval", { id, ...deadline }));
    const results = await Promise.all(
      WISHES.map(async (_, at): Promise<TransitionResult> => {
        // The order rotates, so that each kind is first at times.
        const to = WISHES[(at + race) % WISHES.length] ?? "";
        return await (racers[at] as ClosableStore).transaction(async (tx) => {
          const result = await tx.interactions.change(ref, { id, to, body: { to } });
          if (result.applied) await tx.usage.add(ref.tenant, { key: id, ...NOTHING });
          return result;
        });
      }),
    );
    const won = results.filter((result) => result.applied);
    expect(won).toHaveLength(1);
    const status = won[0]?.interaction.status ?? "";
    expect(await harness.store.interactions.changes(ref, id)).toMatchObject([
      { version: 1, status, body: { to: status } },
    ]);
    expect(await harness.store.interactions.get(ref, id)).toMatchObject({ status, version: 1 });
    // The winner's transaction is complete, and the losers' transactions don't affect it.
    expect(await harness.store.usage.add(ref.tenant, { key: id, ...NOTHING })).toBe(false);
    wins.set(status, (wins.get(status) ?? 0) + 1);
  }
  expect([...wins.keys()].toSorted()).toEqual(WISHES.toSorted());
  expect(wins.get("timed_out")).toBeGreaterThan(0);
});

/** The number of queries that wait for a lock. */
async function blocked(): Promise<number> {
  const { rows } = await sql<{ n: number }>`
    select count(*)::int as n from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`.execute(harness.db);
  return rows[0]?.n ?? 0;
}

test("a decision in time counts, also if a transaction that rolled back delayed it past the deadline", async () => {
  const { ref } = await newSession(harness.store);
  const { id } = anInteraction("approval");
  const asked = anInteraction("approval", { id, deadlineMs: 600_000 });
  const { interaction } = await harness.store.interactions.request(ref, asked);
  const [holder, waiter] = racers as [ClosableStore, ClosableStore];
  let waiting: Promise<TransitionResult> | undefined;
  const locking = holder.transaction(async (tx) => {
    await tx.interactions.change(ref, { id, to: "rejected" });
    waiting = waiter.interactions.change(ref, { id, to: "approved" });
    await expect.poll(blocked, { interval: 5 }).toBe(1);
    await harness.wait(700_000);
    throw new Error("undo");
  });
  await expect(locking).rejects.toThrow("undo");
  const result = await waiting;
  expect(result).toMatchObject({ applied: true, change: { status: "approved" } });
  expect(result?.change?.at).toBeLessThan(interaction.deadline ?? 0);
  expect(await harness.store.interactions.changes(ref, id)).toHaveLength(1);
});

test("reports, openings, cancellations and expiries of one payment over separate connections never conflict", async () => {
  const { ref } = await newSession(harness.store);
  const ends = new Set<string>();
  for (let race = 0; race < 60; race += 1) {
    // A third is overdue.
    const { wanted } = await newPayment(harness.store, ref, { expiresMs: race % 3 === 0 ? 0 : 600_000 });
    const all = inputsOf(wanted.orderNo);
    const results = await Promise.all(
      racers.map((racer, at) => {
        // The order rotates, so that each input is first at times.
        const input = all[(at * 2 + race) % all.length] as PaymentInput;
        return racer.transaction(async (tx) => {
          const result = await paymentsOf(tx).apply(wanted.orderNo, input);
          if ("recorded" in result)
            for (const { n } of result.recorded)
              await tx.usage.add(ref.tenant, { key: `${wanted.id}/${n}`, ...NOTHING });
          return result;
        });
      }),
    );
    const rows = await checkHistory(harness.store, ref, wanted.id, results);
    // Each row was committed together with the rest of its transaction.
    for (const { n } of rows)
      expect(await harness.store.usage.add(ref.tenant, { key: `${wanted.id}/${n}`, ...NOTHING })).toBe(false);
    const end = rows.findLast(({ outcome }) => outcome === "changed")?.to ?? "pending";
    ends.add(end);
  }
  // Which input wins is a matter of timing. Races with always the same end would test nothing.
  expect(ends.size).toBeGreaterThan(1);
});

test("of opening and cancelling at the same time, one wins", async () => {
  const { ref } = await newSession(harness.store);
  const [opener, canceller] = racers as [ClosableStore, ClosableStore];
  const ends = new Set<string>();
  // If one side wins every time, delay it, so that both outcomes occur.
  for (let race = 0; race < 40 || (race < 1_000 && ends.size < 2); race += 1) {
    const { wanted } = await newPayment(harness.store, ref);
    const { orderNo, id } = wanted;
    const late = race < 40 ? null : race % 2;
    const results = await Promise.all([
      sleep(late === 0 ? 300 : 0).then(() => paymentsOf(opener).apply(orderNo, { type: "checkout_opened" })),
      sleep(late === 1 ? 300 : race % 4).then(() => paymentsOf(canceller).apply(orderNo, { type: "cancel" })),
    ]);
    expect(results.filter(({ outcome }) => outcome === "changed")).toHaveLength(1);
    const [row] = await checkHistory(harness.store, ref, id, results);
    ends.add(row?.to ?? "");
  }
  expect([...ends].toSorted()).toEqual(["cancelled", "processing"]);
});
