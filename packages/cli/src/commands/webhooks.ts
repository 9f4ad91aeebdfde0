/**
 * `addWebhooks` adds `turnstream webhooks`: `create`, `list`, `delete`, `deliveries` and `replay` manage the webhook
 * endpoints of a tenant and their deliveries.
 * Invariant: a secret is shown once, when its endpoint is created. Only the secret is written to stdout then. An unknown
 * tenant, endpoint or delivery is an error, not an empty result.
 */
import { WEBHOOK_EVENTS, type WebhookDelivery } from "@turnstream/server/internal";
import type { Command } from "commander";
import { CommandError, UsageError, type CliContext } from "../cli-context.ts";
import { action, collect, type CommandCall, examples } from "../command-call.ts";
import { requireTenant, withStore } from "../open-backend.ts";

const PAGE = 100;

interface TenantOptions {
  readonly tenant: string;
}

interface CreateOptions extends TenantOptions {
  readonly event?: readonly string[];
}

export function addWebhooks(program: Command, context: CliContext): void {
  const webhooks = program
    .command("webhooks")
    .description("manage webhook endpoints, and send deliveries again")
    .addHelpText(
      "after",
      `\nEvents of --event: ${WEBHOOK_EVENTS.join(", ")}, and those of features, such as payment.refunded.`,
    )
    .addHelpText("after", examples([CREATE_EXAMPLE, DELIVERIES_EXAMPLE]));
  const add = (name: string, description: string) =>
    webhooks.command(name).description(description).requiredOption("--tenant <id>", "the tenant");
  add("create", "create an endpoint and print the secret that verifies its signatures")
    .argument("<url>", "where the requests are sent")
    .option("--event <event>", `one of: ${WEBHOOK_EVENTS.join(", ")}. Repeat it. Default: all`, collect)
    .addHelpText("after", examples([CREATE_EXAMPLE]))
    .action(action(context, createWebhook));
  add("list", "list the endpoints of a tenant: id, URL, events")
    .addHelpText("after", examples(["turnstream webhooks list --tenant acme"]))
    .action(action(context, listWebhooks));
  add("delete", "delete an endpoint and its deliveries")
    .argument("<webhook>", "id of the endpoint")
    .addHelpText("after", examples(["turnstream webhooks delete --tenant acme wh_5f1c0a9be2d47a8810c3f2aa"]))
    .action(action(context, deleteWebhook));
  add("deliveries", `list the newest ${PAGE} deliveries: id, state, last result, event`)
    .argument("<webhook>", "id of the endpoint")
    .addHelpText("after", examples([DELIVERIES_EXAMPLE]))
    .action(action(context, listDeliveries));
  add("replay", "send a delivery again, with the same webhook-id")
    .argument("<webhook>", "id of the endpoint")
    .argument("<delivery>", "id of the delivery")
    .addHelpText("after", examples(["turnstream webhooks replay --tenant acme wh_5f1c0a9b msg_81c2"]))
    .action(action(context, replayDelivery));
}

const CREATE_EXAMPLE =
  "SECRET=$(turnstream webhooks create https://example.com/hooks --tenant acme --event turn.failed)";
const DELIVERIES_EXAMPLE = "turnstream webhooks deliveries --tenant acme wh_5f1c0a9be2d47a8810c3f2aa";

/** Writes only the secret to stdout, so that a script can capture it. */
async function createWebhook(
  call: CommandCall,
  { tenant, event: events }: CreateOptions,
  url = "",
): Promise<void> {
  const unknown = events?.find((event) => !isEvent(event));
  if (unknown !== undefined)
    throw new UsageError(`Unknown event ${unknown}. Expected one of: ${WEBHOOK_EVENTS.join(", ")}.`);
  const subscribed = events === undefined ? {} : { events };
  await withStore(call.settings, async (store) => {
    await requireTenant(store, tenant);
    const { endpoint, secret } = await store.webhooks.create(tenant, { url, ...subscribed });
    call.print({ ...endpoint, secret }, [secret]);
    call.notice(
      `Created webhook ${endpoint.id} of tenant ${tenant}. Store the secret: it is not shown again.`,
    );
  });
}

async function listWebhooks(call: CommandCall, { tenant }: TenantOptions): Promise<void> {
  await withStore(call.settings, async (store) => {
    await requireTenant(store, tenant);
    const endpoints = await store.webhooks.list(tenant);
    call.print(
      endpoints,
      endpoints.map(({ id, url, events }) => `${id}\t${url}\t${events?.join(",") ?? "all"}`),
    );
  });
}

async function deleteWebhook(call: CommandCall, { tenant }: TenantOptions, id = ""): Promise<void> {
  await withStore(call.settings, async (store) => {
    await requireTenant(store, tenant);
    if (!(await store.webhooks.remove(tenant, id))) throw missing(tenant, `webhook ${id}`);
  });
  call.print({ id, deleted: true }, ["Deleted."]);
}

/** Prints the newest deliveries, the newest first. */
async function listDeliveries(call: CommandCall, { tenant }: TenantOptions, id = ""): Promise<void> {
  await withStore(call.settings, async (store) => {
    await requireTenant(store, tenant);
    const found = await store.webhooks.deliveries(tenant, id, { limit: PAGE });
    if (found === null) throw missing(tenant, `webhook ${id}`);
    call.print(
      found,
      found.map((each) => `${each.id}\t${each.state}\t${describeResult(each)}\t${each.type}`),
    );
  });
}

async function replayDelivery(
  call: CommandCall,
  { tenant }: TenantOptions,
  webhook = "",
  delivery = "",
): Promise<void> {
  await withStore(call.settings, async (store) => {
    await requireTenant(store, tenant);
    const replayed = await store.webhooks.replay(tenant, webhook, delivery);
    if (replayed === null) throw missing(tenant, `delivery ${delivery} of webhook ${webhook}`);
    call.print(replayed, ["Due now. A worker sends it within seconds."]);
  });
}

/** The events of a feature are known only to processes that have it. */
const OF_FEATURE = /^(?!interaction\.|turn\.)[a-z_]+\.[a-z_]+$/;

function isEvent(text: string): boolean {
  return WEBHOOK_EVENTS.some((event) => event === text) || OF_FEATURE.test(text);
}

function missing(tenant: string, what: string): CommandError {
  return new CommandError(`Tenant ${tenant} has no ${what}.`);
}

function describeResult({ attempts, status, error }: WebhookDelivery): string {
  const result = error ?? (status === null ? "not sent" : `HTTP ${status}`);
  return `${attempts} attempts, ${result}`;
}
