/**
 * `webhookRoutes` create, list and delete webhook endpoints of a tenant, and list and replay their deliveries. Workers
 * send the deliveries.
 * Invariant: every query uses the caller's tenant and needs the scope `webhooks`, which tokens can't have. Only the
 * response to the creation contains the secret. A delivery shows ids and states, and no content of a conversation.
 */
import { z } from "zod";
import { MAX_PAGE } from "../../../store/rules/arguments.ts";
import {
  DELIVERY_STATES,
  isWebhookUrl,
  type WebhookDelivery,
  type WebhookEndpoint,
} from "../../../store/webhooks.ts";
import { ID_RULE, isId } from "../../../util/names.ts";
import { RequestError } from "../../errors.ts";
import { pageLimit } from "./page-query.ts";
import { type Route, defineRoute } from "../route.ts";

const DEFAULT_DELIVERIES = 50;
const MAX_EVENTS = 50;
const MAX_TYPE_LENGTH = 50;

const endpointJson = z.strictObject({
  webhook_id: z.string(),
  url: z.string(),
  events: z.array(z.string()),
  created_at: z.int(),
});

const deliveryJson = z.strictObject({
  delivery_id: z.string(),
  session_id: z.string(),
  type: z.string(),
  state: z.enum(DELIVERY_STATES),
  attempts: z.int(),
  status: z.int().nullable(),
  error: z.string().nullable(),
  created_at: z.int(),
  next_attempt_at: z.int().nullable(),
  ended_at: z.int().nullable(),
});

const create = defineRoute({
  method: "POST",
  path: "/webhooks",
  summary: "Creates an endpoint for the events of all users of the tenant. Returns its secret, once.",
  scope: "webhooks",
  idempotent: true,
  body: z.strictObject({
    url: z.string().refine(isWebhookUrl, "must be an http or https URL without credentials"),
    events: z.array(z.string().max(MAX_TYPE_LENGTH)).min(1).max(MAX_EVENTS).exactOptional(),
  }),
  responseSchema: endpointJson.extend({ secret: z.string() }),
  async handle({ context, caller, body, newId }) {
    const known = context.webhookEvents;
    if (body.events?.every((event) => known.includes(event)) === false)
      throw new RequestError("BAD_REQUEST", `events must be of ${known.join(", ")}.`);
    const created = await context.store.webhooks.create(caller.tenant, { id: newId(), ...body });
    return { status: 201, json: { ...toEndpointJson(created.endpoint, known), secret: created.secret } };
  },
});

const list = defineRoute({
  method: "GET",
  path: "/webhooks",
  summary: "Lists the endpoints of the tenant, the oldest first.",
  scope: "webhooks",
  responseSchema: z.strictObject({ webhooks: z.array(endpointJson) }),
  async handle({ context, caller }) {
    const found = await context.store.webhooks.list(caller.tenant);
    const webhooks = found.map((endpoint) => toEndpointJson(endpoint, context.webhookEvents));
    return { status: 200, json: { webhooks } };
  },
});

const remove = defineRoute({
  method: "DELETE",
  path: "/webhooks/{webhook}",
  summary: "Deletes an endpoint and its deliveries.",
  scope: "webhooks",
  async handle({ context, caller, params }) {
    if (!(await context.store.webhooks.remove(caller.tenant, params["webhook"] ?? ""))) throw notFound();
    return { status: 204 };
  },
});

const deliveries = defineRoute({
  method: "GET",
  path: "/webhooks/{webhook}/deliveries",
  summary: "Returns a page of the deliveries to an endpoint, the newest first.",
  scope: "webhooks",
  query: z.strictObject({
    state: z.enum(DELIVERY_STATES).exactOptional(),
    before: z.string().refine(isId, `must have ${ID_RULE}`).exactOptional(),
    limit: pageLimit(MAX_PAGE - 1, DEFAULT_DELIVERIES),
  }),
  responseSchema: z.strictObject({ deliveries: z.array(deliveryJson), next_before: z.string().nullable() }),
  async handle({ context, caller, params, query }) {
    const page = { ...query, limit: query.limit + 1 };
    const found = await context.store.webhooks.deliveries(caller.tenant, params["webhook"] ?? "", page);
    if (found === null) throw notFound();
    const listed = found.slice(0, query.limit);
    const next = found.length > query.limit ? (listed.at(-1)?.id ?? null) : null;
    return { status: 200, json: { deliveries: listed.map(toDeliveryJson), next_before: next } };
  },
});

const replay = defineRoute({
  method: "POST",
  path: "/webhooks/{webhook}/deliveries/{delivery}/replay",
  summary: "Sends a delivery again, with the same `webhook-id`.",
  scope: "webhooks",
  body: z.strictObject({}),
  responseSchema: deliveryJson,
  async handle({ context, caller, params }) {
    const { webhook = "", delivery = "" } = params;
    const replayed = await context.store.webhooks.replay(caller.tenant, webhook, delivery);
    if (replayed === null) throw notFound();
    return { status: 202, json: toDeliveryJson(replayed) };
  },
});

function toEndpointJson({ id, url, events, createdAt }: WebhookEndpoint, known: readonly string[]) {
  return { webhook_id: id, url, events: events ?? known, created_at: createdAt };
}

function toDeliveryJson(delivery: WebhookDelivery) {
  const { id, session, type, state, attempts, status, error, createdAt, nextAttemptAt, endedAt } = delivery;
  return {
    delivery_id: id,
    session_id: session,
    type,
    state,
    attempts,
    status,
    error,
    created_at: createdAt,
    next_attempt_at: nextAttemptAt,
    ended_at: endedAt,
  };
}

function notFound(): RequestError {
  return new RequestError("NOT_FOUND", "The tenant has no such webhook endpoint or delivery.");
}

export const webhookRoutes: readonly Route[] = [create, list, remove, deliveries, replay];
