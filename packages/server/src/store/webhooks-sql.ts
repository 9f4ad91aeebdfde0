/**
 * `postgresWebhooks` implements webhook endpoints and deliveries on PostgreSQL.
 *
 * Invariant: `take` leases deliveries in one statement and no lock outlives it. It counts those that are being sent, so
 * `perEndpoint` holds for all processes together. Only the current claim can settle a delivery.
 */
import { sql, type Selectable } from "kysely";
import type { Env } from "../util/env.ts";
import type { Db } from "./database/database.ts";
import type { CoreTables } from "./database/schema.ts";
import { inTransaction, clock, clockPlus, ago } from "./database/session-row.ts";
import { lockTenantRow } from "./database/tenant-row.ts";
import { StoreError } from "./errors.ts";
import { checkDuration, checkLimit, MAX_BATCH } from "./rules/arguments.ts";
import {
  type Webhooks,
  checkWebhookEvent,
  webhookMessageId,
  checkDeliveryPage,
  type NewWebhookEndpoint,
  checkEndpoint,
  MAX_ENDPOINTS,
  webhookSecret,
  WEBHOOK_SECRET_BYTES,
  type TakeDeliveriesQuery,
  type ClaimedDelivery,
  checkTake,
  type WebhookDelivery,
} from "./webhooks.ts";

export function postgresWebhooks(db: Db, env: Env): Webhooks {
  return {
    create: (tenant, endpoint) => inTransaction(db, (tx) => create(tx, env, tenant, endpoint)),
    list: (tenant) => endpoints(db, tenant).select(ENDPOINT).orderBy("n").execute(),
    async remove(tenant, id) {
      const { rows } = await sql`
        with gone as (delete from webhook_endpoints where tenant_id = ${tenant} and id = ${id} returning id),
        deliveries as (delete from webhook_deliveries where endpoint_id in (select id from gone))
        select from gone`.execute(db);
      return rows.length === 1;
    },
    async enqueue(ref, event) {
      const data = checkWebhookEvent(event);
      const { numAffectedRows } = await sql`
        insert into webhook_deliveries (endpoint_id, id, tenant_id, session_id, type, data)
        select e.id, ${webhookMessageId(ref, event.key)}::text, e.tenant_id, s.id, ${event.type}::text, ${data}::json
        from webhook_endpoints e join sessions s on s.tenant_id = e.tenant_id
        where e.tenant_id = ${ref.tenant} and s.id = ${ref.session}
          and (e.events is null or ${event.type} = any(e.events))
        order by e.n
        on conflict (endpoint_id, id) do nothing`.execute(db);
      return Number(numAffectedRows ?? 0n);
    },
    take: (query) => take(db, env, query),
    async settle({ endpoint, id, claim }, result) {
      const { status, error } = result;
      const isOver = result.delivered || result.retryInMs === null;
      const next = isOver
        ? { state: result.delivered ? ("delivered" as const) : ("failed" as const), ended_at: clock }
        : { next_attempt_at: clockPlus(result.retryInMs) };
      const { numUpdatedRows } = await db
        .updateTable("webhook_deliveries")
        .set({ claim: null, status, error, ...next })
        .where("endpoint_id", "=", endpoint)
        .where("id", "=", id)
        .where("claim", "=", claim)
        .executeTakeFirst();
      return numUpdatedRows === 1n;
    },
    async deliveries(tenant, endpoint, page) {
      checkDeliveryPage(page);
      const found = await endpoints(db, tenant).select("id").where("id", "=", endpoint).executeTakeFirst();
      if (found === undefined) return null;
      const { before, state } = page;
      const ofEndpoint = db.selectFrom("webhook_deliveries").where("endpoint_id", "=", endpoint);
      let rows = ofEndpoint.selectAll();
      if (before !== undefined) rows = rows.where("n", "<", ofEndpoint.select("n").where("id", "=", before));
      if (state !== undefined) rows = rows.where("state", "=", state);
      return (await rows.orderBy("n", "desc").limit(page.limit).execute()).map(deliveryOf);
    },
    replay: (tenant, endpoint, id) =>
      inTransaction(db, async (tx) => {
        const isIt = sql<boolean>`tenant_id = ${tenant} and endpoint_id = ${endpoint} and id = ${id}`;
        const replayed = await tx
          .updateTable("webhook_deliveries")
          .set({ state: "pending", attempts: 0, claim: null, next_attempt_at: clock, ended_at: null })
          .where(isIt)
          .where((eb) => eb.or([eb("claim", "is", null), eb("next_attempt_at", "<=", ago(0))]))
          .returningAll()
          .executeTakeFirst();
        // Without a change, it is being sent.
        const row =
          replayed ?? (await tx.selectFrom("webhook_deliveries").selectAll().where(isIt).executeTakeFirst());
        return row === undefined ? null : deliveryOf(row);
      }),
    async prune({ olderThanMs, limit }) {
      const before = ago(checkDuration(olderThanMs, "olderThanMs"));
      const most = checkLimit(limit, MAX_BATCH);
      // A delivery that was queued while its endpoint was removed stays pending.
      const { rows } = await sql<{ id: string }>`
        with ended as (
          select endpoint_id, id from webhook_deliveries where ended_at <= ${before} order by ended_at limit ${most}
        ), without_endpoint as (
          select endpoint_id, id from webhook_deliveries d where state = 'pending' and created_at <= ${before}
            and not exists (select from webhook_endpoints e where e.id = d.endpoint_id)
          order by created_at limit ${most}
        )
        delete from webhook_deliveries where (endpoint_id, id) in (
          select * from ended union all select * from without_endpoint limit ${most})
        returning id`.execute(db);
      return rows.length;
    },
  };
}

function endpoints(db: Db, tenant: string) {
  return db.selectFrom("webhook_endpoints").where("tenant_id", "=", tenant);
}

/** The columns of a `WebhookEndpoint`. */
const ENDPOINT = ["id", "url", "events", "created_at as createdAt"] as const;

async function create(tx: Db, env: Env, tenant: string, given: NewWebhookEndpoint) {
  const { url, events } = checkEndpoint(given);
  // Concurrent calls queue up here, so that the tenant can't exceed the maximum.
  await lockTenantRow(tx, tenant);
  const id = given.id ?? `wh_${Buffer.from(env.randomBytes(12)).toString("hex")}`;
  const known = await tx
    .selectFrom("webhook_endpoints")
    .select([...ENDPOINT, "tenant_id", "secret"])
    .where("id", "=", id)
    .executeTakeFirst();
  if (known !== undefined) {
    const { tenant_id, secret, ...endpoint } = known;
    if (tenant_id !== tenant || endpoint.url !== url) throw new StoreError("EXISTS", `webhook ${id}`);
    return { endpoint, secret };
  }
  if ((await endpoints(tx, tenant).select("id").execute()).length >= MAX_ENDPOINTS)
    throw new StoreError("INVALID", `webhook endpoint (a tenant has at most ${MAX_ENDPOINTS})`);
  const secret = webhookSecret(env.randomBytes(WEBHOOK_SECRET_BYTES));
  const endpoint = await tx
    .insertInto("webhook_endpoints")
    .values({ id, tenant_id: tenant, url, secret, events })
    .returning(ENDPOINT)
    .executeTakeFirstOrThrow();
  return { endpoint, secret };
}

/** Looks at the first due rows of each endpoint only, so that the backlog of one does not slow down the others. */
async function take(db: Db, env: Env, query: TakeDeliveriesQuery): Promise<ClaimedDelivery[]> {
  checkTake(query);
  const { limit, perEndpoint, leaseMs } = query;
  const claim = env.id();
  const { rows } = await sql<ClaimedDelivery>`
    with due as (
      select d.endpoint_id, d.id
      from webhook_endpoints e cross join lateral (
        select w.endpoint_id, w.id, w.next_attempt_at, w.n from webhook_deliveries w
        where w.endpoint_id = e.id and w.state = 'pending' and w.next_attempt_at <= ${ago(0)}
        order by w.next_attempt_at, w.n
        limit greatest(0, ${perEndpoint}::bigint - (
          select count(*) from webhook_deliveries s
          where s.endpoint_id = e.id and s.claim is not null and s.next_attempt_at > ${ago(0)}))
      ) d
      order by d.next_attempt_at, d.n limit ${limit}
    ), locked as (
      select w.endpoint_id, w.id from webhook_deliveries w
      join due on due.endpoint_id = w.endpoint_id and due.id = w.id
      where w.state = 'pending' and w.next_attempt_at <= ${ago(0)}
      for update of w skip locked
    ), claimed as (
      update webhook_deliveries w
      set attempts = w.attempts + 1, claim = ${claim}, next_attempt_at = ${clockPlus(leaseMs)}
      from locked, webhook_endpoints e, sessions s
      where w.endpoint_id = locked.endpoint_id and w.id = locked.id
        and e.id = w.endpoint_id and s.tenant_id = w.tenant_id and s.id = w.session_id
      returning w.*, e.url, e.secret, s.user_id
    )
    select id, endpoint_id as endpoint, tenant_id as tenant, session_id as session, user_id as user, type,
      created_at as "createdAt", attempts, claim, url, secret, data
    from claimed order by n`.execute(db);
  return rows;
}

function deliveryOf(row: Selectable<CoreTables["webhook_deliveries"]>): WebhookDelivery {
  return {
    id: row.id,
    endpoint: row.endpoint_id,
    session: row.session_id,
    type: row.type,
    state: row.state,
    attempts: row.attempts,
    status: row.status,
    error: row.error,
    createdAt: row.created_at,
    nextAttemptAt: row.state === "pending" ? row.next_attempt_at : null,
    endedAt: row.ended_at,
  };
}
