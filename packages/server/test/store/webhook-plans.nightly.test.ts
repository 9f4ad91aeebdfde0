/**
 * Tests that the periodic queries of webhooks and form deadlines read little, however many deliveries wait for a dead
 * receiver. The statements are captured from the store.
 */
import type { CompiledQuery } from "kysely";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runSql } from "@turnstream/testkit/servers/run-sql.ts";
import type { ClosableStore } from "../../src/store/store.ts";
import { newSession } from "./harness.ts";
import { type PostgresHarness, postgresHarness } from "./postgres-harness.ts";

const BACKLOG = 20_000;
const ENDPOINTS = 200;
/** Each endpoint is looked up in two indexes. Changing a row updates every index of its table. */
const MOST_BUFFERS = 2_500;

interface Plan {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Shared Hit Blocks"?: number;
  readonly "Shared Read Blocks"?: number;
  readonly Plans?: readonly Plan[];
}

let harness: PostgresHarness;
let client: pg.Client;
let dead: { readonly tenant: string; readonly endpoint: string };
const caught: CompiledQuery[] = [];

beforeAll(async () => {
  harness = await postgresHarness({
    onQuery: ({ query }) => caught.push(query),
    timeouts: { statementMs: 0 },
  });
  client = new pg.Client({ connectionString: harness.url });
  await client.connect();
  const { store } = harness;
  const { ref } = await newSession(store);
  const { endpoint } = await store.webhooks.create(ref.tenant, { url: "https://dead.example/" });
  dead = { tenant: ref.tenant, endpoint: endpoint.id };
  await runSql(
    harness.url,
    `insert into webhook_endpoints (id, tenant_id, url, secret, events)
      select 'e' || n, '${ref.tenant}', 'https://a.example/', 'whsec_', '{turn.ended}'
      from generate_series(1, ${ENDPOINTS}) n`,
    // Half of the backlog is due, half waits for its next attempt. As many were delivered before.
    `insert into webhook_deliveries (endpoint_id, id, tenant_id, session_id, type, data, state, next_attempt_at, ended_at)
      select '${endpoint.id}', 'd' || n, '${ref.tenant}', '${ref.session}', 'turn.ended', '{}',
        case when n > ${BACKLOG} then 'delivered' else 'pending' end,
        clock_timestamp() + (n - ${BACKLOG / 2}) * interval '1 second',
        case when n > ${BACKLOG} then clock_timestamp() end
      from generate_series(1, ${2 * BACKLOG}) n`,
    `insert into interactions (session_id, id, tenant_id, kind, key, turn_id, run_id, block_id, item_index, request, deadline, status)
      select '${ref.session}', 'i' || n, '${ref.tenant}', case when n % 2 = 0 then 'form' else 'approval' end,
        'i' || n, 't', 'r', 'b', 1, '{}', clock_timestamp() - interval '1 hour',
        case when n > 20 then 'expired' else 'pending' end
      from generate_series(1, ${BACKLOG}) n`,
    "vacuum analyze webhook_deliveries, webhook_endpoints, interactions",
  );
}, 120_000);
afterAll(async () => {
  await client.end();
  await harness.store.close();
});

async function explain(work: (store: ClosableStore) => Promise<unknown>): Promise<Plan> {
  caught.length = 0;
  await harness.store
    .transaction(async (tx) => {
      await work(tx as ClosableStore);
      throw new Error("rolled back");
    })
    .catch((error: unknown) => expect(String(error)).toContain("rolled back"));
  const query = caught.findLast(({ sql }) => /webhook_deliveries|"interactions"/.test(sql));
  if (query === undefined) throw new Error("the store sent no statement");
  await client.query("begin");
  const { rows } = await client.query<{ "QUERY PLAN": { Plan: Plan }[] }>(
    `explain (analyze, buffers, format json) ${query.sql}`,
    [...query.parameters],
  );
  await client.query("rollback");
  const plan = rows[0]?.["QUERY PLAN"][0]?.Plan;
  if (plan === undefined) throw new Error("no plan");
  return plan;
}

function listScans(plan: Plan): string[] {
  const own = plan["Node Type"] === "Seq Scan" ? [plan["Relation Name"] ?? "?"] : [];
  return [...own, ...(plan.Plans ?? []).flatMap(listScans)];
}

test.each<[name: string, most: number, work: (store: ClosableStore) => Promise<unknown>]>([
  ["take", MOST_BUFFERS, ({ webhooks }) => webhooks.take({ limit: 64, perEndpoint: 4, leaseMs: 1_000 })],
  ["deliveries", 100, ({ webhooks }) => webhooks.deliveries(dead.tenant, dead.endpoint, { limit: 50 })],
  ["overdueForms", 100, ({ interactions }) => interactions.overdueForms({ limit: 100 })],
  ["prune", 2_000, ({ webhooks }) => webhooks.prune({ olderThanMs: 0, limit: 50 })],
])("U13 %s reads little of a long backlog", async (_, most, work) => {
  const plan = await explain(work);
  // There are few endpoints, and reading all of them is cheaper than an index.
  expect(listScans(plan).filter((table) => table !== "webhook_endpoints")).toEqual([]);
  const buffers = (plan["Shared Hit Blocks"] ?? 0) + (plan["Shared Read Blocks"] ?? 0);
  expect(buffers).toBeGreaterThan(0);
  expect(buffers).toBeLessThan(most);
});

test("U13 concurrent takes of several processes share a backlog without exceeding the limit of an endpoint", async () => {
  const query = { limit: 64, perEndpoint: 4, leaseMs: 60_000 };
  const taken = await Promise.all(Array.from({ length: 8 }, () => harness.store.webhooks.take(query)));
  expect(taken.flat()).toHaveLength(4);
  expect(new Set(taken.flat().map(({ id }) => id)).size).toBe(4);
});
