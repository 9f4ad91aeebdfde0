/**
 * A reader of one session that keeps everything it is given. When it is told that its position is not good any
 * more it reads the log anew and attaches again, as a client would. Never guesses: what it missed silently stays missing.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Cursor } from "@turnstream/protocol";
import { readLog } from "@turnstream/testkit/backend/read-all-events.ts";
import type { LogEntry } from "@turnstream/server/internal";
import { type FollowEndReason, isLogError, type Log } from "@turnstream/server/ports";

export class Watcher {
  /** What it was given since `settle`, also of timelines that are lost by now. */
  given: LogEntry[] = [];
  /** What it takes the log to be. */
  view: LogEntry[] = [];
  /** Why it had to begin anew, since `settle`. */
  ends: FollowEndReason[] = [];
  readonly #log: Log;
  readonly #session: string;
  readonly #stopped = new AbortController();
  readonly #done: Promise<void>;
  #base: Cursor;

  constructor(log: Log, session: string, after: Cursor) {
    this.#log = log;
    this.#session = session;
    this.#base = after;
    this.#done = this.#follow();
  }

  /** What was compared needs no second look. */
  settle(checked: Cursor): void {
    this.#base = checked;
    [this.given, this.view, this.ends] = [[], [], []];
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#done;
  }

  async #follow(): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      const after = this.view.at(-1)?.cursor ?? this.#base;
      for await (const delivery of this.#log.attach(this.#session, { after, signal })) {
        if (delivery.type === "entries") {
          this.given.push(...delivery.entries);
          this.view.push(...delivery.entries);
        } else {
          this.ends.push(delivery.reason);
          await this.#resync(signal);
        }
      }
    }
  }

  async #resync(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        const entries = await readLog(this.#log, this.#session, this.#base);
        if (entries !== null) {
          this.view = entries;
          this.given.push(...entries);
          return;
        }
      } catch (error) {
        if (!isLogError(error, "UNAVAILABLE")) throw error;
      }
      await sleep(10);
    }
  }
}
