/**
 * `Watcher` reads one session and stores everything that it receives. When its position is no longer valid, it reads
 * the log again and reattaches, as a client would.
 *
 * Invariant: it never fills a gap by itself, so that a silent loss stays visible.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Cursor } from "@turnstream/protocol";
import { readLog } from "@turnstream/testkit/backend/read-all-events.ts";
import type { SessionRef } from "@turnstream/server";
import type { LogEntry } from "@turnstream/server/internal";
import { type FollowEndReason, isLogError, type Log } from "@turnstream/server/ports";

export class Watcher {
  /** Entries received since `settle`, including entries of lost timelines. */
  given: LogEntry[] = [];
  /** The log as this reader knows it. */
  view: LogEntry[] = [];
  /** Reasons for each resync since `settle`. */
  ends: FollowEndReason[] = [];
  readonly #log: Log;
  readonly #ref: SessionRef;
  readonly #stopped = new AbortController();
  readonly #done: Promise<void>;
  #base: Cursor;

  constructor(log: Log, ref: SessionRef, after: Cursor) {
    this.#log = log;
    this.#ref = ref;
    this.#base = after;
    this.#done = this.#follow();
  }

  /** Drops everything that was compared. */
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
      for await (const delivery of this.#log.attach(this.#ref, { after, signal })) {
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
        const entries = await readLog(this.#log, this.#ref, this.#base);
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
