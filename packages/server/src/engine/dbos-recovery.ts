/**
 * Makes the jobs of a dead executor run in this process, at once: they are claimed directly and given to DBOS as its
 * queue would give them. Never decides who is dead.
 */
import { DBOSExecutor } from "@dbos-inc/dbos-sdk/internal/dbos-executor";
import type { Env } from "../util/env.ts";
import { sleep } from "../util/sleep.ts";
import type { DbosRows, Due } from "./dbos-rows.ts";
import { EngineError } from "./errors.ts";
import type { Jobs } from "./jobs.ts";

const RETRY_MS = 200;

export class DbosRecovery {
  readonly #executor: string;
  readonly #rows: DbosRows;
  readonly #jobs: Jobs;
  readonly #env: Pick<Env, "id">;
  /** Claimed and not yet begun, with the attempt that it will be. */
  readonly #claimed = new Map<string, number>();
  /** Owners of claims whose answer was lost: they may have been made all the same. */
  readonly #lost = new Set<string>();

  constructor(executor: string, rows: DbosRows, jobs: Jobs, env: Pick<Env, "id">) {
    this.#executor = executor;
    this.#rows = rows;
    this.#jobs = jobs;
    this.#env = env;
  }

  /** @returns which attempt this is */
  begun(id: string): number {
    const attempt = this.#claimed.get(id) ?? 1;
    this.#claimed.delete(id);
    return attempt;
  }

  async recover(dead: string): Promise<number> {
    if (dead === this.#executor) return 0;
    const due: Due = { from: dead, to: this.#executor, lost: [...this.#lost] };
    let count = 0;
    for (;;) {
      count += await this.#recoverFree(due);
      // What is left belongs to the dead one, and who recovers it must not believe that it is done.
      if (!this.#jobs.open) throw new EngineError("LEFT", `executor ${dead}`);
      if (!(await this.#rows.hasDue(due))) break;
      await sleep(RETRY_MS);
    }
    for (const owner of due.lost) this.#lost.delete(owner);
    return count;
  }

  async #recoverFree(due: Due): Promise<number> {
    const owner = this.#env.id();
    const claimed = await this.#rows.claim(due, owner).catch((error: unknown) => {
      this.#lost.add(owner);
      throw error;
    });
    for (const { id, attempt } of claimed) this.#claimed.set(id, attempt);
    await this.#dispatch(
      claimed.map(({ id }) => id),
      owner,
    );
    return claimed.length;
  }

  /** DBOS only notes that it couldn't begin one; as this process lives, nobody else would ever find it. */
  async #dispatch(ids: readonly string[], owner: string): Promise<void> {
    let waiting = [...ids];
    while (waiting.length > 0 && this.#jobs.open) {
      const dbos = DBOSExecutor.globalInstance;
      if (dbos === undefined) throw new EngineError("LEFT", `executor ${this.#executor}`);
      await dbos.dispatchDequeuedWorkflows(waiting, owner);
      waiting = waiting.filter((id) => this.#claimed.has(id));
      // Forgotten in the meantime: there is nothing to begin.
      for (const id of waiting) if (!(await this.#rows.isRunning(id))) this.#claimed.delete(id);
      waiting = waiting.filter((id) => this.#claimed.has(id));
      if (waiting.length > 0) await sleep(RETRY_MS);
    }
    for (const id of waiting) this.#claimed.delete(id);
  }
}
