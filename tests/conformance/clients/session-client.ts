/**
 * `SessionClient` follows one session over a real connection and renders what it receives. `connect` resumes with the
 * last cursor. It never reconnects by itself, so that tests decide when.
 */
import { type Endpoint, type Connection, type ConnectionEnd, openEvents, openSocket } from "./connections.ts";
import { type Frame, RenderedState, type ClientDialect } from "./rendered-state.ts";

export interface SessionClientOptions {
  readonly session: string;
  readonly dialect: ClientDialect;
  readonly wire: "socket" | "sse";
  /** Called right after a frame has been received and handled. */
  readonly onFrame?: (frame: Frame, client: SessionClient) => void;
  /** Called when the connection ends without `cut`. */
  readonly onEnd?: (end: ConnectionEnd, client: SessionClient) => void;
}

export class SessionClient {
  readonly options: SessionClientOptions;
  readonly rendered: RenderedState;
  /** How the last connection ended; null while it is open. */
  end: ConnectionEnd | null = null;
  connects = 0;
  /** Frames of the session since the last connect. */
  fresh = 0;
  readonly #replies = new Map<string, (reply: Frame) => void>();
  readonly #waiting = new Set<() => void>();
  #line: Connection | null = null;
  #requests = 0;

  constructor(options: SessionClientOptions) {
    this.options = options;
    this.rendered = new RenderedState(options.dialect);
  }

  /** @param after the cursor to resume after, null for none. By default the last cursor. */
  connect(endpoint: Endpoint, after: string | null = this.rendered.cursor): this {
    this.#line?.cut();
    this.connects++;
    this.fresh = 0;
    this.end = null;
    const { session, dialect, wire } = this.options;
    const open = wire === "socket" ? openSocket : openEvents;
    this.#line = open(
      endpoint,
      { session, dialect, after },
      {
        onFrame: (frame) => this.#take(frame),
        onEnd: (end) => {
          this.end = end;
          this.options.onEnd?.(end, this);
          this.#wake();
        },
      },
    );
    return this;
  }

  /** Drops the connection without a close, like a network failure. */
  cut(): void {
    this.#line?.cut();
    this.end = { type: "cut" };
    this.#wake();
  }

  /** Sends a command over the socket and returns its reply. */
  command(command: Frame, timeoutMs = 40_000): Promise<Frame> {
    const request_id = `r${++this.#requests}`;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`no reply to ${command.type}`)), timeoutMs);
      this.#replies.set(request_id, (reply) => {
        clearTimeout(timer);
        resolve(reply);
      });
      this.#line?.send({ ...command, request_id, session_id: this.options.session });
    });
  }

  /** Waits until `isSo` returns true. Checks after each frame and when the connection ends. */
  async until(about: string, isSo: () => boolean, timeoutMs = 40_000): Promise<void> {
    if (isSo()) return;
    await new Promise<void>((resolve, reject) => {
      const look = (): void => {
        if (!isSo()) return;
        clearTimeout(timer);
        this.#waiting.delete(look);
        resolve();
      };
      const timer = setTimeout(() => {
        this.#waiting.delete(look);
        reject(new Error(`${this.name}: not ${about} within ${timeoutMs} ms: ${this.#state()}`));
      }, timeoutMs);
      this.#waiting.add(look);
    });
  }

  get name(): string {
    return `${this.options.dialect} over ${this.options.wire}`;
  }

  #state(): string {
    const { cursor, starts, frames, problems } = this.rendered;
    const last = frames.at(-1)?.type;
    return JSON.stringify({ cursor, starts, frames: frames.length, last, problems, end: this.end });
  }

  #take(frame: Frame): void {
    const request = frame["request_id"];
    const reply = typeof request === "string" ? this.#replies.get(request) : undefined;
    if (reply !== undefined) {
      this.#replies.delete(request as string);
      reply(frame);
    } else {
      if (frame.type !== "subscribed") this.fresh++;
      this.rendered.handle(frame);
    }
    this.options.onFrame?.(frame, this);
    this.#wake();
  }

  #wake(): void {
    for (const look of this.#waiting) look();
  }
}
