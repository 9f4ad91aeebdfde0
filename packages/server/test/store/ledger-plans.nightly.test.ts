/**
 * Tests the plans of the ledger's queries on large tables, with the SQL that the code runs. No large table is scanned
 * sequentially, and a page costs about the same in a database that is ten times as large.
 */
import { paymentsOf } from "@turnstream/payments";
import { type LogEvent, sql } from "kysely";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import type { ClosableStore } from "../../src/store/store.ts";
import { postgresHarness, type PostgresHarness } from "./postgres-harness.ts";

interface Plan {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Shared Hit Blocks": number;
  readonly "Shared Read Blocks": number;
  readonly Plans?: readonly Plan[];
}

const BIG = [
  "api_keys",
  "interactions",
  "interaction_changes",
  "payments",
  "payments_changes",
  "usage_marks",
  "audit_log",
];
const ref = { tenant: "t70", session: "s70" };
/** The limit for reading a page of 50, and for changing 50 rows with their indexes. */
const MOST_READ = 250;
const MOST_CHANGED = 1250;
/** `payments.due` locks 50 rows before it changes them, and the table has seven indexes. */
const MOST_CLAIMED = 2000;

const queries: Record<string, (store: ClosableStore) => Promise<unknown>> = {
  "keys.verify": (store) => store.keys.verify(`ts_${"0".repeat(22)}07_${"a".repeat(43)}`),
  "keys.live": (store) => store.keys.live(["0".repeat(22) + "07"]),
  "keys.list": (store) => store.keys.list("t7"),
  "interactions.get": (store) => store.interactions.get(ref, "i3"),
  "interactions.byKey": (store) => store.interactions.byKey(ref, "i3"),
  "interactions.list, first page": (store) => store.interactions.list(ref, { limit: 50 }),
  "interactions.list, later page": (store) => store.interactions.list(ref, { limit: 50, after: 700 }),
  "interactions.list, pending": (store) => store.interactions.list(ref, { pending: true, limit: 50 }),
  "interactions.list, pending of a kind": (store) =>
    store.interactions.list(ref, { pending: true, kind: "question", limit: 1 }),
  "interactions.changes": (store) => store.interactions.changes(ref, "i3"),
  "interactions.change": (store) => store.interactions.change(ref, { id: "i3", to: "timed_out" }),
  "payments.get": (store) => paymentsOf(store).get(ref, "s70-i9"),
  "payments.getInTenant": (store) => paymentsOf(store).getInTenant("t70", "s70-i9"),
  "payments.byOrderNo": (store) => paymentsOf(store).byOrderNo("o70-1"),
  "payments.byToken": (store) => paymentsOf(store).byToken("h70-1"),
  "payments.list": (store) => paymentsOf(store).list(ref, { limit: 50 }),
  "payments.changes": (store) => paymentsOf(store).changes(ref, "s70-i9"),
  "payments.flagged, first page": (store) => paymentsOf(store).flagged("t70", { limit: 4 }),
  "payments.flagged, later page": (store) => paymentsOf(store).flagged("t70", { limit: 4, before: 2_500 }),
  "payments.due": (store) => paymentsOf(store).due({ limit: 50 }),
  "payments.apply, without effect": (store) => paymentsOf(store).apply("o70-1", { type: "expire" }),
  "payments.resolveFlag": (store) => paymentsOf(store).resolveFlag("t70", "s70-i9", { by: "k", note: "" }),
  "usage.pruneMarks": (store) => store.usage.pruneMarks({ olderThanMs: 0, limit: 50 }),
  "usage.list": (store) => store.usage.list("t7", "2026-01-01", "2026-12-31"),
  "audit.list, first page": (store) => store.audit.list("t7", { after: 0, limit: 50 }),
  "audit.list, late page": (store) => store.audit.list("t7", { after: 120, limit: 50 }),
  "audit.head": (store) => store.audit.head("t7"),
  "sessions.removeUser": (store) => store.sessions.removeUser("t70", "decider"),
};

interface Filled {
  readonly harness: PostgresHarness;
  readonly seen: LogEvent[];
}

/** Creates that many sessions in a hundred tenants, with ten interactions and two payments each. */
async function filled(sessions: number): Promise<Filled> {
  const seen: LogEvent[] = [];
  const harness = await postgresHarness({
    onQuery: (event) => seen.push(event),
    timeouts: { statementMs: 0 },
  });
  const half = "now() - interval '1 hour'";
  for (const statement of [
    `insert into tenants (id, name) select 't' || n, '' from generate_series(0, 99) n`,
    `insert into sessions (id, tenant_id, user_id, number)
      select 's' || n, 't' || n % 100, 'u', n from generate_series(0, ${sessions - 1}) n`,
    `insert into turn_queue (tenant_id, session_id, owner, epoch) select tenant_id, id, user_id, 1 from sessions`,
    `insert into api_keys (id, tenant_id, name, scopes, secret_hash)
      select lpad(n::text, 24, '0'), 't' || n % 100, '', '{}', sha256(n::text::bytea)
      from generate_series(0, ${sessions / 10}) n`,
    // One in fifty is pending, one in a hundred overdue.
    `insert into interactions (session_id, id, tenant_id, kind, key, turn_id, run_id, block_id, item_index,
        request, status, deadline)
      select 's' || n, case when i > 8 then 's' || n || '-' else '' end || 'i' || i, 't' || n % 100,
        case when i > 8 then 'payment' else 'approval' end, 'i' || i,
        't', 'r', 'b', i, '{}', case when i = 3 and n % 5 = 0 then 'pending' else 'approved' end,
        case when n % 10 = 0 then ${half} end
      from generate_series(0, ${sessions - 1}) n, generate_series(1, 10) i`,
    // Most were decided by a user.
    `insert into interaction_changes (tenant_id, session_id, interaction_id, version, status, by_user, body, at)
      select tenant_id, session_id, id, 1, status, case when session_id in ('s70', 's170') then 'decider' else session_id end,
        '{}', now() from interactions where status <> 'pending'`,
    // One in fifty is due, one in ten is flagged.
    `insert into payments (session_id, id, tenant_id, order_no, token_hash, amount, currency, provider,
        description, locale, continues, status, expires_at, check_ms, next_check_at, flag)
      select 's' || n, 's' || n || '-i' || 8 + i, 't' || n % 100, 'o' || n || '-' || i, 'h' || n || '-' || i, 1, 'TWD', 'g',
        '""', 'en', true, case when i = 1 then 'succeeded' else 'pending' end, ${half}, 60000,
        case when n % 50 = 0 then ${half} end, case when n / 100 % 10 = 0 then 'mismatch' end
      from generate_series(0, ${sessions - 1}) n, generate_series(1, 2) i`,
    `insert into payments_changes (tenant_id, session_id, payment_id, n, actor, by_user, input, outcome, from_status,
        to_status, at, provider, event)
      select tenant_id, session_id, id, c.n, 'provider', session_id, 'succeeded', 'changed', 'pending', 'succeeded', ${half}, 'g',
        'e' || c.n from payments, generate_series(1, 3) c (n)`,
    `insert into usage_days
        (tenant_id, day, model, shard, turns, calls, input_tokens, output_tokens, total_tokens, cost_micros)
      select 't' || n % 100, '2026-01-' || to_char(1 + n / 100, 'FM00'), 'm', 0, 1, 1, 1, 1, 1, 1
      from generate_series(0, 2799) n`,
    `insert into usage_marks (tenant_id, key, marked_at)
      select 't' || n % 100, 'turn' || n, ${half} from generate_series(0, ${sessions * 2}) n`,
    `insert into audit_log select 't' || n % 100, 1 + n / 100, 1, null, 'a', '{}', 'null', '', ''
      from generate_series(0, ${sessions * 10 - 1}) n`,
    `insert into audit_heads select 't' || n, 1, '' from generate_series(0, 99) n`,
    "analyze",
  ]) {
    await sql.raw(statement).execute(harness.db);
  }
  // A vacuum sets the visibility bits for index-only scans, so that the first reader doesn't.
  await sql`vacuum`.execute(harness.db);
  return { harness, seen };
}

async function plansOf(
  { harness, seen }: Filled,
  query: (store: ClosableStore) => Promise<unknown>,
): Promise<Plan[]> {
  seen.length = 0;
  await query(harness.store);
  const run = [...seen].filter(({ query: { sql: text } }) =>
    /^\s*(with|select|update|delete|insert)\b/.test(text),
  );
  expect(run.length).toBeGreaterThan(0);
  const plans: Plan[] = [];
  for (const { query: compiled } of run) {
    const undo = new Error("undo");
    // Rolls back, so that the same rows are there for the next query.
    const explaining = harness.db.transaction().execute(async (tx) => {
      const explain = `explain (analyze, buffers, format json) ${compiled.sql}`;
      const { rows } = await tx.executeQuery<{ "QUERY PLAN": [{ Plan: Plan }] }>({
        ...compiled,
        sql: explain,
      });
      if (rows[0] !== undefined) plans.push(rows[0]["QUERY PLAN"][0].Plan);
      throw undo;
    });
    await explaining.catch((error: unknown) => {
      if (error !== undo) throw error;
    });
  }
  return plans;
}

const nodes = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodes)];
const blocks = (plans: readonly Plan[]) =>
  plans.reduce((sum, plan) => sum + plan["Shared Hit Blocks"] + plan["Shared Read Blocks"], 0);

describe("large tables", () => {
  let small: Filled;
  let large: Filled;
  beforeAll(async () => {
    small = await filled(2000);
    large = await filled(20_000);
  });
  afterAll(() => Promise.all([small, large].map(({ harness }) => harness.store.close())));

  for (const [name, query] of Object.entries(queries)) {
    test(`${name} reads only the rows that it returns`, async () => {
      const before = blocks(await plansOf(small, query));
      const plans = await plansOf(large, query);
      const read = plans.flatMap(nodes).filter((node) => node["Node Type"] === "Seq Scan");
      const names = read.map((node) => node["Relation Name"]?.replace(/_\d+$/, "") ?? "");
      expect(names.filter((of) => BIG.includes(of))).toEqual([]);
      const most = name === "payments.due" ? MOST_CLAIMED : name.includes("prune") ? MOST_CHANGED : null;
      // Changing rows updates every index for each of them, so one more index level counts fifty times.
      expect(blocks(plans)).toBeLessThanOrEqual(most ?? Math.min(MOST_READ, 1.5 * before + 20));
    });
  }
});
