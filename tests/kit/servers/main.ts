/**
 * `npm run services` starts one Redis and one PostgreSQL on fixed ports, until Ctrl-C. With `--data` their data stay for
 * the next start.
 *
 * Invariant: it does not touch servers that already run, and no server of it outlives it.
 */
import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";

import { isFree } from "../network/free-port.ts";
import { findPostgres, findRedis } from "./find-binary.ts";
import { ServiceError } from "./service-error.ts";
import { startPostgres } from "./start-postgres.ts";
import { startRedisCluster } from "./start-redis-cluster.ts";
import { startRedis } from "./start-redis.ts";

/** Not the usual ports, on which servers that are installed as packages often run already. */
const POSTGRES_PORT = 5433;
const REDIS_PORT = 6380;

const HELP = `npm run services -- [options]

Starts PostgreSQL and Redis on 127.0.0.1, prints the variables to export, and stops both on Ctrl-C.

  --data DIR           keeps the data in this folder, for the next start (default: deleted at the end)
  --postgres-port N    port of PostgreSQL (default: ${POSTGRES_PORT})
  --redis-port N       port of Redis (default: ${REDIS_PORT})
  --cluster            a Redis Cluster of three nodes on free ports instead of one Redis; its data are deleted
  --help               this text

Examples:
  npm run services
  npm run services -- --data .services
  npm run services -- --postgres-port 15432 --redis-port 16379
  npm run services -- --cluster
  redis-cli -u "$REDIS_URL" ping         after pasting the lines of the output
  psql "$DATABASE_URL"`;

interface Options {
  /** The folder of the data; null if they are deleted at the end. */
  readonly data: string | null;
  readonly postgresPort: number;
  readonly redisPort: number;
  readonly isCluster: boolean;
  readonly help: boolean;
}

interface Started {
  readonly variable: readonly [name: string, value: string];
  stop(): Promise<void>;
}

const folderOf = ({ data }: Options, name: string) => (data === null ? {} : { folder: join(data, name) });

async function startLog(options: Options): Promise<Started> {
  if (options.isCluster) {
    const cluster = await startRedisCluster();
    const urls = cluster.rootNodes.map(({ url }) => url);
    return { variable: ["REDIS_CLUSTER_URLS", urls.join(",")], stop: () => cluster.stop() };
  }
  const redis = await startRedis({ port: options.redisPort, ...folderOf(options, "redis") });
  return { variable: ["REDIS_URL", redis.url], stop: () => redis.stop() };
}

async function startDatabase(options: Options): Promise<Started> {
  const postgres = await startPostgres({ port: options.postgresPort, ...folderOf(options, "postgres") });
  return { variable: ["DATABASE_URL", postgres.url], stop: () => postgres.stop() };
}

async function checkPort(port: number, option: string, server: string): Promise<void> {
  if (await isFree(port)) return;
  throw new ServiceError(
    "start_failed",
    `Port ${port} is in use. Choose another one for ${server}: ${option} N`,
  );
}

/** Signs tokens. It stays the same for the same data, so that pages stay signed in. */
function readSecret({ data }: Options): string {
  if (data === null) return randomBytes(32).toString("hex");
  mkdirSync(data, { recursive: true });
  const file = join(data, "secret");
  try {
    writeFileSync(file, randomBytes(32).toString("hex"), { flag: "wx", mode: 0o600 });
  } catch (error) {
    const isThere = error instanceof Error && "code" in error && error.code === "EEXIST";
    if (!isThere) throw error;
  }
  return readFileSync(file, "utf8");
}

async function untilSignal(): Promise<void> {
  // Signal handlers alone don't keep the process alive.
  const stay = setInterval(() => undefined, 2 ** 30);
  await new Promise<void>((done) => {
    for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, () => done());
  });
  clearInterval(stay);
}

/** If one server fails to start, the other one is stopped in order, because its data may stay. */
async function startAll(options: Options): Promise<Started[]> {
  const results = await Promise.allSettled([startLog(options), startDatabase(options)]);
  const started = results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
  const failed = results.find((result) => result.status === "rejected");
  if (failed === undefined) return started;
  await Promise.all(started.map((server) => server.stop()));
  throw failed.reason;
}

async function run(options: Options): Promise<void> {
  // Fails before anything is started.
  findRedis();
  findPostgres();
  await checkPort(options.postgresPort, "--postgres-port", "PostgreSQL");
  if (!options.isCluster) await checkPort(options.redisPort, "--redis-port", "Redis");
  const secret = readSecret(options);
  const signal = untilSignal();
  const started = await startAll(options);
  const variables = [...started.map(({ variable }) => variable), ["TURNSTREAM_SECRET", secret]];
  for (const [name, value] of variables) console.log(`export ${name}=${value}`);
  const { data } = options;
  console.log(
    `Ready. Ctrl-C stops them${data === null ? " and deletes their data" : `. Their data stay in ${data}`}.`,
  );
  await signal;
  await Promise.all(started.map((server) => server.stop()));
}

function readPort(text: string | undefined, option: string, otherwise: number): number {
  const port = text === undefined ? otherwise : Number(text);
  if (Number.isInteger(port) && port >= 1 && port <= 65_535) return port;
  throw new TypeError(`${option} must be a number from 1 to 65535, got "${text}".`);
}

/** Returns null after it has printed what is wrong. */
function readOptions(): Options | null {
  try {
    const { values } = parseArgs({
      options: {
        data: { type: "string" },
        "postgres-port": { type: "string" },
        "redis-port": { type: "string" },
        cluster: { type: "boolean" },
        help: { type: "boolean" },
      },
    });
    return {
      data: values.data === undefined ? null : resolve(values.data),
      postgresPort: readPort(values["postgres-port"], "--postgres-port", POSTGRES_PORT),
      redisPort: readPort(values["redis-port"], "--redis-port", REDIS_PORT),
      isCluster: values.cluster ?? false,
      help: values.help ?? false,
    };
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n`);
    return null;
  }
}

const options = readOptions();
if (options === null || options.help) {
  console.log(HELP);
  process.exitCode = options === null ? 2 : 0;
} else {
  try {
    await run(options);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    console.error(error.message);
    if (error.code === "binary_missing")
      console.error("Or start both servers with Docker: docker compose up --wait");
    process.exitCode = 1;
  }
}
