/**
 * `TurnFollower` reads one session from its start or from a state, folds and checks every event, and tracks which worker owns the
 * running turn. Listeners are called synchronously for each entry. Does not read the archive.
 */
import { setTimeout as sleep } from "node:timers/promises";
import {
  type Cursor,
  emptyState,
  fold,
  formatCursor,
  SCHEMA_VERSION,
  type SessionEvent,
  type SessionState,
  type Turn,
} from "@turnstream/protocol";
import { checkEvent } from "@turnstream/protocol/writer";
import { type Backend, readHistory, type SessionRef } from "@turnstream/server";
import type { LogEntry } from "@turnstream/server/internal";
import { until } from "@turnstream/testkit/util/until.ts";

export type Listener = (entry: LogEntry, follower: TurnFollower) => void;

export class TurnFollower {
  readonly ref: SessionRef;
  readonly illegal: string[] = [];
  readonly listeners = new Set<Listener>();
  state: SessionState;
  /** The name of the worker process that owns the current epoch. */
  owner: string | null = null;
  takeovers = 0;
  readonly #backend: Backend;
  readonly #stopped = new AbortController();
  readonly #done: Promise<void>;
  readonly #onStop: () => void;
  #last: Cursor;

  constructor(backend: Backend, ref: SessionRef, onStop: () => void, from: SessionState = emptyState) {
    this.#backend = backend;
    this.ref = ref;
    this.state = from;
    this.#last = formatCursor(from);
    this.#onStop = onStop;
    this.#done = this.#follow();
  }

  /** The position of the last entry that it has read. */
  get cursor(): Cursor {
    return this.#last;
  }

  /** The running turn, or undefined. */
  get running(): Turn | undefined {
    const turn = this.state.turns.last();
    return turn?.status === "running" ? turn : undefined;
  }

  /** Waits until the turn of a message has ended. */
  async untilEnded(message: string, timeoutMs = 90_000): Promise<Turn> {
    const find = () => this.state.turns.toArray().findLast((turn) => turn.message?.id === message);
    const isOver = () => (find()?.status ?? "running") !== "running";
    await until(`the turn of ${message} in ${this.ref.session} to end`, isOver, { timeoutMs });
    return find() as Turn;
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#done;
    this.#onStop();
  }

  async #follow(): Promise<void> {
    const { signal } = this.#stopped;
    const readFloor = async () => (await this.#backend.store.archive.header(this.ref)).archived;
    while (!signal.aborted) {
      for await (const delivery of this.#backend.log.attach(this.ref, {
        after: this.#last,
        readFloor,
        signal,
      })) {
        if (delivery.type === "end") await this.#reload().catch(() => undefined);
        else for (const entry of delivery.entries) this.#take(entry);
      }
      if (!signal.aborted) await sleep(10);
    }
  }

  async #reload(): Promise<void> {
    const { state, cursor } = await readHistory(this.#backend, this.ref);
    this.state = state;
    this.#last = cursor;
  }

  #take(entry: LogEntry): void {
    const { event } = entry;
    this.illegal.push(...describeIllegal(this.ref, this.state, event));
    this.state = fold(this.state, event);
    this.#last = entry.cursor;
    if (event.type === "turn.start" || event.type === "turn.takeover") {
      this.owner = entry.writer.slice(0, entry.writer.lastIndexOf("."));
    }
    if (event.type === "turn.takeover") this.takeovers++;
    for (const listener of this.listeners) listener(entry, this);
  }
}

/** @returns why the event breaks a rule. This version can't judge events that a newer one wrote. */
export function describeIllegal({ session }: SessionRef, state: SessionState, event: SessionEvent): string[] {
  const wrong = event.v > SCHEMA_VERSION ? null : checkEvent(state, event);
  return wrong === null ? [] : [`${session}: ${wrong.rule} ${wrong.message}: ${JSON.stringify(event)}`];
}
