/**
 * Tests that every paged query reads little more than it returns: no sequential scan of a large table, and few pages. A
 * million archived events cost hardly more than a hundred thousand. The statements are captured from the store.
 */
import type { CompiledQuery } from "kysely";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import {
  findNewestSession,
  findTurn,
  listFailedTurns,
  listUnfinishedTurns,
  readAgent,
  readClaim,
} from "../../../cli/src/operator/turn-rows.ts";
import { formatPageToken } from "../../src/store/rules/page-token.ts";
import type { ClosableStore } from "../../src/store/store.ts";
import { BIG, fill } from "./plan-data.ts";
import { type PostgresHarness, postgresHarness } from "./postgres-harness.ts";

const SMALL = 100_000;
const LARGE = 1_000_000;
const MOST_BUFFERS = 400;
/**
 * Changing a row updates every index of its table. A sweep looks up each of its rows in three other tables. Each of 980
 * sessions is looked up in an index.
 */
const MOST: Readonly<Record<string, number>> = {
  "outbox.take": 1250,
  "outbox.takeUnarchived": 1250,
  "sessions.takeErasures": 800,
  "running.startable": 600,
  "running.interrupted": 7_000,
  // Each of 50 turns changes rows of three tables.
  "queue.start": 2_500,
  "operator.listUnfinishedTurns": 1_300,
  "operator.listFailedTurns": 8_000,
  "operator.findTurn, not found": 8_000,
  // The events of each of 50 turns are looked up in an index.
  "turns.list, first page": 800,
  "turns.list, middle page": 800,
  "turns.list, last page": 800,
};

/** These look at the last turn of the newest 1,000 sessions of a tenant. The others return or join a page of 50 rows. */
const OF_1000_SESSIONS: ReadonlySet<string> = new Set([
  "operator.listFailedTurns",
  "operator.findTurn, not found",
]);

interface Plan {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Shared Hit Blocks"?: number;
  readonly "Shared Read Blocks"?: number;
  readonly "Actual Rows"?: number;
  readonly "Actual Loops"?: number;
  readonly Plans?: readonly Plan[];
}

const { tenant, user, session } = BIG;
const actor = { tenant, user };
const ref = { tenant, session };

/** The page token of one of the large user's sessions: at a share of them, or at a distance from the end. */
async function token(
  harness: PostgresHarness,
  place: { share: number } | { fromEnd: number },
): Promise<string> {
  const rows = harness.db.selectFrom("sessions").where("user_id", "=", user).where("tenant_id", "=", tenant);
  const { count } = await rows.select((eb) => eb.fn.countAll<number>().as("count")).executeTakeFirstOrThrow();
  const row = await rows
    .select(["id", "updated_at"])
    .orderBy("updated_at", "desc")
    .orderBy("id", "desc")
    .offset("share" in place ? Math.floor(count * place.share) : count - place.fromEnd)
    .limit(1)
    .executeTakeFirstOrThrow();
  return formatPageToken({ time: row.updated_at, id: row.id });
}

/** Tables with few rows, whatever the number of sessions. Reading all of them is cheaper than an index. */
const SMALL_TABLES: ReadonlySet<string> = new Set(["leases", "agents"]);

function nodes(plan: Plan): Plan[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodes)];
}

function sequentialScans(plan: Plan): string[] {
  return nodes(plan)
    .filter((node) => node["Node Type"] === "Seq Scan" && node["Actual Loops"] !== 0)
    .map((node) => node["Relation Name"] ?? "?")
    .filter((name) => !SMALL_TABLES.has(name));
}

/** The periods whose partitions the statement is planned for. */
function plannedPeriods(plan: Plan): string[] {
  const names = nodes(plan).map((node) => /_(\d+)$/.exec(node["Relation Name"] ?? "")?.[1] ?? null);
  return [...new Set(names.filter((name) => name !== null))];
}

/** The last matching statement is measured, not the preparation of a query or the deletion of its result. */
function isMeasured(sql: string): boolean {
  if (/^\s*delete from "shares"/.test(sql)) return true;
  return /^\s*(select|with|update)/.test(sql) && !/ offset |set_config|delete from/.test(sql);
}

/** About as many sessions as one call of a gateway may name. Every tenth of them runs a turn. */
const SUBSCRIBED = Array.from({ length: 980 }, (_, n) => ({ tenant, session: `s${n * 10 + 10}` }));

/** A running turn, not of a subscribed session. */
const HELD = { tenant, session: "s9900", executor: "e9900", epoch: 9900 };

const AGENTS = Array.from({ length: 20 }, (_, n) => `agent${n}`);

type Query = (store: ClosableStore, harness: PostgresHarness, events: number) => Promise<unknown>;

const queries: Readonly<Record<string, Query>> = {
  "sessions.get": (store) => store.sessions.get(actor, session),
  "sessions.byNumber": (store) => store.sessions.byNumber(actor, 1),
  "sessions.find": (store) => store.sessions.find(ref),
  "sessions.list, first page": (store) => store.sessions.list(actor, { limit: 50 }),
  "sessions.list, middle page": async (store, harness) =>
    store.sessions.list(actor, { limit: 50, before: await token(harness, { share: 0.5 }) }),
  "sessions.list, last page": async (store, harness) =>
    store.sessions.list(actor, { limit: 50, before: await token(harness, { fromEnd: 51 }) }),
  "sessions.takeErasures": (store) => store.sessions.takeErasures({ limit: 50, leaseMs: 0, graceMs: 60_000 }),
  "turns.list, first page": (store) => store.turns.list(ref, { limit: 50 }),
  "turns.list, middle page": (store, _, events) => store.turns.list(ref, { limit: 50, before: events / 20 }),
  "turns.list, last page": (store) => store.turns.list(ref, { limit: 50, before: 400 }),
  "archive.header": (store) => store.archive.header(ref),
  "archive.window": (store) => store.archive.window(ref, 50),
  "archive.events, first page": (store) => store.archive.events(ref, { after: 0, limit: 50 }),
  "archive.events, middle page": (store, _, events) =>
    store.archive.events(ref, { after: events / 2, limit: 50 }),
  "archive.events, last page": (store, _, events) =>
    store.archive.events(ref, { after: events - 300, limit: 50 }),
  "waiting.list": (store) => store.queuedMessages.list(ref),
  "running.get": (store) => store.running.get({ tenant, session: "s100" }),
  "running.requestStop": (store) => store.running.requestStop({ tenant, session: "s200" }, {}),
  "running.startable": (store) => store.running.startable({ olderThanMs: 1000, limit: 50 }),
  "running.interrupted": (store) => store.running.interrupted(SUBSCRIBED),
  "queue.start": (store) =>
    store.queue.start({ executor: "new", agents: AGENTS, limit: 50, skipTenants: ["t2"], isIdle: false }),
  "queue.again": (store) => store.queue.again({ ...HELD }),
  "queue.held": (store) => store.queue.held(HELD.executor),
  "queue.release": (store) => store.queue.release([HELD]),
  "queue.recover": (store) => store.queue.recover(HELD.executor, { limit: 50 }),
  "queue.wake": (store) => store.queue.wake({ tenant, session: "s150" }),
  "queue.wakeDue": (store) => store.queue.wakeDue({ limit: 50 }),
  "journal.read": (store) => store.journal.read(ref, "turn5"),
  "journal.retained": (store) => store.journal.retained(ref, ["turn5", "turn6", "turn7"]),
  "journal.write": (store) =>
    store.journal.write(ref, { turn: "turn5", key: "new", value: 1, epoch: 1_000_000 }),
  "outbox.take": (store) => store.outbox.take({ limit: 20, olderThanMs: 1000, leaseMs: 0 }),
  "outbox.takeUnarchived": (store) =>
    store.outbox.takeUnarchived({ limit: 20, olderThanMs: 1000, leaseMs: 0 }),
  "outbox.undelivered": (store) => store.outbox.undelivered(ref, 50),
  "outbox.reopen": (store) => store.outbox.reopen(ref),
  "blobs.get": (store) => store.blobs.get(ref, "b10"),
  "leases.expired": (store) => store.leases.expired(50),
  "leases.status": (store) => store.leases.status(),
  "leases.otherReachesLog": (store) => store.leases.otherReachesLog("e", 10_000),
  "shares.find": (store) => store.shares.find("share7"),
  "shares.list": (store) => store.shares.list(actor, session),
  "shares.listOwn, first page": (store) => store.shares.listOwn(actor, { limit: 50 }),
  "shares.listOwn, one session": (store) => store.shares.listOwn(actor, { session, limit: 50 }),
  "shares.listOwn, later page": (store) =>
    store.shares.listOwn(actor, { limit: 50, before: formatPageToken({ time: Date.now(), id: "share" }) }),
  "shares.prune": (store) => store.shares.prune({ olderThanMs: 0, limit: 50 }),
  "operator.listUnfinishedTurns": (_, { db }) => listUnfinishedTurns(db, tenant, 50),
  "operator.listFailedTurns": (_, { db }) => listFailedTurns(db, tenant, 50),
  "operator.findTurn, a session": (_, { db }) => findTurn(db, tenant, session),
  "operator.findTurn, not found": (_, { db }) => findTurn(db, tenant, "no-such-turn"),
  "operator.findNewestSession": (_, { db }) => findNewestSession(db, tenant),
  "operator.readClaim": (_, { db }) => readClaim(db, { tenant, session: "s100" }),
  "operator.readAgent": (_, { db }) => readAgent(db, "helper"),
  // Runs last, because its dead rows slow down other queries until the next vacuum.
  "sessions.removeExpired": (store) => store.sessions.removeExpired({ olderThanMs: 60_000, limit: 50 }),
};

describe("query plans", () => {
  let harness: PostgresHarness;
  let client: pg.Client;
  const caught: CompiledQuery[] = [];
  const small = new Map<string, number>();
  const large = new Map<string, { buffers: number; scans: string[]; rows: number; periods: string[] }>();

  beforeAll(async () => {
    harness = await postgresHarness({
      onQuery: (event) => caught.push(event.query),
      // No timeout while filling.
      timeouts: { statementMs: 0 },
    });
    client = new pg.Client({ connectionString: harness.url });
    await client.connect();
    await fill(harness.db, 0, SMALL);
    for (const name of Object.keys(queries)) small.set(name, (await measure(name, SMALL)).buffers);
    await fill(harness.db, SMALL, LARGE);
    for (const name of Object.keys(queries)) large.set(name, await measure(name, LARGE));
  });
  afterAll(async () => {
    await client.end();
    await harness.store.close();
  });

  async function measure(name: string, events: number) {
    const query = queries[name] as Query;
    // The preparation of the query, such as a page token, is sent before and ignored.
    caught.length = 0;
    await query(harness.store, harness, events);
    const measured = caught.filter(({ sql }) => isMeasured(sql));
    // A function for operators can send several queries, and has no preparation.
    const sent = name.startsWith("operator.") ? [...measured] : measured.slice(-1);
    if (sent.length === 0) throw new Error(`${name} sent no query`);
    let [buffers, rows] = [0, 0];
    const scans: string[] = [];
    const periods: string[] = [];
    for (const statement of sent) {
      const plan = await explain(statement);
      buffers += (plan["Shared Hit Blocks"] ?? 0) + (plan["Shared Read Blocks"] ?? 0);
      rows += plan["Actual Rows"] ?? 0;
      scans.push(...sequentialScans(plan));
      periods.push(...plannedPeriods(plan));
    }
    return { buffers, scans, rows, periods };
  }

  async function explain({ sql, parameters }: CompiledQuery): Promise<Plan> {
    await client.query("begin");
    try {
      const explained = `explain (analyze, buffers, format json) ${sql}`;
      const { rows } = await client.query<{ "QUERY PLAN": [{ Plan: Plan }] }>(explained, [...parameters]);
      const plan = rows[0]?.["QUERY PLAN"][0].Plan;
      if (plan === undefined) throw new Error("there is no plan");
      return plan;
    } finally {
      await client.query("rollback");
    }
  }

  test.each(Object.keys(queries))("%s", (name) => {
    const { buffers, scans } = large.get(name) ?? { buffers: Infinity, scans: ["?"] };
    expect(scans).toEqual([]);
    if (!name.startsWith("operator.readAgent")) expect(buffers).toBeGreaterThan(0);
    expect(buffers).toBeLessThan(MOST[name] ?? MOST_BUFFERS);
    // Ten times the rows may add one index level for each joined row.
    const joined = OF_1000_SESSIONS.has(name) ? 1_010 : 60;
    expect(buffers).toBeLessThanOrEqual((small.get(name) ?? 0) * 1.5 + joined);
  });

  test("a statement for one session is planned for the partitions of its period, and no others", () => {
    const planned = [...large].filter(
      ([name, { periods }]) =>
        // Turns of several sessions are started at once.
        periods.length > 0 && !name.startsWith("operator.") && name !== "queue.start",
    );
    expect(planned.map(([name]) => name)).toEqual(
      expect.arrayContaining([
        "turns.list, first page",
        "archive.window",
        "archive.events, last page",
        "journal.read",
      ]),
    );
    for (const [name, { periods }] of planned) expect([name, periods]).toEqual([name, periods.slice(0, 1)]);
  });

  test("the measured pages are full", () => {
    // Rows of five events.
    expect(large.get("archive.events, middle page")?.rows).toBe(13);
    expect(large.get("sessions.list, middle page")?.rows).toBe(51);
    expect(large.get("turns.list, middle page")?.rows).toBe(50);
    expect(large.get("shares.listOwn, first page")?.rows).toBe(51);
    expect(large.get("running.startable")?.rows).toBe(50);
    expect(large.get("running.interrupted")?.rows).toBe(58);
    expect(large.get("journal.read")?.rows).toBeGreaterThanOrEqual(100);
  });
});
