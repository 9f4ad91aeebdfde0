/** An example of a gateway as a standalone server. Printed in docs/gateway.md. */
import {
  createRedisLog,
  createRedisSignals,
  createServer,
  migrate,
  openDatabase,
  createPostgresStore,
} from "@turnstream/server";

export async function startServer(redis: string, postgres: string, secret: string, port: number) {
  const db = openDatabase({ url: postgres });
  await migrate(db);
  const store = createPostgresStore(db);
  const log = await createRedisLog({ url: redis });
  const signals = createRedisSignals({ url: redis });
  const server = createServer({
    store,
    log,
    signals,
    // At least 32 bytes. To change it, put the new one first, and take the old one away a day later.
    secrets: [secret],
    // Pages of other origins than the server's own.
    allowedOrigins: ["https://app.example.com"],
    onError: (error, { during }) => console.error(during, error),
  });
  await server.listen(port, "0.0.0.0");
  const close = async () => {
    await server.close();
    await Promise.all([signals.close(), log.close()]);
    await store.close();
  };
  return { store, url: server.url, close };
}
