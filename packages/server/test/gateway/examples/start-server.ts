/** `startServer` runs the gateway as a standalone server. Printed in docs/gateway.md. */
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
    // At least 32 bytes. To replace a secret, put the new one first, and remove the old one a day later.
    secrets: [secret],
    // Other origins whose pages may open sockets and read responses.
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
