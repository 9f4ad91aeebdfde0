/**
 * `connectWithSocket` connects a client of Redis and returns its socket, and `readRedisRoute` the addresses of the
 * connection as the socket and as Redis see them. They differ if something in between opens connections of its own, such
 * as a proxy, or changes addresses.
 *
 * Invariant: a service that doesn't show the addresses has no route. That is not a difference.
 */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { Socket } from "node:net";
import { formatAddress, type RedisClient } from "@turnstream/server/internal";

/** Each such as "10.0.0.1:50000 to 10.0.0.2:6379". */
export interface RedisRoute {
  readonly socket: string;
  readonly redis: string;
}

const CHANNEL = "net.client.socket";

export async function connectWithSocket(client: RedisClient): Promise<Socket | null> {
  let socket: Socket | null = null;
  const onSocket = (message: unknown): void => {
    ({ socket } = message as { socket: Socket });
  };
  // The client doesn't show its socket. It creates it before `connect` returns, so no other socket is seen here.
  subscribe(CHANNEL, onSocket);
  const connected = client.connect();
  unsubscribe(CHANNEL, onSocket);
  await connected;
  return socket;
}

export async function readRedisRoute(client: RedisClient, socket: Socket | null): Promise<RedisRoute | null> {
  const info = await client.sendCommand<string>(["CLIENT", "INFO"]).catch(() => "");
  const [, from] = / addr=(\S+)/.exec(info) ?? [];
  const [, to] = / laddr=(\S+)/.exec(info) ?? [];
  if (socket === null || from === undefined || to === undefined) return null;
  const { localAddress = "", localPort = 0, remoteAddress = "", remotePort = 0 } = socket;
  return {
    socket: `${formatAddress(localAddress, localPort)} to ${formatAddress(remoteAddress, remotePort)}`,
    redis: `${from} to ${to}`,
  };
}
