/**
 * `openBaselineServer` is the minimal server that the gateway is compared with, in three variants. It uses the same
 * Redis subscriptions and forwards the last bytes of each message without parsing them. It has no sessions, positions
 * or authentication.
 */
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { createClient } from "@redis/client";
import { WebSocketServer } from "ws";

export type BaselineKind = "ws" | "corked" | "sse";

/** How many bytes of a message are forwarded: the approximate size of one event on the wire. */
const FRAME_BYTES = 200;
const READY = "ready";

type Viewers<T> = ReadonlyMap<string, Set<T>>;

interface Bare {
  readonly server: Server;
  /** Forwards a message of Redis. */
  onMessage(session: string, text: string): void;
}

/** Starts a server. Clients name their session in the query. @returns its port */
export async function openBaselineServer(
  kind: BaselineKind,
  redisUrl: string,
  prefix: string,
): Promise<number> {
  const subscriberClient = createClient({ url: redisUrl, RESP: 3, commandOptions: { timeout: 0 } });
  await subscriberClient.connect();
  const wanted = new Map<string, Promise<unknown>>();
  const subscribe = (session: string): Promise<unknown> => {
    const asked =
      wanted.get(session) ??
      subscriberClient.sSubscribe(`${prefix}:{${session}}`, (message) =>
        bare.onMessage(session, message.slice(-FRAME_BYTES)),
      );
    wanted.set(session, asked);
    return asked;
  };
  const bare: Bare = { ws: bareSockets, corked: corkedSockets, sse: bareStreams }[kind](subscribe);
  await new Promise<void>((resolve) =>
    bare.server.listen({ port: 0, host: "127.0.0.1", backlog: 4096 }, resolve),
  );
  return (bare.server.address() as AddressInfo).port;
}

type Subscribe = (session: string) => Promise<unknown>;

/** Plain `ws.send` of bytes that are built once. */
function bareSockets(subscribe: Subscribe): Bare {
  const viewers = new Map<string, Set<{ send(data: Buffer, options: { binary: boolean }): void }>>();
  const sockets = new WebSocketServer({ noServer: true, clientTracking: false });
  const server = createServer();
  server.on("upgrade", (request, socket, head) => {
    sockets.handleUpgrade(request, socket, head, (ws) => {
      const session = sessionOf(request.url);
      ws.on("close", add(viewers, session, ws));
      void subscribe(session).then(() => ws.send(READY));
    });
  });
  return {
    server,
    onMessage(session, text) {
      const bytes = Buffer.from(text);
      for (const ws of of(viewers, session)) ws.send(bytes, { binary: false });
    },
  };
}

/** One frame for all subscribers, written to sockets that stay corked until all frames of one tick are written. */
function corkedSockets(subscribe: Subscribe): Bare {
  const viewers = new Map<string, Set<Socket>>();
  const sockets = new WebSocketServer({ noServer: true, clientTracking: false });
  const server = createServer();
  const corked = new Set<Socket>();
  const uncork = () => {
    for (const socket of corked) socket.uncork();
    corked.clear();
  };
  const write = (socket: Socket, frame: Buffer) => {
    if (!corked.has(socket)) {
      if (corked.size === 0) process.nextTick(uncork);
      corked.add(socket);
      socket.cork();
    }
    socket.write(frame);
  };
  server.on("upgrade", (request, duplex, head) => {
    const socket = duplex as Socket;
    sockets.handleUpgrade(request, socket, head, (ws) => {
      const session = sessionOf(request.url);
      ws.on("close", add(viewers, session, socket));
      void subscribe(session).then(() => ws.send(READY));
    });
  });
  return {
    server,
    onMessage(session, text) {
      const frame = frameOf(text);
      for (const socket of of(viewers, session)) write(socket, frame);
    },
  };
}

/** `res.write` of one Buffer. `http` corks by itself. */
function bareStreams(subscribe: Subscribe): Bare {
  const viewers = new Map<string, Set<ServerResponse>>();
  const server = createServer((request, response) => {
    const session = sessionOf(request.url);
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
    response.on("close", add(viewers, session, response));
    void subscribe(session).then(() => response.write(`: ${READY}\n\n`));
  });
  return {
    server,
    onMessage(session, text) {
      const bytes = Buffer.from(`data: ${text}\n\n`);
      for (const response of of(viewers, session)) response.write(bytes);
    },
  };
}

function sessionOf(url: string | undefined): string {
  return new URL(url ?? "/", "http://localhost").searchParams.get("session") ?? "";
}

/** @returns a function that removes the client */
function add<T>(viewers: Map<string, Set<T>>, session: string, client: T): () => void {
  const there = viewers.get(session) ?? new Set();
  viewers.set(session, there.add(client));
  return () => there.delete(client);
}

function of<T>(viewers: Viewers<T>, session: string): Iterable<T> {
  return viewers.get(session) ?? [];
}

function frameOf(text: string): Buffer {
  const payload = Buffer.from(text);
  const head = payload.length < 126 ? 2 : 4;
  const frame = Buffer.allocUnsafe(head + payload.length);
  frame[0] = 0x81;
  frame[1] = head === 2 ? payload.length : 126;
  if (head === 4) frame.writeUInt16BE(payload.length, 2);
  payload.copy(frame, head);
  return frame;
}
