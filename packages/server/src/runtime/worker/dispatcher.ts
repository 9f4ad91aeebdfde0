/**
 * Begins turns: when a message came, when a turn has ended and another message waits, and when somebody who should have
 * done so died. Several workers may try at once; the store lets one of them. Never runs a turn itself.
 */
import type { Engine } from "../../engine/engine.ts";
import type { SessionRef } from "../../store/refs.ts";
import { jobId } from "../attempt/job-id.ts";
import type { RuntimeContext } from "../attempt/context.ts";

/** Messages and turns younger than that are left to those who are at it. */
const MIN_AGE_MS = 2_000;
const BATCH = 100;

export class TurnDispatcher {
  readonly #context: Pick<RuntimeContext, "store" | "env" | "onError">;
  readonly #engine: Pick<Engine, "start">;
  readonly #starting = new Set<Promise<unknown>>();
  #isClosed = false;

  constructor(context: Pick<RuntimeContext, "store" | "env" | "onError">, engine: Pick<Engine, "start">) {
    this.#context = context;
    this.#engine = engine;
  }

  /** Starts the next turn of the session, if a message waits. */
  async startNext(ref: SessionRef): Promise<boolean> {
    const { store, env } = this.#context;
    const started = await store.running.begin(ref, { turn: env.id() });
    const row = started ?? (await store.running.get(ref));
    // Somebody began it and may have died before the engine knew.
    if (row === null || (started === null && row.attempts > 0)) return false;
    return this.#engine.start(jobId(row));
  }

  /** Starts turns whose signal was lost. */
  async poll(): Promise<void> {
    const { store } = this.#context;
    const query = { olderThanMs: MIN_AGE_MS, limit: BATCH };
    for (const ref of await store.running.startable(query)) await this.startNext(ref);
    for (const row of await store.running.unattempted(query)) await this.#engine.start(jobId(row));
  }

  /** The same, for those who only tell: what goes wrong is found by the next sweep. */
  startNextInBackground(ref: SessionRef): void {
    if (this.#isClosed) return;
    const started = this.startNext(ref)
      .catch((error: unknown) => {
        // Whoever leaves takes nothing up any more; others find it.
        if (!this.#isClosed) this.#context.onError(error, { during: `the next turn of ${ref.session}` });
      })
      .finally(() => this.#starting.delete(started));
    this.#starting.add(started);
  }

  /** Nothing is begun from now on, and the store is not used any more once this is done. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#starting);
  }
}
