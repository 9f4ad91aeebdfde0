/**
 * `TurnDispatcher` begins turns in the store and starts their engine jobs: for new messages, after a turn ended, and
 * for turns without a job. Tenants take turns for the few starts at a time. It does not run turns.
 *
 * Invariant: several workers may do this at the same time. `running.begin` gives a session at most one running turn.
 * For that turn, several workers may call `engine.start`; the job id lets only one start it.
 */
import type { Engine } from "../../engine/engine.ts";
import type { SessionRef } from "../../util/refs.ts";
import { FairSemaphore } from "../../util/fair-semaphore.ts";
import { runAs } from "../../util/work-owner.ts";
import { jobId } from "../attempt/job-id.ts";
import type { RuntimeContext } from "../attempt/context.ts";

/** `poll` ignores younger messages and turns, because their signal may still be on its way. */
const MIN_AGE_MS = 2_000;
const BATCH = 100;
/** Starts at the same time. A start takes milliseconds, and the engine has few connections for it. */
const MAX_STARTS = 8;

export class TurnDispatcher {
  readonly #context: Pick<RuntimeContext, "store" | "env" | "onError">;
  readonly #engine: Pick<Engine, "start">;
  readonly #starting = new Set<Promise<unknown>>();
  readonly #slots = new FairSemaphore(MAX_STARTS);
  /** Sessions whose start waits for a slot. It finds all messages, so a session waits once. */
  readonly #waiting = new Set<string>();
  readonly #closed = new AbortController();

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
  }

  /** Starts the next turn without waiting. After a failure, the next `poll` finds the turn. */
  startNextInBackground(ref: SessionRef): void {
    const { signal } = this.#closed;
    const { tenant, session } = ref;
    const key = `${tenant} ${session}`;
    if (signal.aborted || this.#waiting.has(key)) return;
    this.#waiting.add(key);
    const owner = { tenant, user: "" };
    const started = this.#slots
      .run(owner, signal, () => {
        this.#waiting.delete(key);
        return runAs(owner, () => this.startNext(ref));
      })
      .catch((error: unknown) => {
        // A failure during shutdown is expected: other workers find the turn.
        if (!signal.aborted) this.#context.onError(error, { during: `the next turn of ${session}` });
      })
      .finally(() => this.#starting.delete(started));
    this.#starting.add(started);
  }

  /** Starts nothing more. When it resolves, this dispatcher no longer uses the store. */
  async close(): Promise<void> {
    this.#closed.abort();
    await Promise.all(this.#starting);
  }
}
