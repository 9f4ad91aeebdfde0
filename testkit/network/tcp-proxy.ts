/**
 * A TCP proxy of our own, for the faults that a network has and that stopping a process doesn't show: links
 * that are cut, slow, silent, or cut between a request and its answer. Never reads or changes what passes.
 */
import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";

import { freePort, HOST } from "./free-port.ts";
import { type Connection, type Direction, type Faults, joinSockets } from "./proxy-connection.ts";

interface Address {
  host: string;
  port: number;
}

interface ProxyCounters {
  /** Open now. */
  open: number;
  /** Since the start. */
  accepted: number;
  /** By `cutAfter`, since the start. */
  cutMidway: number;
  /** Passed on, since the start. */
  bytes: Readonly<Record<Direction, number>>;
}

export interface TcpProxy {
  readonly host: string;
  readonly port: number;
  counters(): ProxyCounters;
  /** Resets all connections and refuses new ones until `heal`. */
  cut(): void;
  /** Resets the present connections; new ones are accepted. */
  cutConnections(): void;
  /** From now on each piece arrives this much later, in each direction; 0 ends it. */
  delay(ms: number): void;
  /**
   * Until `heal`: connections stay and new ones open, but nothing arrives, in one direction or (if left out)
   * both, not even that the other side has gone. A real partition.
   */
  blackhole(direction?: Direction): void;
  /**
   * Once: lets exactly `bytes` more bytes through in a direction, over all connections, and cuts the one that
   * carried the last of them; with 0 the one that would carry the next. So a request can be delivered and its
   * answer lost: `cutAfter(0, "toClient")`.
   */
  cutAfter(bytes: number, direction: Direction): void;
  /** Ends every fault. What a blackhole swallowed stays lost, so the connections that lost something are reset. */
  heal(): Promise<void>;
  /** For new connections, as in a failover; `cutConnections` makes the present ones follow. */
  retarget(to: Address): void;
  close(): Promise<void>;
}

export interface ProxyOptions {
  to: Address;
  /** Default: a free one. */
  port?: number;
}

const BOTH: readonly Direction[] = ["toServer", "toClient"];

export async function startProxy(options: ProxyOptions): Promise<TcpProxy> {
  const port = options.port ?? (await freePort());
  const connections = new Set<Connection>();
  const bytes = { toServer: 0, toClient: 0 };
  const blackholed = new Set<Direction>();
  const cutAfter = new Map<Direction, number>();
  let { to } = options;
  let accepted = 0;
  let cutMidway = 0;
  let delayMs = 0;
  let listener: Server | undefined;

  const faults: Faults = {
    get delayMs() {
      return delayMs;
    },
    isBlackholed: (direction) => blackholed.has(direction),
    take(direction, size) {
      const left = cutAfter.get(direction);
      const pass = Math.min(size, left ?? size);
      bytes[direction] += pass;
      if (left === undefined) return { pass, cut: false };
      const isLast = pass === left;
      if (isLast) {
        cutAfter.delete(direction);
        cutMidway += 1;
      } else {
        cutAfter.set(direction, left - pass);
      }
      return { pass, cut: isLast };
    },
  };

  function accept(client: Socket): void {
    accepted += 1;
    const server = connect({ ...to, allowHalfOpen: true });
    const connection = joinSockets(client, server, faults, () => connections.delete(connection));
    connections.add(connection);
  }

  async function listen(): Promise<void> {
    if (listener) return;
    listener = createServer({ allowHalfOpen: true }, accept);
    listener.listen({ host: HOST, port, exclusive: true });
    await once(listener, "listening");
  }

  function cutConnections(): void {
    for (const connection of connections) connection.destroy();
  }

  /** The system takes no more connections from here on; `close` only waits for those that there are. */
  function cut(): void {
    listener?.close();
    listener = undefined;
    cutConnections();
  }

  await listen();
  return {
    host: HOST,
    port,
    counters: () => ({ open: connections.size, accepted, cutMidway, bytes: { ...bytes } }),
    cut,
    cutConnections,
    delay(ms) {
      delayMs = ms;
    },
    blackhole(direction) {
      for (const each of direction ? [direction] : BOTH) blackholed.add(each);
    },
    cutAfter(count, direction) {
      cutAfter.set(direction, count);
    },
    async heal() {
      blackholed.clear();
      cutAfter.clear();
      delayMs = 0;
      for (const connection of connections) if (connection.hasHole) connection.destroy();
      await listen();
    },
    retarget(address) {
      to = address;
    },
    async close() {
      const closed = listener && once(listener, "close");
      cut();
      await closed;
    },
  };
}
