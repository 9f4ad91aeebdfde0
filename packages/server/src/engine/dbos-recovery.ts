/**
 * `DbosRecovery` runs the jobs of a dead executor in this process without delay: it claims them directly and dispatches
 * them as the queue of DBOS would. It does not decide which executor is dead.
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
  /** Claimed jobs that have not started yet, with the number of their attempt. */
  readonly #claimed = new Map<string, number>();
  /** Owners of claims whose reply was lost. The database may have made these claims. */
  readonly #lost = new Set<string>();

  constructor(executor: string, rows: DbosRows, jobs: Jobs, env: Pick<Env, "id">) {
    this.#executor = executor;
    this.#rows = rows;
    this.#jobs = jobs;
    this.#env = env;
  }

  /** @returns the number of this attempt */
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
      // The remaining jobs still belong to the dead executor. The caller must not treat the recovery as complete.
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

  /** Retries, because DBOS only logs a failed start. This process is alive, so no other one would recover the job. */
  async #dispatch(ids: readonly string[], owner: string): Promise<void> {
    let waiting = [...ids];
    while (waiting.length > 0 && this.#jobs.open) {
      const dbos = DBOSExecutor.globalInstance;
      if (dbos === undefined) throw new EngineError("LEFT", `executor ${this.#executor}`);
      await dbos.dispatchDequeuedWorkflows(waiting, owner);
      waiting = waiting.filter((id) => this.#claimed.has(id));
      // The job was deleted meanwhile, so there is nothing to start.
      for (const id of waiting) if (!(await this.#rows.isRunning(id))) this.#claimed.delete(id);
      waiting = waiting.filter((id) => this.#claimed.has(id));
      if (waiting.length > 0) await sleep(RETRY_MS);
    }
    for (const id of waiting) this.#claimed.delete(id);
  }
}
