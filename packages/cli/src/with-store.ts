/**
 * `withStore` opens the store of DATABASE_URL while a command runs, and closes it also after a failure.
 * Invariant: the address is never taken from arguments, because other users of the machine can see those. Messages of
 * this file never contain it, because it can include a password.
 */
import { isDatabaseUrl, openDatabase, createPostgresStore } from "@turnstream/server";
import type { ClosableStore } from "@turnstream/server/ports";
import { CommandError, type CliContext } from "./cli-context.ts";

export function databaseUrl({ env }: CliContext): string {
  const url = env["DATABASE_URL"] ?? "";
  if (url === "")
    throw new CommandError(
      "DATABASE_URL is not set. It must be the address of the database, such as postgres://user@host/name.",
    );
  // The message must not contain the value, because it can include a password.
  if (!isDatabaseUrl(url))
    throw new CommandError("DATABASE_URL must be a PostgreSQL address such as postgres://user@host/name.");
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

/** Reports a mistyped tenant instead of an empty result. */
export async function requireTenant(store: ClosableStore, tenant: string): Promise<void> {
  if ((await store.tenants.get(tenant)) === null) throw new CommandError(`There is no tenant ${tenant}.`);
}
