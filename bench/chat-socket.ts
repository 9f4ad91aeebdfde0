/**
 * `ChatSocket` is a client of one user for the fairness bench: it creates sessions, subscribes to them over one
 * WebSocket, sends messages and reports when their turns start, stream and end. It does not check what it receives.
 */
import { randomUUID } from "node:crypto";
import { signToken } from "@turnstream/server";
import { WebSocket } from "ws";

export interface ChatUser {
  readonly url: string;
  readonly tenant: string;
  readonly user: string;
  readonly secret: string;
}

/** When the events of a turn arrived, in milliseconds after its message was sent. */
export interface TurnTimes {
  /** The first event, `turn.start`. */
  readonly started: number;
  /** The first text of the answer; null if there was none. */
  readonly text: number | null;
  readonly ended: number;
}

interface PendingTurn {
  readonly sentAt: number;
  started: number;
  text: number | null;
  readonly resolve: (times: TurnTimes) => void;
  readonly reject: (error: Error) => void;
}

type Frame = Readonly<Record<string, string>>;

const TOKEN_MS = 3_600_000;
const TOKEN_SCOPES = ["read", "write"] as const;

async function signIn({ tenant, user, secret }: ChatUser): Promise<Record<string, string>> {
  const now = Date.now();
  const claims = { tenant, user, key: null, scopes: TOKEN_SCOPES, expiresAt: now + TOKEN_MS };
  return { authorization: `Bearer ${await signToken(claims, secret, now)}` };
}

export class ChatSocket {
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #socket: WebSocket;
  readonly #turns = new Map<string, PendingTurn>();
  readonly #replies = new Map<string, (frame: Frame) => void>();

  private constructor(url: string, headers: Readonly<Record<string, string>>) {
    this.#url = url;
    this.#headers = headers;
    this.#socket = new WebSocket(`${url.replace("http", "ws")}/api/v1/socket?dialect=native`, { headers });
    this.#socket.on("message", (data: Buffer) => this.#receive(JSON.parse(data.toString()) as Frame));
    this.#socket.on("error", (error) => this.#fail(error));
    this.#socket.on("close", (code) => this.#fail(new Error(`the socket was closed with ${code}`)));
  }

  static async open(user: ChatUser): Promise<ChatSocket> {
    const client = new ChatSocket(user.url, await signIn(user));
    await new Promise((resolve, reject) => {
      client.#socket.once("open", resolve);
      client.#socket.once("error", reject);
    });
    return client;
  }

  /** Creates a session and subscribes to it. */
  async createSession(): Promise<string> {
    const { session_id } = await this.post("/sessions", JSON.stringify({}), "application/json");
    await this.subscribe(String(session_id));
    return String(session_id);
  }

  async subscribe(session: string): Promise<void> {
    await this.#command({ type: "subscribe", session_id: session });
  }

  async post(path: string, body: string | Buffer<ArrayBuffer>, type: string): Promise<Frame> {
    const headers = { ...this.#headers, "content-type": type };
    const response = await fetch(`${this.#url}/api/v1${path}`, { method: "POST", headers, body });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as Frame;
  }

  /** Sends a message, and resolves when its turn has ended. */
  async ask(session: string, text: string, files: readonly string[] = []): Promise<TurnTimes> {
    const times = new Promise<TurnTimes>((resolve, reject) =>
      this.#turns.set(session, { sentAt: performance.now(), started: 0, text: null, resolve, reject }),
    );
    const urls = files.length === 0 ? {} : { content_urls: files };
    const message = { type: "send", session_id: session, client_message_id: randomUUID(), text, ...urls };
    await Promise.all([this.#command(message), times]);
    return times;
  }

  close(): void {
    this.#socket.removeAllListeners("close");
    this.#socket.terminate();
  }

  async #command(command: object): Promise<void> {
    const request_id = randomUUID();
    const reply = new Promise<Frame>((resolve) => this.#replies.set(request_id, resolve));
    this.#socket.send(JSON.stringify({ ...command, request_id }));
    const frame = await reply;
    if (frame["type"] === "error") throw new Error(`${frame["error"]}: ${frame["message"]}`);
  }

  #receive(frame: Frame): void {
    const { type, request_id, session_id } = frame;
    if (request_id !== undefined) {
      this.#replies.get(request_id)?.(frame);
      this.#replies.delete(request_id);
    }
    const turn = this.#turns.get(session_id ?? "");
    if (turn === undefined || session_id === undefined) return;
    const after = performance.now() - turn.sentAt;
    if (type === "turn.start") turn.started = after;
    if (type === "text.delta") turn.text ??= after;
    if (type !== "turn.end" || turn.started === 0) return;
    this.#turns.delete(session_id);
    turn.resolve({ started: turn.started, text: turn.text, ended: after });
  }

  #fail(error: Error): void {
    for (const { reject } of this.#turns.values()) reject(error);
    for (const resolve of this.#replies.values())
      resolve({ type: "error", error: "CLOSED", message: error.message });
    this.#turns.clear();
    this.#replies.clear();
  }
}
