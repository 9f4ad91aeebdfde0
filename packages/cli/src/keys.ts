/**
 * `keysCreate`, `keysList` and `keysRevoke` are the commands of `turnstream keys`: they create, list and revoke the API
 * keys of a tenant.
 * Invariant: a secret is shown once, and only its hash is stored. Only the secret is written to stdout. A tenant is
 * created only with `--new-tenant`.
 */
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

/** Writes only the secret to stdout, so that a script can capture it. */
export async function keysCreate(args: readonly string[], context: CliContext): Promise<void> {
  const {
    tenant,
    name,
    scope: scopes = [],
    "new-tenant": isNew = false,
  } = parseArgs({ args: [...args], options: CREATE }).values;
  if (tenant === undefined || name === undefined) throw new UsageError("--tenant and --name are required.");
  const unknown = scopes.find((scope) => !SCOPES.some((known) => known === scope));
  if (unknown !== undefined)
    throw new UsageError(`Unknown scope ${unknown}. Expected one of: ${SCOPES.join(", ")}.`);
  await withStore(context, async (store) => {
    if ((await store.tenants.get(tenant)) === null) {
      if (!isNew) throw new CommandError(`There is no tenant ${tenant}. Create it with \`--new-tenant\`.`);
      await store.tenants.create({ id: tenant, name: tenant });
    }
    const { key, secret } = await store.keys.create(tenant, { name, scopes });
    context.out(`${secret}\n`);
    context.err(`Created key ${key.id} of tenant ${tenant}. Store the secret: it is not shown again.\n`);
  });
}

export async function keysList(args: readonly string[], context: CliContext): Promise<void> {
  const { tenant } = parseArgs({ args: [...args], options: TENANT }).values;
  if (tenant === undefined) throw new UsageError("--tenant is required.");
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
    throw new UsageError("Exactly one key id and --tenant are required.");
  await withStore(context, async (store) => {
    await requireTenant(store, tenant);
    if (!(await store.keys.revoke(tenant, id)))
      throw new CommandError(`Tenant ${tenant} has no key ${id}, or the key is already revoked.`);
  });
  context.out("Revoked. Its connections end within seconds.\n");
}

function stateOf({ revokedAt, lastUsedAt }: KeyInfo): string {
  if (revokedAt !== null) return "revoked";
  return lastUsedAt === null ? "never used" : `used ${new Date(lastUsedAt).toISOString()}`;
}
