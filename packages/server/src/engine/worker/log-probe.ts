/**
 * `LogProbe` reads from the log, to know whether this worker can reach it. `isCutOff` returns whether the worker must
 * give up its turns: it can't reach the log, and another worker can.
 *
 * Invariant: a worker counts as unable to reach the log until its first probe succeeds, and after each failed one.
 * Another worker counts only if it reached the log clearly after the outage began here. So no worker gives up its turns
 * because Redis restarts or fails over.
 */
import type { Log } from "../../log/log.ts";
import type { Leases } from "../../store/leases.ts";
import { withTimeout } from "../../util/with-timeout.ts";

/** How often the worker must probe the log. */
export const PROBE_MS = 1_000;
/** How long a probe may take. */
const TIMEOUT_MS = 2_000;
/** How long after the start of the outage another worker must have reached the log. Its own probe may be this old. */
const SURE_MS = 1.25 * PROBE_MS + TIMEOUT_MS;
/**
 * How long this worker still can't reach the log after it has seen that another one can. After a restart of Redis, workers
 * connect again at different moments.
 */
const RECONNECT_MS = 5_000;
/** No session has this id. */
const NO_SESSION = { tenant: "none", session: "log-probe" };

export class LogProbe {
  readonly #log: Pick<Log, "head">;
  readonly #now: () => number;
  /** When the first failed probe of this outage started. Null if the log can be reached. */
  #failedSince: number | null;
  /** When this worker first saw in this outage that another one reaches the log. */
  #cutOffSince: number | null = null;

  constructor(log: Pick<Log, "head">, now: () => number = () => performance.now()) {
    this.#log = log;
    this.#now = now;
    this.#failedSince = now();
  }

  get reachesLog(): boolean {
    return this.#failedSince === null;
  }

  /** Never throws. */
  async probe(): Promise<void> {
    const startedAt = this.#now();
    if (await this.#answers()) [this.#failedSince, this.#cutOffSince] = [null, null];
    else this.#failedSince ??= startedAt;
  }

  /** @throws an error of the store */
  async isCutOff(leases: Pick<Leases, "otherReachesLog">, executor: string): Promise<boolean> {
    if (this.#failedSince === null) return false;
    const withinMs = this.#now() - this.#failedSince - SURE_MS;
    if (withinMs <= 0 || !(await leases.otherReachesLog(executor, Math.floor(withinMs)))) return false;
    // The log may have answered while the store was asked.
    if (this.#failedSince === null) return false;
    this.#cutOffSince ??= this.#now();
    return this.#now() - this.#cutOffSince >= RECONNECT_MS;
  }

  async #answers(): Promise<boolean> {
    try {
      const answer = this.#log.head(NO_SESSION).then(() => true);
      return await withTimeout(answer, { ms: TIMEOUT_MS, onTimeout: () => false });
    } catch {
      return false;
    }
  }
}
