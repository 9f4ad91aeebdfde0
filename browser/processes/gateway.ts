/** A program of its own, to be looked through and killed: a gateway on PostgreSQL and Redis. Never runs a turn. */
import {
  createRedisLog,
  createRedisSignals,
  createServer,
  openDatabase,
  createPostgresStore,
} from "@turnstream/server";
import type { GatewaySettings } from "../gateway-process.ts";

const settings = JSON.parse(process.argv[2] ?? "{}") as GatewaySettings & { readonly port: number };
const { postgresUrl, redisUrl, prefix, secret, origins, publicUrl, port } = settings;

process.on("disconnect", () => process.exit());
const server = createServer({
  store: createPostgresStore(openDatabase({ url: postgresUrl, max: 10 })),
  log: await createRedisLog({ url: redisUrl, keyPrefix: prefix }),
  signals: createRedisSignals({ url: redisUrl, keyPrefix: prefix }),
  secrets: [secret],
  allowedOrigins: origins,
  publicUrl,
});
await server.listen(port);
process.send?.("ready");
