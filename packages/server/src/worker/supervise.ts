/**
 * `startWorker` runs a worker and replaces it when other workers have taken over its turns, for example because its
 * process was frozen.
 *
 * Invariant: the old worker is shut down before the next one starts, and the next one has a new executor name. By then
 * other workers have taken over the old turns, or recovery starts them again. After `shutdown` no worker starts.
 */
import { retry } from "../util/retry.ts";
import type { Agent } from "../agent/define/agent.ts";
import type { WorkerOptions } from "./options.ts";
import { createWorker, type ShutdownOptions, type Worker } from "./worker.ts";

const BACKOFF = { initialDelayMs: 200, maxDelayMs: 5_000 };

export interface SupervisedWorker {
  /** The current worker, or null during a restart. */
  readonly current: Worker | null;
  /** Replaces the agents for turns that start afterwards: see `Worker.replaceAgents`. */
  replaceAgents(agents: readonly Agent[]): Promise<void>;
  /** See `Worker.shutdown`. */
  shutdown(options?: ShutdownOptions): Promise<void>;
}

/** Throws if the first start fails, because that is usually a configuration error. Later failures are retried. */
export async function startWorker(options: WorkerOptions): Promise<SupervisedWorker> {
  let current: Worker | null = null;
  let restarting: Promise<void> | null = null;
  let { agents } = options;
  const stopped = new AbortController();

  const start = (): Promise<Worker> => createWorker({ ...options, agents, onLeaseLost });

  function onLeaseLost(): void {
    options.onLeaseLost?.();
    restarting ??= restart().finally(() => {
      restarting = null;
    });
  }

  async function restart(): Promise<void> {
    const previous = current;
    current = null;
    await previous
      ?.shutdown({ drainMs: 0 })
      .catch((error: unknown) =>
        options.onError?.(error, { during: "shutting down a worker that lost its lease" }),
      );
    const { signal } = stopped;
    const attempt = async (): Promise<void> => {
      if (signal.aborted) return;
      try {
        current = await start();
      } catch (error) {
        options.onError?.(error, { during: "restarting the worker" });
        throw error;
      }
    };
    // Rejects only after `shutdown()`, and every error is already reported.
    await retry(attempt, { ...BACKOFF, isRetryable: () => true, signal }).catch(() => {});
  }

  current = await start();
  return {
    get current() {
      return current;
    },
    async replaceAgents(next) {
      // A restart that is under way uses the earlier agents.
      await restarting;
      await current?.replaceAgents(next);
      agents = next;
    },
    async shutdown(shutdownOptions) {
      stopped.abort();
      await restarting;
      await current?.shutdown(shutdownOptions);
      current = null;
    },
  };
}
