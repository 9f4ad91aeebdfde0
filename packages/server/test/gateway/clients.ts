/** Plain clients for connection tests: a WebSocket and an event stream that record everything they receive. */
import type { Socket } from "node:net";
import { createSseParser, type SseMessage } from "@turnstream/protocol";
import { WebSocket } from "ws";
import type { TestServer } from "./test-server.ts";

// oxlint-disable-next-line typescript/no-explicit-any -- tests inspect arbitrary frames
type Frame = Record<string, any>;

const TIMEOUT_MS = 60_000;

async function poll<T>(
  what: string | (() => string),
  look: () => T | undefined,
  timeoutMs = TIMEOUT_MS,
): Promise<T> {
  const late = AbortSignal.timeout(timeoutMs);
  for (;;) {
    const found = look();
    if (found !== undefined) return found;
    if (late.aborted)
      throw new Error(`not within ${timeoutMs} ms: ${typeof what === "string" ? what : what()}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

export class SocketClient {
  readonly socket: WebSocket;
  readonly frames: Frame[] = [];
  end: { readonly code: number; readonly reason: string } | null = null;
  #requests = 0;
  #stream: Socket | null = null;

  private constructor(socket: WebSocket) {
    this.socket = socket;
    socket.once("upgrade", (response) => (this.#stream = response.socket));
    socket.on("message", (data: Buffer) => this.frames.push(JSON.parse(data.toString()) as Frame));
    socket.on("close", (code, reason) => (this.end = { code, reason: String(reason) }));
    socket.on("error", () => undefined);
  }

  /** @param at another address than the server's own, such as a proxy's */
  static async open(
    { url, auth }: Pick<TestServer, "url" | "auth">,
    {
      dialect = "blocks",
      at = url,
      perMessageDeflate = true,
    }: { dialect?: string; at?: string; perMessageDeflate?: boolean } = {},
  ): Promise<SocketClient> {
    const address = `${at.replace("http", "ws")}/api/v1/socket?dialect=${dialect}`;
    return SocketClient.of(new WebSocket(address, { headers: { ...auth }, perMessageDeflate }));
  }

  static async of(socket: WebSocket): Promise<SocketClient> {
    const client = new SocketClient(socket);
    await poll("open", () => (client.socket.readyState === WebSocket.CONNECTING ? undefined : true));
    return client;
  }

  /** Bytes received so far, as they were on the wire. */
  get bytesRead(): number {
    return this.#stream?.bytesRead ?? 0;
  }

  /** @returns the reply to it */
  async request(command: Frame): Promise<Frame> {
    const request_id = `r${++this.#requests}`;
    this.socket.send(JSON.stringify({ ...command, request_id }));
    return this.until(`reply to ${command["type"]}`, (frame) => frame["request_id"] === request_id);
  }

  until(what: string, test: (frame: Frame) => boolean, from = 0): Promise<Frame> {
    return poll(what, () => this.frames.slice(from).find(test));
  }

  closed(timeoutMs?: number): Promise<{ readonly code: number; readonly reason: string }> {
    return poll("closed", () => this.end ?? undefined, timeoutMs);
  }

  close(): void {
    this.socket.terminate();
  }
}

export class StreamClient {
  readonly response: Response;
  readonly messages: SseMessage[] = [];
  readonly comments: string[] = [];
  readonly retries: number[] = [];
  text = "";
  isOver = false;
  readonly #leave: AbortController;

  private constructor(response: Response, leave: AbortController) {
    this.response = response;
    this.#leave = leave;
    void this.#read();
  }

  static async open(url: string, init: RequestInit = {}): Promise<StreamClient> {
    const leave = new AbortController();
    return new StreamClient(await fetch(url, { ...init, signal: leave.signal }), leave);
  }

  static of(response: Response): StreamClient {
    return new StreamClient(response, new AbortController());
  }

  /** The content of `data:` lines, if it is JSON. */
  get frames(): Frame[] {
    return this.messages.filter(({ data }) => data !== "[DONE]").map(({ data }) => JSON.parse(data) as Frame);
  }

  until(what: string, test: (message: SseMessage) => boolean): Promise<SseMessage> {
    return poll(what, () => this.messages.find(test));
  }

  frame(type: string): Promise<Frame> {
    return poll(type, () => this.frames.find((frame) => frame["type"] === type));
  }

  ended(timeoutMs?: number): Promise<true> {
    return poll(
      () => `over: ${this.text.slice(-500)}`,
      () => (this.isOver ? true : undefined),
      timeoutMs,
    );
  }

  disconnect(): void {
    this.#leave.abort();
  }

  async #read(): Promise<void> {
    const decoder = new TextDecoder();
    const parser = createSseParser((message) => this.messages.push(message), {
      onComment: (text) => this.comments.push(text),
      onRetry: (ms) => this.retries.push(ms),
    });
    try {
      for await (const bytes of this.response.body ?? []) {
        const text = decoder.decode(bytes as Uint8Array, { stream: true });
        this.text += text;
        parser.push(text);
      }
    } catch {
      // The client disconnected or was cut off.
    }
    this.isOver = true;
  }
}
