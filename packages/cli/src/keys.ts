/** `turnstream keys`: makes, lists and revokes the API keys of a tenant. A secret is shown once, and kept nowhere. */
import { parseArgs } from "node:util";
import { SCOPES } from "@turnstream/server";
import type { KeyInfo } from "@turnstream/server/ports";
import { requireTenant, withStore } from "./with-store.ts";
import { CommandError, UsageError, type CliContext } from "./cli-context.ts";

const TENANT = { tenant: { type: "string" } } as const;
const CREATE = {
  ...TENANT,
  name: { type: "string" },
  scope: { type: "string", multiple: true },
  "new-tenant": { type: "boolean" },
} as const;

/** The secret alone goes to the output, so that a script can take it as it is. */
export async function keysCreate(args: readonly string[], context: CliContext): Promise<void> {
  const {
    tenant,
    name,
    scope: scopes = [],
    "new-tenant": isNew = false,
  } = parseArgs({ args: [...args], options: CREATE }).values;
  if (tenant === undefined || name === undefined)
    throw new UsageError("Say whose key it is, and what for: --tenant and --name.");
  const unknown = scopes.find((scope) => !SCOPES.some((known) => known === scope));
  if (unknown !== undefined)
    throw new UsageError(`There is no scope ${unknown}. There are: ${SCOPES.join(", ")}.`);
  await withStore(context, async (store) => {
    if ((await store.tenants.get(tenant)) === null) {
      if (!isNew) throw new CommandError(`There is no tenant ${tenant}. \`--new-tenant\` makes it.`);
      await store.tenants.create({ id: tenant, name: tenant });
    }
    const { key, secret } = await store.keys.create(tenant, { name, scopes });
    context.out(`${secret}\n`);
    context.err(`Key ${key.id} of ${tenant}. Keep the secret: it isn't shown again.\n`);
  });
}

export async function keysList(args: readonly string[], context: CliContext): Promise<void> {
  const { tenant } = parseArgs({ args: [...args], options: TENANT }).values;
  if (tenant === undefined) throw new UsageError("Say whose keys: --tenant.");
  await withStore(context, async (store) => {
    await requireTenant(store, tenant);
    for (const key of await store.keys.list(tenant))
      context.out(`${key.id}\t${stateOf(key)}\t${key.scopes.join(",") || "everything"}\t${key.name}\n`);
  });
}

export async function keysRevoke(args: readonly string[], context: CliContext): Promise<void> {
  const { values, positionals } = parseArgs({ args: [...args], options: TENANT, allowPositionals: true });
  const [id] = positionals;
  const { tenant } = values;
  if (tenant === undefined || id === undefined || positionals.length > 1)
    throw new UsageError("Name one key by its id, and whose it is: --tenant.");
  await withStore(context, async (store) => {
    await requireTenant(store, tenant);
    if (!(await store.keys.revoke(tenant, id)))
      throw new CommandError(`${tenant} has no key ${id}, or it was revoked before.`);
  });
  context.out("Revoked. Its connections end within seconds.\n");
}

function stateOf({ revokedAt, lastUsedAt }: KeyInfo): string {
  if (revokedAt !== null) return "revoked";
  return lastUsedAt === null ? "never used" : `used ${new Date(lastUsedAt).toISOString()}`;
}
