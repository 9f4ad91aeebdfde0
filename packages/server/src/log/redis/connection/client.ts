/**
 * `createConnectionClient` configures the Redis client for one connection.
 *
 * Invariant: the client has no offline queue and never reconnects. `connection.ts` relies on both: a command must never
 * be sent again on another connection. Commands have no timeout of their own; the health check detects a dead server.
 */
import { createClient } from "@redis/client";
import type { OutageMonitor } from "./outage-monitor.ts";

export interface ConnectionOptions {
  readonly url: string;
  /** How long a server may take to answer before the connection counts as lost. */
  readonly responseTimeoutMs: number;
  /** Learns whether the server is durable. */
  readonly outages?: OutageMonitor;
}

export type RedisClient = ReturnType<typeof createConnectionClient>;

export function createConnectionClient({ url, responseTimeoutMs }: ConnectionOptions) {
  return createClient({
    url,
    RESP: 3,
    disableOfflineQueue: true,
    // A timer per command costs more than the command. The health check detects a dead server.
    commandOptions: { timeout: 0 },
    maintNotifications: "disabled",
    socket: { reconnectStrategy: false, connectTimeout: responseTimeoutMs },
  });
}
