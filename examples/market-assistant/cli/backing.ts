/**
 * `startBacking` uses the PostgreSQL and Redis of the environment variables, or starts new ones that stop with this
 * process.
 */
import { startPostgres } from "@turnstream/testkit/servers/start-postgres.ts";
import { startRedis } from "@turnstream/testkit/servers/start-redis.ts";

export interface Backing {
  readonly databaseUrl: string;
  readonly redisUrl: string;
  stop(): Promise<void>;
}

type Environment = Readonly<Record<string, string | undefined>>;
type Part = { readonly url: string; stop(): Promise<void> };

const yours = (url: string): Part => ({ url, stop: async () => undefined });

export async function startBacking(env: Environment, print: (line: string) => void): Promise<Backing> {
  const { DATABASE_URL: database = "", REDIS_URL: redis = "" } = env;
  const start = async (name: string, given: string, own: () => Promise<Part>): Promise<Part> => {
    if (given !== "") {
      print(`${name}  yours`);
      return yours(given);
    }
    const part = await own();
    print(`${name}  started (${part.url})`);
    return part;
  };
  const began = await Promise.allSettled([
    start("PostgreSQL", database, startPostgres),
    start("Redis     ", redis, startRedis),
  ]);
  const parts = began.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  const stop = async () => void (await Promise.all(parts.map((part) => part.stop())));
  const failed = began.find((one) => one.status === "rejected");
  if (failed !== undefined) {
    await stop();
    throw failed.reason;
  }
  const [postgres, log] = parts as [Part, Part];
  return { databaseUrl: postgres.url, redisUrl: log.url, stop };
}
