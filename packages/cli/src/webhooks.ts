/**
 * `webhooksCreate`, `webhooksList`, `webhooksDelete`, `webhooksDeliveries` and `webhooksReplay` are the commands of
 * `turnstream webhooks`: they manage the webhook endpoints of a tenant and their deliveries.
 * Invariant: a secret is shown once, when its endpoint is created. Only the secret is written to stdout then. An unknown
 * tenant, endpoint or delivery is an error, not an empty result.
 */
import { parseArgs } from "node:util";
import { WEBHOOK_EVENTS, type WebhookDelivery, type WebhookEventType } from "@turnstream/server/ports";
import { requireTenant, withStore } from "./with-store.ts";
import { CommandError, UsageError, type CliContext } from "./cli-context.ts";

const TENANT = { tenant: { type: "string" } } as const;
const CREATE = { ...TENANT, event: { type: "string", multiple: true } } as const;
const PAGE = 100;

/** Writes only the secret to stdout, so that a script can capture it. */
export async function webhooksCreate(args: readonly string[], context: CliContext): Promise<void> {
  const { values, positionals } = parseArgs({ args: [...args], options: CREATE, allowPositionals: true });
  const { tenant, event: events } = values;
  const [url] = positionals;
  if (tenant === undefined || url === undefined || positionals.length > 1)
    throw new UsageError("Exactly one URL and --tenant are required.");
  const unknown = events?.find((event) => !isEvent(event));
  if (unknown !== undefined)
    throw new UsageError(`Unknown event ${unknown}. Expected one of: ${WEBHOOK_EVENTS.join(", ")}.`);
  const subscribed = events === undefined ? {} : { events: events.filter(isEvent) };
  await withStore(context, async (store) => {
    await requireTenant(store, tenant);
    const { endpoint, secret } = await store.webhooks.create(tenant, { url, ...subscribed });
    context.out(`${secret}\n`);
    context.err(
      `Created webhook ${endpoint.id} of tenant ${tenant}. Store the secret: it is not shown again.\n`,
    );
  });
}

export async function webhooksList(args: readonly string[], context: CliContext): Promise<void> {
  const { tenant } = parseArgs({ args: [...args], options: TENANT }).values;
  if (tenant === undefined) throw new UsageError("--tenant is required.");
  await withStore(context, async (store) => {
    await requireTenant(store, tenant);
    for (const { id, url, events } of await store.webhooks.list(tenant))
      context.out(`${id}\t${url}\t${events.join(",")}\n`);
  });
}

export async function webhooksDelete(args: readonly string[], context: CliContext): Promise<void> {
  const { tenant, ids } = parseIds(args, 1, "Exactly one webhook id and --tenant are required.");
  const [id = ""] = ids;
  await withStore(context, async (store) => {
    await requireTenant(store, tenant);
    if (!(await store.webhooks.remove(tenant, id))) throw missing(tenant, `webhook ${id}`);
  });
  context.out("Deleted.\n");
}

/** Prints the newest deliveries, the newest first. */
export async function webhooksDeliveries(args: readonly string[], context: CliContext): Promise<void> {
  const { tenant, ids } = parseIds(args, 1, "Exactly one webhook id and --tenant are required.");
  const [id = ""] = ids;
  await withStore(context, async (store) => {
    await requireTenant(store, tenant);
    const found = await store.webhooks.deliveries(tenant, id, { limit: PAGE });
    if (found === null) throw missing(tenant, `webhook ${id}`);
    for (const delivery of found)
      context.out(`${delivery.id}\t${delivery.state}\t${describeResult(delivery)}\t${delivery.type}\n`);
  });
}

export async function webhooksReplay(args: readonly string[], context: CliContext): Promise<void> {
  const { tenant, ids } = parseIds(args, 2, "A webhook id, a delivery id and --tenant are required.");
  const [webhook = "", delivery = ""] = ids;
  await withStore(context, async (store) => {
    await requireTenant(store, tenant);
    const replayed = await store.webhooks.replay(tenant, webhook, delivery);
    if (replayed === null) throw missing(tenant, `delivery ${delivery} of webhook ${webhook}`);
  });
  context.out("Due now. A worker sends it within seconds.\n");
}

function parseIds(args: readonly string[], count: number, usage: string) {
  const { values, positionals } = parseArgs({ args: [...args], options: TENANT, allowPositionals: true });
  if (values.tenant === undefined || positionals.length !== count) throw new UsageError(usage);
  return { tenant: values.tenant, ids: positionals };
}

function isEvent(text: string): text is WebhookEventType {
  return (WEBHOOK_EVENTS as readonly string[]).includes(text);
}

function missing(tenant: string, what: string): CommandError {
  return new CommandError(`Tenant ${tenant} has no ${what}.`);
}

function describeResult({ attempts, status, error }: WebhookDelivery): string {
  const result = error ?? (status === null ? "not sent" : `HTTP ${status}`);
  return `${attempts} attempts, ${result}`;
}
