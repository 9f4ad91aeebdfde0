/**
 * `startRedisPair` starts a Redis primary and its replica for failovers, with a proxy on each link. The replica follows
 * the primary through `link`. Clients that use `url` reach the primary through `front`. Does not fail over by itself.
 */
import { until } from "../util/until.ts";
import { startProxy, type TcpProxy } from "../network/tcp-proxy.ts";
import { HOST } from "../network/free-port.ts";
import { type RedisOptions, type RedisServer, startRedis } from "./start-redis.ts";

export interface RedisPair {
  readonly primary: RedisServer;
  readonly replica: RedisServer;
  /** Between the replica and the primary. */
  readonly link: TcpProxy;
  /** Between clients and the primary. After `promote`, retarget it to the replica. */
  readonly front: TcpProxy;
  /** The URL of `front`. */
  readonly url: string;
  /** Resolves when the replica follows the primary again, after a heal or a restart. */
  waitForLink(): Promise<void>;
  /** Makes the replica a primary. The old primary doesn't notice, as in a partition. */
  promote(): Promise<void>;
  stop(): Promise<void>;
}

/** After the first copy a replica rewrites its file. Until then kill -9 would lose everything. */
async function isUpToDate(replica: RedisServer): Promise<boolean> {
  const info = String(await replica.command("INFO"));
  return info.includes("master_link_status:up") && info.includes("aof_rewrite_in_progress:0");
}

export async function startRedisPair(options: Omit<RedisOptions, "port"> = {}): Promise<RedisPair> {
  const config = {
    // By default the primary waits five seconds for more replicas before it serves the first one.
    "repl-diskless-sync-delay": "0",
    // By default the server waits ten seconds for a replica that may be cut off.
    "shutdown-timeout": "0",
    ...options.config,
  };
  const primary = await startRedis({ ...options, config });
  const to = { host: HOST, port: primary.port };
  const [link, front] = await Promise.all([startProxy({ to }), startProxy({ to })]);
  const replica = await startRedis({
    ...options,
    config: { ...config, replicaof: `${HOST} ${link.port}` },
  });

  async function waitForLink(): Promise<void> {
    await until("the replica to follow the primary", async () => await isUpToDate(replica));
  }

  await waitForLink();
  return {
    primary,
    replica,
    link,
    front,
    url: `redis://${HOST}:${front.port}`,
    waitForLink,
    async promote() {
      await replica.command("REPLICAOF", "NO", "ONE");
    },
    async stop() {
      await Promise.all([replica.stop(), primary.stop()]);
      await Promise.all([link.close(), front.close()]);
    },
  };
}

async function readOffset(server: RedisServer, field: string): Promise<number> {
  const info = String(await server.command("INFO", "replication"));
  return Number(new RegExp(`${field}:(\\d+)`).exec(info)?.[1] ?? 0);
}

/** Waits until the replica has everything that the primary has acknowledged before this call. */
export async function untilReplicated(primary: RedisServer, replica: RedisServer): Promise<void> {
  const wanted = await readOffset(primary, "master_repl_offset");
  await until(
    "the replica to have all entries",
    async () => (await readOffset(replica, "slave_repl_offset")) >= wanted,
  );
}

/** Makes an old primary the replica of the one that was promoted, over the same link. */
export async function replicate(
  { link }: RedisPair,
  primary: RedisServer,
  replica: RedisServer,
): Promise<void> {
  link.retarget({ host: HOST, port: primary.port });
  await link.heal();
  await replica.command("REPLICAOF", HOST, link.port);
  await until("the old primary to follow the new one", () => isUpToDate(replica));
}
