/**
 * `RenderedState` passes the messages of a connection to the plain client of its dialect. It applies the rules of
 * PROTOCOL.md and DIALECTS.md for connects and reconnects. Does not open connections.
 */
import { BlocksClient } from "./blocks-client.ts";
import { NativeClient } from "./native-client.ts";
import { SseReader } from "./sse-reader.ts";
import { TasksClient } from "./tasks-client.ts";

export type Frame = Record<string, unknown> & { readonly type: string };

/** What the server reports about this connection when it starts. */
export interface ConnectionStart {
  readonly resumed: boolean;
  readonly reason: string;
}

interface Fold {
  cursor: string | null;
  readonly problems: string[];
  handle(frame: Frame): void;
  display(): unknown;
}

export type ClientDialect = "blocks" | "tasks" | "native" | "responses";

export class RenderedState {
  readonly name: ClientDialect;
  /** The frames of all connections, in order of arrival. */
  readonly frames: Frame[] = [];
  readonly starts: ConnectionStart[] = [];
  #fold: Fold;
  /** The problems of clients that were replaced by a restart. */
  readonly #earlier: string[] = [];

  constructor(name: ClientDialect) {
    this.name = name;
    this.#fold = createFold(name);
  }

  get cursor(): string | null {
    return this.#fold.cursor;
  }

  get problems(): string[] {
    return [...this.#earlier, ...this.#fold.problems];
  }

  display(): unknown {
    return this.#fold.display();
  }

  /** Loads history before the first connect. Only `blocks` has it. */
  load(history: Parameters<BlocksClient["load"]>[0]): void {
    if (this.#fold instanceof BlocksClient) this.#fold.load(history);
  }

  handle(frame: Frame): void {
    if (frame.type === "subscribed") this.#begin(frame as unknown as ConnectionStart);
    else if (!NOTICES.has(frame.type)) {
      this.frames.push(frame);
      this.#fold.handle(frame);
    }
  }

  #begin({ resumed, reason }: ConnectionStart): void {
    this.starts.push({ resumed, reason });
    // `responses` has no restart: its clients continue, and the final text is correct.
    if (resumed || this.name === "responses") return;
    this.#earlier.push(...this.#fold.problems);
    this.#fold = createFold(this.name);
  }
}

/** What a socket reports about a session beside its events. */
const NOTICES = new Set(["resuming", "no_worker"]);

export const DONE = "[DONE]";

function createFold(name: ClientDialect): Fold {
  if (name === "blocks") return new BlocksClient();
  if (name === "tasks") return new TasksClient();
  return name === "native" ? new NativeClient() : new ResponsesFold();
}

/** Feeds the SSE reader of `responses`, which expects text. */
class ResponsesFold implements Fold {
  readonly #reader = new SseReader();

  get cursor(): string | null {
    return this.#reader.cursor;
  }

  get problems(): string[] {
    return this.#reader.problems;
  }

  handle({ event_id, ...frame }: Frame): void {
    const id = typeof event_id === "string" ? `id: ${event_id}\n` : "";
    const data = frame.type === DONE ? DONE : JSON.stringify(frame);
    this.#reader.push(`${id}data: ${data}\n\n`);
  }

  /** Includes the streamed text. Otherwise the final text, which replaces it, would hide repeated text. */
  display(): unknown {
    return { ...(this.#reader.display() as object), streamed: this.#reader.output };
  }
}
