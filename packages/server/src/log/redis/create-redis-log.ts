/**
 * `createRedisLog` creates the log on Redis (or Valkey) 7 or later: one server, or the primaries of a Redis Cluster.
 *
 * Invariant: it refuses a Redis that deletes logs when its memory is full. For a server that can't be reached it waits
 * a moment only, and reports that later. With a list it waits for the slot map of the cluster. The log reconnects by
 * itself. After every reconnect the readers re-read the log, because notifications may be lost.
 */
import type { Log } from "../log.ts";
import { validateUrls } from "./connection/address.ts";
import { RedisEngine } from "./engine.ts";
import { OutageMonitor } from "./connection/outage-monitor.ts";
import { openCluster } from "./topology/cluster.ts";
import { singleServer, type TopologySettings } from "./topology/topology.ts";
import { sleep } from "../../util/sleep.ts";
import { createStreamLog, type StreamLogOptions } from "../stream-log.ts";

export interface RedisLogOptions extends StreamLogOptions {
  /** One URL for a single server. A list for a cluster: any of its servers. */
  readonly url: string | readonly string[];
  /** Prefix of all keys. @default "ts" */
  readonly keyPrefix?: string;
  /**
   * How often each server is checked: whether it is alive, is the same one, has its data and accepts writes. All
   * processes together check a server once per one to two intervals.
   * @default 400
   */
  readonly healthCheckMs?: number;
  /** How long a server may take to answer before its connection counts as lost. @default 3_000 */
  readonly responseTimeoutMs?: number;
  /** How long a command or subscription waits for a connection before it fails with UNAVAILABLE. @default 5_000 */
  readonly connectionWaitMs?: number;
}

/** How long the start waits for the first connections. */
const MAX_START_MS = 2_000;

/**
 * @throws TypeError if `url` is not a Redis URL or a list of them
 * @throws LogError with EVICTS if the `maxmemory-policy` of Redis is not `noeviction`
 */
export async function createRedisLog(options: RedisLogOptions): Promise<Log> {
  validateUrls(options.url);
  const settings: TopologySettings = {
    keyPrefix: options.keyPrefix ?? "ts",
    healthCheckMs: options.healthCheckMs ?? 400,
    responseTimeoutMs: options.responseTimeoutMs ?? 3_000,
    connectionWaitMs: options.connectionWaitMs ?? 5_000,
    outages: new OutageMonitor(() => performance.now()),
  };
  const servers =
    typeof options.url === "string"
      ? singleServer(options.url, settings)
      : await openCluster(options.url, settings);
  await Promise.race([servers.connected(), sleep(MAX_START_MS, { unref: true })]);
  const { eviction } = settings.outages;
  if (eviction !== null) {
    await servers.close();
    throw eviction;
  }
  return createStreamLog(new RedisEngine(servers, settings), options);
}
