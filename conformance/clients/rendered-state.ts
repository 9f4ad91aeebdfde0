/**
 * `RenderedState` passes the messages of a connection to the plain client of its dialect. It applies the rules of
 * PROTOCOL.md and DIALECTS.md for connects and reconnects. Does not open connections.
 */
import { BlocksClient } from "./blocks-client.ts";
import { NativeClient } from "./native-client.ts";
import { SseReader } from "./sse-reader.ts";
import { TasksClient } from "./tasks-client.ts";

export type Frame = Record<string, unknown> & { readonly type: string };

/** Said by the server of this connection, and not of the session. */
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
  /** Of all connections, in the order in which they came. */
  readonly frames: Frame[] = [];
  readonly starts: ConnectionStart[] = [];
  #fold: Fold;
  /** What clients had to complain about before they were told to begin anew. */
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

  /** Of `blocks`: history, before the first connect. */
  load(history: Parameters<BlocksClient["load"]>[0]): void {
    if (this.#fold instanceof BlocksClient) this.#fold.load(history);
  }

  handle(frame: Frame): void {
    if (frame.type === "subscribed") this.#begin(frame as unknown as ConnectionStart);
    else {
      this.frames.push(frame);
      this.#fold.handle(frame);
    }
  }

  #begin({ resumed, reason }: ConnectionStart): void {
    this.starts.push({ resumed, reason });
    // 002 knows no such thing: its clients go on, and the final text is right.
    if (resumed || this.name === "responses") return;
    this.#earlier.push(...this.#fold.problems);
    this.#fold = createFold(this.name);
  }
}

export const DONE = "[DONE]";

function createFold(name: ClientDialect): Fold {
  if (name === "blocks") return new BlocksClient();
  if (name === "tasks") return new TasksClient();
  return name === "native" ? new NativeClient() : new ResponsesFold();
}

/** The reader of 002 takes text. */
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

  /** Also the text before the final text took its place, so that no repeated text can hide behind that. */
  display(): unknown {
    return { ...(this.#reader.display() as object), streamed: this.#reader.output };
  }
}
