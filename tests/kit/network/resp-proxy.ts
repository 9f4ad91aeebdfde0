/**
 * `startRespProxy` starts a proxy for Redis that keeps the connections of its clients while it moves to another server,
 * as the proxies of managed offerings do. It answers the commands in flight with an error, and subscribes again.
 *
 * Invariant: after a move, no byte of the old server reaches a client. A command is forwarded once.
 */
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { HOST } from "./free-port.ts";

export interface RespProxy {
  readonly url: string;
  /** Moves all connections to another server, without ending one. Resolves when all of them use it. */
  moveTo(port: number): Promise<void>;
  close(): Promise<void>;
}

export async function startRespProxy(port: number): Promise<RespProxy> {
  let target = port;
  const clients = new Set<ProxiedClient>();
  const server: Server = createServer((socket) => {
    const client = new ProxiedClient(socket, target);
    clients.add(client);
    socket.on("close", () => clients.delete(client));
  });
  server.listen(0, HOST);
  await once(server, "listening");
  return {
    url: `redis://${HOST}:${(server.address() as AddressInfo).port}`,
    async moveTo(next) {
      target = next;
      await Promise.all([...clients].map((client) => client.moveTo(next)));
    },
    async close() {
      const closed = once(server, "close");
      server.close();
      for (const client of clients) client.destroy();
      await closed;
    },
  };
}

const IN_FLIGHT_ERROR = "-ERR upstream failure\r\n";

class ProxiedClient {
  readonly #socket: Socket;
  #server: Socket;
  #fromClient = Buffer.alloc(0);
  #fromServer = Buffer.alloc(0);
  /** The first command of the client, which sets the version of the protocol and signs in. */
  #hello: Buffer | null = null;
  /** The command that subscribed to each channel. */
  readonly #subscriptions = new Map<string, Buffer>();
  /** How many replies the client waits for. */
  #inFlight = 0;
  /** How many replies to our own commands follow. They are dropped. */
  #own = 0;
  /** Called when the replies to our own commands have arrived. */
  #ready: (() => void) | null = null;
  #isMoving = false;

  constructor(socket: Socket, port: number) {
    this.#socket = socket;
    this.#server = this.#connect(port);
    socket.on("error", () => undefined);
    socket.on("close", () => this.#server.destroy());
    socket.on("data", (bytes) => {
      this.#fromClient = Buffer.concat([this.#fromClient, bytes]);
      this.#forward();
    });
  }

  async moveTo(port: number): Promise<void> {
    this.#isMoving = true;
    this.#server.destroy();
    this.#fromServer = Buffer.alloc(0);
    this.#socket.write(IN_FLIGHT_ERROR.repeat(this.#inFlight));
    this.#inFlight = 0;
    this.#server = this.#connect(port);
    const commands = [...(this.#hello === null ? [] : [this.#hello]), ...this.#subscriptions.values()];
    this.#own = commands.length;
    const ready = commands.length === 0 ? undefined : new Promise<void>((resolve) => (this.#ready = resolve));
    for (const command of commands) this.#server.write(command);
    await ready;
    this.#isMoving = false;
    this.#forward();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #connect(port: number): Socket {
    const server = connect(port, HOST);
    server.on("error", () => undefined);
    server.on("close", () => this.#server === server && this.#socket.destroy());
    server.on("data", (bytes) => {
      if (this.#server !== server) return;
      this.#fromServer = Buffer.concat([this.#fromServer, bytes]);
      this.#takeReplies();
    });
    return server;
  }

  /** Forwards whole commands, so that no command is split between two servers. */
  #forward(): void {
    for (;;) {
      if (this.#isMoving) return;
      const end = endOfValue(this.#fromClient, 0);
      if (end < 0) return;
      const command = this.#fromClient.subarray(0, end);
      this.#fromClient = this.#fromClient.subarray(end);
      this.#note(command);
      this.#server.write(command);
    }
  }

  #note(command: Buffer): void {
    const [given = "", ...args] = readCommand(command);
    const name = given.toUpperCase();
    if (name === "HELLO") this.#hello ??= Buffer.from(command);
    // These are answered with pushes only.
    if (name === "SSUBSCRIBE" || name === "SUBSCRIBE")
      for (const channel of args) this.#subscriptions.set(channel, formatCommand(name, channel));
    else if (name === "SUNSUBSCRIBE" || name === "UNSUBSCRIBE")
      for (const channel of args) this.#subscriptions.delete(channel);
    else this.#inFlight++;
  }

  #takeReplies(): void {
    for (;;) {
      const end = endOfValue(this.#fromServer, 0);
      if (end < 0) return;
      const reply = this.#fromServer.subarray(0, end);
      this.#fromServer = this.#fromServer.subarray(end);
      if (this.#own > 0) {
        this.#own--;
        if (this.#own === 0) this.#ready?.();
        continue;
      }
      if (reply[0] !== PUSH) this.#inFlight--;
      this.#socket.write(reply);
    }
  }
}

const PUSH = ">".charCodeAt(0);

/** Returns the index after the RESP value that starts at `start`, or -1 if it is not complete. */
function endOfValue(bytes: Buffer, start: number): number {
  const line = bytes.indexOf("\r\n", start);
  if (line < 0) return -1;
  const type = String.fromCharCode(bytes[start] ?? 0);
  const count = Number(bytes.toString("latin1", start + 1, line));
  if ("$!=".includes(type)) {
    const end = count < 0 ? line + 2 : line + 2 + count + 2;
    return end <= bytes.length ? end : -1;
  }
  if (!"*~>%|".includes(type)) return line + 2;
  let end = line + 2;
  for (let n = 0; n < count * ("%|".includes(type) ? 2 : 1); n++) {
    end = endOfValue(bytes, end);
    if (end < 0) return -1;
  }
  return end;
}

function readCommand(command: Buffer): string[] {
  const parts = command.toString("latin1").split("\r\n");
  // Every second line is the length of the next one.
  return parts.filter((_, n) => n > 0 && n % 2 === 0);
}

function formatCommand(...args: readonly string[]): Buffer {
  const parts = args.map((arg) => `$${Buffer.byteLength(arg, "latin1")}\r\n${arg}\r\n`);
  return Buffer.from(`*${args.length}\r\n${parts.join("")}`, "latin1");
}
