/**
 * `TurnDispatcher` begins turns in the store and starts their engine jobs: for new messages, after a turn ended, and
 * for turns without a job. It does not run turns.
 *
 * Invariant: several workers may do this at the same time. `running.begin` gives a session at most one running turn.
 * For that turn, several workers may call `engine.start`; the job id lets only one start it.
 */
import type { Engine } from "../../engine/engine.ts";
import type { SessionRef } from "../../store/refs.ts";
import { jobId } from "../attempt/job-id.ts";
import type { RuntimeContext } from "../attempt/context.ts";

/** `poll` ignores younger messages and turns, because their signal may still be on its way. */
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

  /** Starts the next turn of the session if a message waits. Returns false if there is nothing to start. */
  async startNext(ref: SessionRef): Promise<boolean> {
    const { store, env } = this.#context;
    const started = await store.running.begin(ref, { turn: env.id() });
    const row = started ?? (await store.running.get(ref));
    // Another worker created the turn, but may have died before it started the engine's job.
    if (row === null || (started === null && row.attempts > 0)) return false;
    return this.#engine.start(jobId(row));
  }

  async poll(): Promise<void> {
    const { store } = this.#context;
    const query = { olderThanMs: MIN_AGE_MS, limit: BATCH };
    for (const ref of await store.running.startable(query)) await this.startNext(ref);
    for (const row of await store.running.unattempted(query)) await this.#engine.start(jobId(row));
  }

  /** Starts the next turn without waiting. After a failure, the next `poll` finds the turn. */
  startNextInBackground(ref: SessionRef): void {
    if (this.#isClosed) return;
    const started = this.startNext(ref)
      .catch((error: unknown) => {
        // A failure during shutdown is expected: other workers find the turn.
        if (!this.#isClosed) this.#context.onError(error, { during: `the next turn of ${ref.session}` });
      })
      .finally(() => this.#starting.delete(started));
    this.#starting.add(started);
  }

  /** Starts nothing more. When it resolves, this dispatcher no longer uses the store. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#starting);
  }
}
