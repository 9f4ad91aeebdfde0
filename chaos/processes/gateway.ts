/**
 * A program of its own, to be watched through and killed: a gateway on PostgreSQL and Redis, with connections of its own.
 * Never runs a turn.
 */
import {
  createRedisLog,
  createRedisSignals,
  createServer,
  openDatabase,
  createPostgresStore,
} from "@turnstream/server";

export interface Settings {
  readonly name: string;
  readonly postgresUrl: string;
  readonly redisUrl: string;
  readonly port: number;
}

export type Word = { readonly ready: true } | { readonly failed: string };

const { name, postgresUrl, redisUrl, port } = JSON.parse(process.argv[2] ?? "{}") as Settings;

function tell(word: Word): void {
  if (process.connected) process.send?.(word);
}

process.on("disconnect", () => process.exit());
const server = createServer({
  store: createPostgresStore(openDatabase({ url: postgresUrl, max: 10, name })),
  log: await createRedisLog({ url: redisUrl }),
  signals: createRedisSignals({ url: redisUrl }),
  secrets: ["a secret that only this scenario knows, for all of its gateways"],
  onError: (error, about) => tell({ failed: `${about}: ${String(error)}` }),
});
await server.listen(port);
tell({ ready: true });
