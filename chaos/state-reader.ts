/**
 * `StateReader` reads a whole session: history first, then the log, folded and checked event by event. When its
 * position is no longer valid, it loads the history again. Read-only.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { type Cursor, emptyState, fold, formatCursor, type SessionState } from "@turnstream/protocol";
import { checkEvent } from "@turnstream/protocol/writer";
import { type Backend, readHistory, type SessionRef } from "@turnstream/server";
import { type FollowEndReason, isLogError } from "@turnstream/server/ports";

export class StateReader {
  state: SessionState = emptyState;
  /** Events that break a rule at their position. */
  illegal = 0;
  readonly ends: { reason: FollowEndReason; at: number }[] = [];
  readonly #backend: Backend;
  readonly #ref: SessionRef;
  readonly #stopped = new AbortController();
  readonly #done: Promise<void>;

  constructor(backend: Backend, ref: SessionRef) {
    this.#backend = backend;
    this.#ref = ref;
    this.#done = this.#follow();
  }

  get cursor(): Cursor {
    return formatCursor(this.state);
  }

  /** @returns true if the reader reaches the cursor within `ms` */
  async reaches(cursor: Cursor, ms = 30_000): Promise<boolean> {
    const deadline = performance.now() + ms;
    while (this.cursor !== cursor && performance.now() < deadline) await sleep(5);
    return this.cursor === cursor;
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#done;
  }

  async #follow(): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      try {
        const { state, cursor, archivedUpTo } = await readHistory(this.#backend, this.#ref);
        this.state = state;
        await this.#attach(cursor, archivedUpTo, signal);
      } catch (error) {
        if (!isLogError(error, "UNAVAILABLE")) throw error;
        await sleep(10);
      }
    }
  }

  async #attach(after: Cursor, floor: Cursor, signal: AbortSignal): Promise<void> {
    for await (const delivery of this.#backend.log.attach(this.#ref, {
      after,
      readFloor: async () => floor,
      signal,
    })) {
      if (delivery.type === "end") {
        this.ends.push({ reason: delivery.reason, at: performance.now() });
        return;
      }
      for (const { event } of delivery.entries) {
        if (checkEvent(this.state, event) !== null) this.illegal++;
        this.state = fold(this.state, event);
      }
    }
  }
}
