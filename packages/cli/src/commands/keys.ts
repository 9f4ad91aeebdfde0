/**
 * `addKeys` adds `turnstream keys`: `create`, `list` and `revoke` manage the API keys of a tenant.
 * Invariant: a secret is shown once, when its key is created. Only the secret is written to stdout then. An unknown
 * tenant or key is an error, not an empty result.
 */
import { createKey, SCOPES } from "@turnstream/server";
import type { KeyInfo } from "@turnstream/server/internal";
import type { Command } from "commander";
import { CommandError, UsageError, type CliContext } from "../cli-context.ts";
import { action, collect, type CommandCall, examples } from "../command-call.ts";
import { requireTenant, withStore } from "../open-backend.ts";

interface TenantOptions {
  readonly tenant: string;
}

interface CreateOptions extends TenantOptions {
  readonly name: string;
  readonly scope?: readonly string[];
  readonly newTenant?: boolean;
}

export function addKeys(program: Command, context: CliContext): void {
  const keys = program
    .command("keys")
    .description("create, list and revoke API keys")
    .addHelpText(
      "after",
      `\nPermissions of --scope: ${SCOPES.join(", ")}, and the names of features such as payments.`,
    )
    .addHelpText("after", examples([CREATE_EXAMPLE, "turnstream keys list --tenant acme", REVOKE_EXAMPLE]));
  keys
    .command("create")
    .description("create a key and print its secret, which can't be shown again")
    .requiredOption("--tenant <id>", "the tenant")
    .requiredOption("--name <purpose>", "what the key is for")
    .option("--new-tenant", "also create the tenant if it doesn't exist")
    .option("--scope <scope>", `permission: ${SCOPES.join(", ")}. Repeat it. Default: all`, collect)
    .addHelpText("after", examples([CREATE_EXAMPLE, SCOPED_EXAMPLE]))
    .action(action(context, addKey));
  keys
    .command("list")
    .description("list the keys of a tenant: id, last use, scopes, name")
    .requiredOption("--tenant <id>", "the tenant")
    .addHelpText("after", examples(["turnstream keys list --tenant acme"]))
    .action(action(context, listKeys));
  keys
    .command("revoke")
    .description("revoke a key permanently; its connections and tokens end within seconds")
    .argument("<key>", "id of the key")
    .requiredOption("--tenant <id>", "the tenant")
    .addHelpText("after", examples([REVOKE_EXAMPLE]))
    .action(action(context, revokeKey));
}

const CREATE_EXAMPLE = 'turnstream keys create --tenant acme --new-tenant --name "our backend"';
const SCOPED_EXAMPLE = "KEY=$(turnstream keys create --tenant acme --name reports --scope read)";
const REVOKE_EXAMPLE = "turnstream keys revoke --tenant acme bb7f6f8c9d04a11c579b1376";

/** Writes only the secret to stdout, so that a script can capture it. */
async function addKey(
  call: CommandCall,
  { tenant, name, scope: scopes = [], newTenant: isNew = false }: CreateOptions,
): Promise<void> {
  await withStore(call.settings, async (store) => {
    const known = [...SCOPES, ...(await store.features.requireTables([]))];
    const unknown = scopes.find((scope) => !known.includes(scope));
    if (unknown !== undefined)
      throw new UsageError(`Unknown scope ${unknown}. Expected one of: ${known.join(", ")}.`);
    if (!isNew && (await store.tenants.get(tenant)) === null)
      throw new CommandError(`There is no tenant ${tenant}. Create it with \`--new-tenant\`.`);
    const { key, secret } = await createKey(store, tenant, { name, scopes });
    call.print({ id: key.id, tenant, name, scopes, secret }, [secret]);
    call.notice(`Created key ${key.id} of tenant ${tenant}. Store the secret: it is not shown again.`);
  });
}

async function listKeys(call: CommandCall, { tenant }: TenantOptions): Promise<void> {
  await withStore(call.settings, async (store) => {
    await requireTenant(store, tenant);
    const keys = await store.keys.list(tenant);
    call.print(
      keys,
      keys.map((key) => `${key.id}\t${stateOf(key)}\t${key.scopes.join(",") || "everything"}\t${key.name}`),
    );
  });
}

async function revokeKey(call: CommandCall, { tenant }: TenantOptions, id = ""): Promise<void> {
  await withStore(call.settings, async (store) => {
    await requireTenant(store, tenant);
    if (!(await store.keys.revoke(tenant, id)))
      throw new CommandError(`Tenant ${tenant} has no key ${id}, or the key is already revoked.`);
  });
  call.print({ id, revoked: true }, ["Revoked. Its connections end within seconds."]);
}

function stateOf({ revokedAt, lastUsedAt }: KeyInfo): string {
  if (revokedAt !== null) return "revoked";
  return lastUsedAt === null ? "never used" : `used ${new Date(lastUsedAt).toISOString()}`;
}
