/** Whether the PostgreSQL and Redis that the environment names can be worked with. Changes nothing in them. */
import {
  createRedisLog,
  describeConnectionError,
  isDatabaseUrl,
  isRedisUrl,
  openDatabase,
  createPostgresStore,
} from "@turnstream/server";
import { isLogError, isStoreError } from "@turnstream/server/ports";
import { StartError } from "./supervise.ts";

/** Nothing has this name: only whether there is an answer. */
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
    return "DATABASE_URL is no address of a database, such as postgres://user@host/name.";
  const store = createPostgresStore(openDatabase({ url, max: 1 }));
  try {
    await store.tenants.get(NOTHING);
    return null;
  } catch (error) {
    // One without tables does: they are made next.
    return isStoreError(error, "UNAVAILABLE") ? `DATABASE_URL: ${describeConnectionError(error, url)}` : null;
  } finally {
    await store.close();
  }
}

async function problemOfRedis(url: string): Promise<string | null> {
  if (!isRedisUrl(url)) return "REDIS_URL is no address of Redis, such as redis://host:6379.";
  const log = await createRedisLog({ url });
  try {
    await log.head(NOTHING);
    return null;
  } catch (error) {
    if (!isLogError(error)) throw error;
    return `REDIS_URL: Redis at ${new URL(url).host} can't be reached, or doesn't let you in. Start it, or correct the address.`;
  } finally {
    await log.close();
  }
}
