/** `checkServers` checks that the PostgreSQL and Redis of the environment variables can be reached. Read-only. */
import {
  createRedisLog,
  describeConnectionError,
  isDatabaseUrl,
  openDatabase,
  createPostgresStore,
} from "@turnstream/server";
import { isLogError, isRedisUrl, isStoreError } from "@turnstream/server/ports";
import { StartError } from "./supervise.ts";

/** No session has this name: the check needs only an answer. */
const NOTHING = "check";

export async function checkServers(env: Readonly<Record<string, string | undefined>>): Promise<void> {
  const { DATABASE_URL: database = "", REDIS_URL: redis = "" } = env;
  const problems = await Promise.all([
    database === "" ? null : problemOfDatabase(database),
    redis === "" ? null : problemOfRedis(redis),
  ]);
  const messages = problems.filter((problem) => problem !== null);
  if (messages.length > 0) throw new StartError(messages.join("\n"));
}

async function problemOfDatabase(url: string): Promise<string | null> {
  if (!isDatabaseUrl(url))
    return "DATABASE_URL is no address of a PostgreSQL database. Expected a URL such as postgres://user@host/name.";
  const store = createPostgresStore(openDatabase({ url, max: 1 }));
  try {
    await store.tenants.get(NOTHING);
    return null;
  } catch (error) {
    // A database without tables is fine: they are created next.
    return isStoreError(error, "UNAVAILABLE") ? `DATABASE_URL: ${describeConnectionError(error, url)}` : null;
  } finally {
    await store.close();
  }
}

async function problemOfRedis(url: string): Promise<string | null> {
  if (!isRedisUrl(url))
    return "REDIS_URL is no address of a Redis server. Expected a URL such as redis://host:6379.";
  const log = await createRedisLog({ url });
  try {
    await log.head(NOTHING);
    return null;
  } catch (error) {
    if (!isLogError(error)) throw error;
    return `REDIS_URL: Redis at ${new URL(url).host} can't be reached, or refuses the login. Start it, or correct the URL.`;
  } finally {
    await log.close();
  }
}
