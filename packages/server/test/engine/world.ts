/** `World` runs executors with their job loops in one process, on one queue and one table of leases. */
import { vi } from "vitest";
import { EngineError } from "../../src/engine/errors.ts";
import {
  createExecutor,
  type Executor,
  type ExecutorOptions,
  RECOVERED_CHANNEL,
} from "../../src/engine/executor.ts";
import { type JobHandler, JobLoop } from "../../src/runtime/worker/job-loop.ts";
import { turnTopic } from "../../src/session/signal-channels.ts";
import type { Signals } from "../../src/signals/signals.ts";
import { createMemoryStore } from "../../src/store/memory/store.ts";
import type { Leases } from "../../src/store/ports/running.ts";
import { standInSignals } from "./local-signals.ts";
import { TestQueue } from "./test-queue.ts";

export const TTL_MS = 90;

export interface Member {
  readonly loop: JobLoop;
  readonly executor: Executor;
  /** The ids of the jobs that it started. */
  readonly jobs: string[];
  readonly onLost: ReturnType<typeof vi.fn<() => void>>;
  readonly onError: ReturnType<typeof vi.fn<(error: unknown) => void>>;
  /** Queues a job that only this member fetches. @throws EngineError with LEFT if it doesn't */
  readonly start: (id: string) => Promise<void>;
}

export const untilAborted: JobHandler = (_, signal) =>
  new Promise((_resolve, reject) =>
    signal.addEventListener("abort", () => reject(new EngineError("LEFT", "a test"))),
  );

export class World {
  readonly queue = new TestQueue();
  readonly leases: Leases = createMemoryStore().leases;
  readonly signals: Signals = standInSignals();

  async member(
    name: string,
    { run = untilAborted, ...options }: Partial<ExecutorOptions> & { run?: JobHandler } = {},
  ): Promise<Member> {
    const jobs: string[] = [];
    const onLost = vi.fn<() => void>();
    const onError = vi.fn<(error: unknown) => void>();
    const member: { executor?: Executor } = {};
    const { queue, leases, signals } = this;
    const loop = new JobLoop({
      executor: name,
      jobs: queue,
      signals,
      run: async (job, signal) => {
        jobs.push(job.id);
        await run(job, signal);
        queue.end(job.id);
      },
      maxJobs: 1_000,
      agents: () => ["agent"],
      mayFetch: () => member.executor?.isFresh() ?? true,
      drain: () => undefined,
      onDrained: () => undefined,
      onError,
    });
    const executor = await createExecutor({
      executor: name,
      running: loop,
      jobs: queue,
      leases,
      signals,
      ttlMs: TTL_MS,
      onLost,
      onError,
      ...options,
    });
    member.executor = executor;
    signals.listen(RECOVERED_CHANNEL, () => loop.onRecovered());
    signals.listen(name, (topic) => loop.hint(topic));
    loop.start();
    const start = async (id: string): Promise<void> => {
      queue.add(id, name);
      loop.hint(turnTopic(null));
      await vi.advanceTimersByTimeAsync(60);
      if (jobs.includes(id)) return;
      queue.rows.delete(id);
      throw new EngineError("LEFT", id);
    };
    return { loop, executor, jobs, onLost, onError, start };
  }
}
