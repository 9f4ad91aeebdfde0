/**
 * Begins turns: when a message came, when a turn has ended and another message waits, and when somebody who should have
 * done so died. Several workers may try at once; the store lets one of them. Never runs a turn itself.
 */
import type { Engine } from "../../engine/engine.ts";
import type { SessionRef } from "../../store/refs.ts";
import { jobId } from "../attempt/job-id.ts";
import type { RuntimeContext } from "../attempt/context.ts";

/** Messages and turns younger than that are left to those who are at it. */
const LEFT_MS = 2_000;
const BATCH = 100;

export class TurnDispatcher {
  readonly #parts: Pick<RuntimeContext, "store" | "env" | "onError">;
  readonly #engine: Pick<Engine, "start">;
  readonly #beginning = new Set<Promise<unknown>>();
  #isOver = false;

  constructor(parts: Pick<RuntimeContext, "store" | "env" | "onError">, engine: Pick<Engine, "start">) {
    this.#parts = parts;
    this.#engine = engine;
  }

  /** Begins the session's next turn, if it has one to begin. */
  async begin(ref: SessionRef): Promise<boolean> {
    const { store, env } = this.#parts;
    const begun = await store.running.begin(ref, { turn: env.id() });
    const row = begun ?? (await store.running.get(ref));
    // Somebody began it and may have died before the engine knew.
    if (row === null || (begun === null && row.attempts > 0)) return false;
    return this.#engine.start(jobId(row));
  }

  /** What nobody told us of. */
  async sweep(): Promise<void> {
    const { store } = this.#parts;
    const query = { olderThanMs: LEFT_MS, limit: BATCH };
    for (const ref of await store.running.startable(query)) await this.begin(ref);
    for (const row of await store.running.unattempted(query)) await this.#engine.start(jobId(row));
  }

  /** The same, for those who only tell: what goes wrong is found by the next sweep. */
  startNextInBackground(ref: SessionRef): void {
    if (this.#isOver) return;
    const begun = this.begin(ref)
      .catch((error: unknown) => {
        // Whoever leaves takes nothing up any more; others find it.
        if (!this.#isOver) this.#parts.onError(error, `the next turn of ${ref.session}`);
      })
      .finally(() => this.#beginning.delete(begun));
    this.#beginning.add(begun);
  }

  /** Nothing is begun from now on, and the store is not used any more once this is done. */
  async close(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#beginning);
  }
}
