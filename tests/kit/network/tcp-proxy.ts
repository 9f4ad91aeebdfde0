/**
 * `startProxy` starts a TCP proxy that simulates network faults which stopping a process can't show: connections that
 * are cut, slow, silent, or cut between a request and its answer. Does not read or change the forwarded bytes.
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
  /** Connections that are open now. */
  open: number;
  /** Connections since the start. */
  accepted: number;
  /** Connections cut by `cutAfter` since the start. */
  cutMidway: number;
  /** Bytes forwarded since the start. */
  bytes: Readonly<Record<Direction, number>>;
}

export interface TcpProxy {
  readonly host: string;
  readonly port: number;
  counters(): ProxyCounters;
  /** Resets all connections and refuses new ones until `heal`. */
  cut(): void;
  /** Resets the present connections. New ones are accepted. */
  cutConnections(): void;
  /** Delays each chunk by this time, in both directions. 0 ends it. */
  delay(ms: number): void;
  /**
   * Simulates a partition until `heal`: connections stay open and new ones are accepted, but no bytes arrive, in one
   * direction or (by default) both. Not even a disconnect is visible to the other side.
   */
  blackhole(direction?: Direction): void;
  /**
   * Keeps the bytes of all present connections back, in both directions, while new connections work. A side may close
   * its socket meanwhile: its bytes still arrive, as those that the kernel sends again after a partition.
   * @returns a function that delivers what was kept, and the ends that followed
   */
  hold(): () => void;
  /**
   * Lets exactly `bytes` more bytes through in one direction, over all connections, and cuts the connection that
   * carried the last of them. With 0 it cuts the connection that would carry the next byte. It applies once.
   * `cutAfter(0, "toClient")` delivers a request and loses its answer.
   */
  cutAfter(bytes: number, direction: Direction): void;
  /** Ends every fault. Bytes dropped by a blackhole stay lost, so the connections that lost bytes are reset. */
  heal(): Promise<void>;
  /** Connects new clients to another server, as in a failover. `cutConnections` makes the present ones follow. */
  retarget(to: Address): void;
  close(): Promise<void>;
}

export interface ProxyOptions {
  to: Address;
  /** The address to listen on. @default 127.0.0.1 */
  host?: string;
  /** @default a free port */
  port?: number;
}

const BOTH: readonly Direction[] = ["toServer", "toClient"];

export async function startProxy(options: ProxyOptions): Promise<TcpProxy> {
  const { host = HOST } = options;
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
    listener.listen({ host, port, exclusive: true });
    await once(listener, "listening");
  }

  function cutConnections(): void {
    for (const connection of connections) connection.destroy();
  }

  /** Closing the listener refuses new connections immediately; `close` only waits for existing ones. */
  function cut(): void {
    listener?.close();
    listener = undefined;
    cutConnections();
  }

  await listen();
  return {
    host,
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
    hold() {
      const held = [...connections];
      for (const connection of held) connection.hold();
      return () => {
        for (const connection of held) connection.release();
      };
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
