/**
 * Keeps a worker going in this process: when its lease is lost, because the database was away or the process was frozen
 * for too long, it begins anew under a new name. What it had is with others by then, or comes back to it by recovery.
 */
import { retry } from "../../util/retry.ts";
import type { WorkerOptions } from "./options.ts";
import { createWorker, type Worker } from "./worker.ts";

const BACKOFF = { initialDelayMs: 200, maxDelayMs: 5_000 };

export interface SupervisedWorker {
  /** The worker of the moment; null between two. */
  readonly current: Worker | null;
  shutdown(): Promise<void>;
}

/** Throws when the first start fails: that is a matter of configuration. Later failures are tried again. */
export async function startWorker(options: WorkerOptions): Promise<SupervisedWorker> {
  let current: Worker | null = null;
  let restarting: Promise<void> | null = null;
  const stopped = new AbortController();

  const start = (): Promise<Worker> => createWorker({ ...options, onLeaseLost });

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
      ?.shutdown()
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
    // It fails only once it was stopped, and every error was reported.
    await retry(attempt, { ...BACKOFF, isRetryable: () => true, signal }).catch(() => {});
  }

  current = await start();
  return {
    get current() {
      return current;
    },
    async shutdown() {
      stopped.abort();
      await restarting;
      await current?.shutdown();
      current = null;
    },
  };
}
