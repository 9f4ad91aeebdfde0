/** Tests idempotency keys as time passes: in memory with its clock, on PostgreSQL with backdated rows. */
import { sql } from "kysely";
import { expect, test } from "vitest";

import { REQUEST_LEASE_MS, RESPONSE_RETENTION_MS } from "../../src/store/idempotency.ts";
import { type Harness, memoryHarness, newSession } from "./harness.ts";
import { postgresHarness } from "./postgres-harness.ts";

async function realHarness(): Promise<Harness> {
  const harness = await postgresHarness();
  return {
    ...harness,
    wait: async (ms) => {
      await sql`update idempotency_keys set begun_at = begun_at - ${ms}::float8 * interval '1 ms',
        claimed_until = claimed_until - ${ms}::float8 * interval '1 ms'`.execute(harness.db);
    },
  };
}

for (const [name, make] of [
  ["memory", memoryHarness],
  ["postgres", realHarness],
] as const)
  test(`${name}: the claim of a dead request expires, and after a day the key is deleted`, async () => {
    const harness = await make();
    const { store } = harness;
    const { actor } = await newSession(store);
    const asked = { route: "POST /x", key: "k", digest: "d" };
    const first = await store.idempotency.begin(actor, asked);
    await harness.wait(REQUEST_LEASE_MS - 5_000);
    expect(await store.idempotency.begin(actor, asked)).toEqual({ state: "busy" });
    await harness.wait(6_000);
    const second = await store.idempotency.begin(actor, asked);
    if (first.state !== "yours" || second.state !== "yours") throw new Error("both claims must succeed");
    expect(second.id).toBe(first.id);
    // The first caller was wrongly assumed dead: only the second response counts.
    expect(await store.idempotency.finish(actor, asked, first.claim, { status: 200, body: 1 })).toBe(false);
    expect(await store.idempotency.finish(actor, asked, second.claim, { status: 200, body: 2 })).toBe(true);
    await harness.wait(RESPONSE_RETENTION_MS - 300_000);
    expect(await store.idempotency.begin(actor, { ...asked, digest: "e" })).toEqual({ state: "different" });
    await harness.wait(300_000);
    // Before a sweep.
    const again = await store.idempotency.begin(actor, { ...asked, digest: "e" });
    expect(again.state === "yours" && again.id !== first.id).toBe(true);
    expect(await store.idempotency.sweep(100)).toBe(0);
    await harness.wait(RESPONSE_RETENTION_MS + 1_000);
    // The store in memory keeps it.
    expect(await store.idempotency.sweep(100)).toBe(name === "memory" ? 0 : 1);
    await store.close();
  });
