/** The gateway as a server of the bench: as teams run it, on the real store and the real log. Nobody is pinged meanwhile. */
import {
  createRedisLog,
  createRedisSignals,
  createServer,
  openDatabase,
  createPostgresStore,
} from "@turnstream/server";
import type { SubjectSettings } from "./processes/measured-server.ts";

/** The viewers of a bench are too simple to answer. */
const NEVER_MS = 3_600_000;

/** @returns its port */
export async function openGatewayServer(settings: SubjectSettings): Promise<number> {
  const { redisUrl, databaseUrl, prefix, secret } = settings;
  const server = createServer({
    store: createPostgresStore(openDatabase({ url: databaseUrl, name: "bench-gateway" })),
    log: await createRedisLog({ url: redisUrl, keyPrefix: prefix }),
    signals: createRedisSignals({ url: redisUrl, keyPrefix: prefix }),
    secrets: [secret],
    limits: { pingIntervalMs: NEVER_MS, pongTimeoutMs: NEVER_MS },
    onError: (error, about) => console.error(about, error),
  });
  return Number(new URL(await server.listen()).port);
}
