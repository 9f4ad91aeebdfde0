/**
 * A Redis primary and its replica, with a proxy on each link, for failovers. The replica follows the primary
 * through `link`; clients that use `url` reach the primary through `front`. Never fails over by itself.
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
  /** Between clients and the primary; after `promote`, retarget it to the replica. */
  readonly front: TcpProxy;
  /** Of `front`. */
  readonly url: string;
  /** After a heal or a restart: answers once the replica follows the primary again. */
  waitForLink(): Promise<void>;
  /** Makes the replica a primary. The old one is not told, as in a partition. */
  promote(): Promise<void>;
  stop(): Promise<void>;
}

/** After the first copy a replica writes its file anew; until then kill -9 would lose everything. */
async function isUpToDate(replica: RedisServer): Promise<boolean> {
  const info = String(await replica.command("INFO"));
  return info.includes("master_link_status:up") && info.includes("aof_rewrite_in_progress:0");
}

export async function startRedisPair(options: Omit<RedisOptions, "port"> = {}): Promise<RedisPair> {
  const config = {
    // The default waits five seconds for more replicas before the first one is served.
    "repl-diskless-sync-delay": "0",
    // The default waits ten seconds for a replica that may be cut off.
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
