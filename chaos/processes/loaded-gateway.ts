/**
 * A program of its own: a gateway on PostgreSQL and Redis that watches how much it holds for its slowest client. Never runs
 * a turn.
 */
import {
  createRedisLog,
  createRedisSignals,
  createServer,
  openDatabase,
  createPostgresStore,
} from "@turnstream/server";

export interface Settings {
  readonly postgresUrl: string;
  readonly redisUrl: string;
}

/** Asked for by `peak`: the most that was held for one client since it was last asked. */
export type Word = { readonly url: string } | { readonly peak: number };

const LOOK_MS = 5;
/** Longer than a round: on a busy machine, who doesn't read would be cut off before it is asked to read on. */
const PATIENCE_MS = 600_000;
const { postgresUrl, redisUrl } = JSON.parse(process.argv[2] ?? "{}") as Settings;

function tell(word: Word): void {
  if (process.connected) process.send?.(word);
}

process.on("disconnect", () => process.exit());
const server = createServer({
  store: createPostgresStore(openDatabase({ url: postgresUrl, max: 10 })),
  log: await createRedisLog({ url: redisUrl }),
  signals: createRedisSignals({ url: redisUrl }),
  secrets: ["a secret that only this scenario knows, for its one gateway"],
  limits: { stallTimeoutMs: PATIENCE_MS, pingIntervalMs: PATIENCE_MS },
  onError: (error, about) => console.error(`[gateway] ${about}: ${String(error)}`),
});

let peak = 0;
setInterval(() => (peak = Math.max(peak, server.stats().maxBufferedBytes)), LOOK_MS);
process.on("message", () => {
  tell({ peak });
  peak = 0;
});
tell({ url: await server.listen() });
