/** Opens the store that DATABASE_URL names, for as long as a command takes. Never takes the address from arguments. */
import { isDatabaseUrl, openDatabase, createPostgresStore } from "@turnstream/server";
import type { ClosableStore } from "@turnstream/server/ports";
import { CommandError, type CliContext } from "./cli-context.ts";

export function databaseUrl({ env }: CliContext): string {
  const url = env["DATABASE_URL"] ?? "";
  if (url === "")
    throw new CommandError("DATABASE_URL is not set. It names the database, as postgres://user@host/name.");
  // What it is instead may hold a password.
  if (!isDatabaseUrl(url))
    throw new CommandError("DATABASE_URL is no address of a database, such as postgres://user@host/name.");
  return url;
}

export async function withStore<T>(
  context: CliContext,
  work: (store: ClosableStore) => Promise<T>,
): Promise<T> {
  const store = createPostgresStore(
    openDatabase({ url: databaseUrl(context), max: 2, name: "turnstream-cli" }),
  );
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

/** So that a slip of the keyboard is told as such. */
export async function requireTenant(store: ClosableStore, tenant: string): Promise<void> {
  if ((await store.tenants.get(tenant)) === null) throw new CommandError(`There is no tenant ${tenant}.`);
}
