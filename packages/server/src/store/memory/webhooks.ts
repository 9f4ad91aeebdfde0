/**
 * `memoryWebhooks` implements webhook endpoints and deliveries in memory.
 *
 * Invariant: it behaves like `postgres/webhooks.ts`. Deliveries are owned by their session, so they are erased with it.
 * Data is stored as text, so that a caller can't change it.
 */
import type { Json } from "@turnstream/protocol";
import type { Env } from "../../util/env.ts";
import { StoreError } from "../errors.ts";
import {
  type ClaimedDelivery,
  MAX_ENDPOINTS,
  type WebhookDelivery,
  type WebhookEndpoint,
  type Webhooks,
} from "../ports/webhooks.ts";
import { MAX_BATCH } from "../ports/sessions.ts";
import { checkDuration, checkLimit } from "../rules/arguments.ts";
import {
  checkDeliveryPage,
  checkEndpoint,
  checkResult,
  checkTake,
  checkWebhookEvent,
  tooManyEndpoints,
  WEBHOOK_ID_BYTES,
  WEBHOOK_SECRET_BYTES,
  webhookEndpointId,
  webhookMessageId,
  webhookSecret,
} from "../rules/webhooks.ts";
import { sessionRow } from "./session-rows.ts";
import { type MemoryTables, type Rows, sessionTable, table } from "./tables.ts";
import { requireTenant } from "./tenants.ts";

interface EndpointRow extends WebhookEndpoint {
  readonly tenant: string;
  readonly n: number;
  readonly secret: string;
}

interface DeliveryRow extends Omit<WebhookDelivery, "nextAttemptAt"> {
  readonly tenant: string;
  readonly n: number;
  readonly user: string;
  readonly data: string;
  readonly claim: string | null;
  readonly nextAttemptAt: number;
}

const ENDPOINTS = table<EndpointRow>("webhook_endpoints", "tenant");
const DELIVERIES = sessionTable<DeliveryRow>("webhook_deliveries");

export function memoryWebhooks(tables: MemoryTables, env: Env): Webhooks {
  return {
    create: (tenant, given) =>
      tables.run((rows) => {
        const checked = checkEndpoint(given);
        requireTenant(rows, tenant);
        const id = given.id ?? webhookEndpointId(env.randomBytes(WEBHOOK_ID_BYTES));
        const known = rows.all(ENDPOINTS).find((row) => row.id === id);
        if (known !== undefined) {
          if (known.tenant !== tenant || known.url !== checked.url)
            throw new StoreError("EXISTS", `webhook ${id}`);
          return { endpoint: endpointOf(known), secret: known.secret };
        }
        if (rows.of(ENDPOINTS, tenant).length >= MAX_ENDPOINTS) throw tooManyEndpoints(MAX_ENDPOINTS);
        const secret = webhookSecret(env.randomBytes(WEBHOOK_SECRET_BYTES));
        const n = rows.next("webhook_endpoints");
        const row = { id, tenant, n, secret, ...checked, createdAt: env.now() };
        rows.put(ENDPOINTS, tenant, id, row);
        return { endpoint: endpointOf(row), secret };
      }),
    list: (tenant) => tables.run((rows) => endpointsOf(rows, tenant).map(endpointOf)),
    remove: (tenant, id) =>
      tables.run((rows) => {
        if (!rows.remove(ENDPOINTS, tenant, id)) return false;
        for (const row of rows.all(DELIVERIES)) if (row.endpoint === id) drop(rows, row);
        return true;
      }),
    enqueue: (ref, event) =>
      tables.run((rows) => {
        const data = checkWebhookEvent(event);
        const id = webhookMessageId(ref, event.key);
        const session = sessionRow(rows, ref);
        if (session === undefined) return 0;
        const { user } = session;
        const added = endpointsOf(rows, ref.tenant)
          .filter(({ events }) => events.includes(event.type))
          .filter((endpoint) => rows.get(DELIVERIES, ref, keyOf(endpoint.id, id)) === undefined);
        const now = env.now();
        for (const endpoint of added)
          put(rows, {
            id,
            endpoint: endpoint.id,
            n: rows.next("webhook_deliveries"),
            tenant: ref.tenant,
            session: ref.session,
            user,
            type: event.type,
            data,
            state: "pending",
            attempts: 0,
            status: null,
            error: null,
            claim: null,
            createdAt: now,
            nextAttemptAt: now,
            endedAt: null,
          });
        return added.length;
      }),
    take: (query) =>
      tables.run((rows) => {
        checkTake(query);
        const now = env.now();
        const due = rows.all(ENDPOINTS).flatMap((endpoint) => {
          const pending = deliveriesOf(rows, endpoint.id).filter(({ state }) => state === "pending");
          const sending = pending.filter((row) => row.claim !== null && row.nextAttemptAt > now).length;
          return pending
            .filter((row) => row.nextAttemptAt <= now)
            .toSorted(byDue)
            .slice(0, Math.max(0, query.perEndpoint - sending))
            .map((row) => ({ row, endpoint }));
        });
        const claim = env.id();
        return due
          .toSorted((a, b) => byDue(a.row, b.row))
          .slice(0, query.limit)
          .map(({ row, endpoint }) => {
            const nextAttemptAt = now + query.leaseMs;
            return claimedOf(
              put(rows, { ...row, claim, attempts: row.attempts + 1, nextAttemptAt }),
              endpoint,
            );
          });
      }),
    settle: ({ endpoint, id, claim }, result) =>
      tables.run((rows) => {
        checkResult(result);
        const row = deliveriesOf(rows, endpoint).find((one) => one.id === id && one.claim === claim);
        if (row === undefined) return false;
        const now = env.now();
        const { status, error } = result;
        const after = { ...row, claim: null, status, error };
        if (!result.delivered && result.retryInMs !== null)
          put(rows, { ...after, nextAttemptAt: now + result.retryInMs });
        else put(rows, { ...after, state: result.delivered ? "delivered" : "failed", endedAt: now });
        return true;
      }),
    deliveries: (tenant, endpoint, page) =>
      tables.run((rows) => {
        checkDeliveryPage(page);
        if (rows.get(ENDPOINTS, tenant, endpoint) === undefined) return null;
        const { limit, before, state } = page;
        const found = deliveriesOf(rows, endpoint);
        const end = before === undefined ? Infinity : (found.find(({ id }) => id === before)?.n ?? 0);
        return found
          .filter((row) => row.n < end && (state === undefined || row.state === state))
          .toSorted((a, b) => b.n - a.n)
          .slice(0, limit)
          .map(deliveryOf);
      }),
    replay: (tenant, endpoint, id) =>
      tables.run((rows) => {
        const row = deliveriesOf(rows, endpoint).find((one) => one.id === id && one.tenant === tenant);
        if (row === undefined) return null;
        const now = env.now();
        if (row.state === "pending" && row.claim !== null && row.nextAttemptAt > now) return deliveryOf(row);
        const due = {
          state: "pending",
          attempts: 0,
          claim: null,
          nextAttemptAt: now,
          endedAt: null,
        } as const;
        return deliveryOf(put(rows, { ...row, ...due }));
      }),
    prune: ({ olderThanMs, limit }) =>
      tables.run((rows) => {
        const before = env.now() - checkDuration(olderThanMs, "olderThanMs");
        const old = rows
          .all(DELIVERIES)
          .filter(({ endedAt }) => endedAt !== null && endedAt <= before)
          .toSorted((a, b) => (a.endedAt ?? 0) - (b.endedAt ?? 0))
          .slice(0, checkLimit(limit, MAX_BATCH));
        for (const row of old) drop(rows, row);
        return old.length;
      }),
  };
}

const keyOf = (endpoint: string, id: string): string => JSON.stringify([endpoint, id]);

const byDue = (a: DeliveryRow, b: DeliveryRow): number => a.nextAttemptAt - b.nextAttemptAt || a.n - b.n;

function put(rows: Rows, row: DeliveryRow): DeliveryRow {
  rows.put(DELIVERIES, row, keyOf(row.endpoint, row.id), row);
  return row;
}

function drop(rows: Rows, row: DeliveryRow): void {
  rows.remove(DELIVERIES, row, keyOf(row.endpoint, row.id));
}

function endpointsOf(rows: Rows, tenant: string): EndpointRow[] {
  return rows.of(ENDPOINTS, tenant).toSorted((a, b) => a.n - b.n);
}

function deliveriesOf(rows: Rows, endpoint: string): DeliveryRow[] {
  return rows.all(DELIVERIES).filter((row) => row.endpoint === endpoint);
}

function endpointOf({ id, url, events, createdAt }: EndpointRow): WebhookEndpoint {
  return { id, url, events, createdAt };
}

function deliveryOf(row: DeliveryRow): WebhookDelivery {
  const { tenant: _tenant, n: _n, user: _user, data: _data, claim: _claim, ...delivery } = row;
  return { ...delivery, nextAttemptAt: row.state === "pending" ? row.nextAttemptAt : null };
}

function claimedOf(row: DeliveryRow, { url, secret }: EndpointRow): ClaimedDelivery {
  const { id, endpoint, tenant, session, user, type, createdAt, attempts, claim } = row;
  const data = JSON.parse(row.data) as Readonly<Record<string, Json>>;
  return {
    id,
    endpoint,
    tenant,
    session,
    user,
    type,
    createdAt,
    attempts,
    claim: claim ?? "",
    url,
    secret,
    data,
  };
}
