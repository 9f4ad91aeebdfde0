/**
 * The log on Redis (or Valkey), version 7 or later: one server, or the primaries of a Redis Cluster.
 * Reconnects by itself; after any reconnect it reads again instead of trusting.
 */
import type { Log } from "../log.ts";
import { validateUrls } from "./connection/address.ts";
import { RedisEngine } from "./engine.ts";
import { OutageMonitor } from "./connection/outage-monitor.ts";
import { openCluster, singleServer, type TopologySettings } from "./topology/open-topology.ts";
import { createStreamLog, type StreamLogOptions } from "../stream-log.ts";

export interface RedisLogOptions extends StreamLogOptions {
  /** One URL for one server; several for a cluster, any of its servers. */
  readonly url: string | readonly string[];
  readonly username?: string;
  readonly password?: string;
  /** Begins the name of every key. */
  readonly keyPrefix?: string;
  readonly healthCheckMs?: number;
  readonly responseTimeoutMs?: number;
  readonly connectionWaitMs?: number;
  readonly reconnectDelayMs?: number;
}

/** @throws TypeError when `url` is no address of Redis */
export async function createRedisLog(options: RedisLogOptions): Promise<Log> {
  validateUrls(options.url);
  const settings: TopologySettings = {
    username: options.username,
    password: options.password,
    keyPrefix: options.keyPrefix ?? "ts",
    healthCheckMs: options.healthCheckMs ?? 400,
    responseTimeoutMs: options.responseTimeoutMs ?? 3_000,
    connectionWaitMs: options.connectionWaitMs ?? 5_000,
    reconnectDelayMs: options.reconnectDelayMs ?? 50,
    outages: new OutageMonitor(() => performance.now()),
  };
  const servers =
    typeof options.url === "string"
      ? singleServer(options.url, settings)
      : await openCluster(options.url, settings);
  return createStreamLog(new RedisEngine(servers, settings), options);
}
