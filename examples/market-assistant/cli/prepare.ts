/** `prepare` prepares a database: it creates the tables, the tenant of the example, and an API key for its server. */
import { migrate, migrateEngine, openDatabase, createPostgresStore } from "@turnstream/server";
import { isStoreError, type Store } from "@turnstream/server/ports";

const TENANT = { id: "market-assistant", name: "Market assistant" };

export interface Prepared {
  readonly key: string;
  /** Revokes the key. The next start creates a new one. */
  undo(): Promise<void>;
}

export async function prepare(databaseUrl: string): Promise<Prepared> {
  const db = openDatabase({ url: databaseUrl, max: 2 });
  await migrate(db);
  await migrateEngine(databaseUrl);
  const store = createPostgresStore(db);
  await ensureTenant(store);
  const { key, secret } = await store.keys.create(TENANT.id, {
    name: "own server",
    scopes: ["tokens", "read", "write", "decide", "share"],
  });
  return {
    key: secret,
    async undo() {
      await store.keys.revoke(TENANT.id, key.id);
      await store.close();
    },
  };
}

async function ensureTenant({ tenants }: Store): Promise<void> {
  try {
    await tenants.create(TENANT);
  } catch (error) {
    if (!isStoreError(error, "EXISTS")) throw error;
  }
}
