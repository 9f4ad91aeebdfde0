/**
 * `RawClient` is a client with almost no cost: a TCP socket with just enough HTTP and WebSocket to connect. It counts
 * bytes and marks without parsing. Does not check what it receives; tests do that.
 */
import { connect, type Socket } from "node:net";

/** Occurs once in every event that a bench waits for, and nowhere else. */
export const MARK = "@@";

const AT = MARK.charCodeAt(0);
const HEAD_END = "\r\n\r\n";

export interface RawClientOptions {
  readonly port: number;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly wire: "socket" | "sse";
  /** The first message of a socket. */
  readonly first?: string;
}

/** Called with the number of new marks. */
type OnMarks = (more: number, client: RawClient) => void;

export class RawClient {
  /** Bytes received after the response head. */
  bytes = 0;
  marks = 0;
  /** Resolves when the first bytes after the head have arrived. */
  readonly ready: Promise<void>;
  readonly #socket: Socket;
  readonly #onMarks: OnMarks;
  #head: string | null = "";
  #endsInHalf = false;
  #isLeaving = false;
  #settle: { resolve(): void; reject(error: Error): void } | null = null;

  constructor(options: RawClientOptions, onMarks: OnMarks = () => undefined) {
    this.#onMarks = onMarks;
    this.ready = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    this.#socket = connect({ port: options.port, host: "127.0.0.1", noDelay: true });
    this.#socket.write(requestOf(options));
    this.#socket.on("data", (chunk) => this.#take(chunk, options));
    this.#socket.on("error", (error) => this.#fail(error));
    this.#socket.on("close", () =>
      this.#fail(new Error(`the server closed the connection to ${options.path}`)),
    );
  }

  close(): void {
    this.#isLeaving = true;
    this.#socket.destroy();
  }

  /** Stops reading, as a suspended tab does. */
  pause(): void {
    this.#socket.pause();
  }

  #take(chunk: Buffer, options: RawClientOptions): void {
    if (this.#head !== null) {
      this.#head += chunk.toString("latin1");
      const end = this.#head.indexOf(HEAD_END);
      if (end < 0) return;
      if (!/^HTTP\/1\.1 (101|200) /.test(this.#head)) return this.#fail(new Error(this.#head));
      const rest = Buffer.from(this.#head.slice(end + HEAD_END.length), "latin1");
      this.#head = null;
      if (options.first !== undefined) this.#socket.write(clientFrame(options.first));
      if (rest.length > 0) this.#count(rest);
      return;
    }
    this.#count(chunk);
  }

  #count(chunk: Buffer): void {
    this.bytes += chunk.length;
    let marks = this.#endsInHalf && chunk[0] === AT ? 1 : 0;
    let at = chunk.indexOf(MARK, marks);
    let after = marks;
    while (at >= 0) {
      marks++;
      after = at + MARK.length;
      at = chunk.indexOf(MARK, after);
    }
    this.#endsInHalf = after < chunk.length && chunk.at(-1) === AT;
    if (this.#settle !== null) {
      this.#settle.resolve();
      this.#settle = null;
    }
    if (marks === 0) return;
    this.marks += marks;
    this.#onMarks(marks, this);
  }

  #fail(error: Error): void {
    if (this.#isLeaving) return;
    this.#isLeaving = true;
    this.#socket.destroy();
    if (this.#settle === null) throw error;
    this.#settle.reject(error);
  }
}

function requestOf({ path, headers, wire }: RawClientOptions): string {
  const upgrade = {
    connection: "Upgrade",
    upgrade: "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
  };
  const all = {
    host: "localhost",
    ...(wire === "socket" ? upgrade : { accept: "text/event-stream" }),
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `GET ${path} HTTP/1.1\r\n${lines.join("")}\r\n`;
}

/** Uses a mask of zeros, which leaves the payload unchanged. */
function clientFrame(text: string): Buffer {
  const payload = Buffer.from(text);
  const isShort = payload.length < 126;
  const head = Buffer.alloc(isShort ? 6 : 8);
  head[0] = 0x81;
  head[1] = 0x80 | (isShort ? payload.length : 126);
  if (!isShort) head.writeUInt16BE(payload.length, 2);
  return Buffer.concat([head, payload]);
}
