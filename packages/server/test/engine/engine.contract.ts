/**
 * The contract of an engine, independent of where it stores its jobs. It starts no processes; see
 * processes.services.test.ts.
 */
import { randomUUID } from "node:crypto";
import { describe, expect, test, vi } from "vitest";

import type { Engine, Job, JobHandler } from "../../src/engine/engine.ts";
import { isEngineError } from "../../src/engine/errors.ts";
import type { JobsOptions } from "../../src/engine/jobs.ts";

/**
 * Opens engines on one storage, one after the other. Each is closed before the next, because DBOS allows one per
 * process.
 */
export interface EngineWorld {
  open(options: JobsOptions): Promise<Engine>;
}

/** Work that waits until the test ends it or the engine aborts it. */
class Bench {
  readonly jobs: Job[] = [];
  readonly #release = new Map<string, (error?: Error) => void>();

  readonly work: JobHandler = async (job) => {
    this.jobs.push(job);
    await new Promise<void>((resolve, reject) => {
      job.signal.addEventListener("abort", () => reject(job.signal.reason as Error));
      this.#release.set(job.id, (error) => (error === undefined ? resolve() : reject(error)));
    });
  };

  end(id: string, error?: Error): void {
    this.#release.get(id)?.(error);
  }

  get ids(): string[] {
    return this.jobs.map(({ id }) => id);
  }
}

const settled = { timeout: 30_000, interval: 5 };

async function eventually(check: () => unknown): Promise<void> {
  await vi.waitFor(async () => expect(await check()).toBe(true), settled);
}

type Use = (
  engine: Engine,
  bench: Bench,
  next: (options?: Partial<JobsOptions>) => Promise<Engine>,
) => Promise<void>;

const returnsWhenAborted: JobHandler = ({ signal }) =>
  new Promise((resolve) => signal.addEventListener("abort", () => resolve()));

async function useEngine(world: EngineWorld, use: Use, options: Partial<JobsOptions>): Promise<void> {
  const bench = new Bench();
  let engine = await world.open({ work: bench.work, ...options });
  const next = async (others: Partial<JobsOptions> = {}) => {
    await engine.close();
    engine = await world.open({ work: bench.work, ...others });
    return engine;
  };
  try {
    await use(engine, bench, next);
  } finally {
    await engine.close();
  }
}

export function describeEngine(name: string, world: () => Promise<EngineWorld>): void {
  const withEngine = async (use: Use, options: Partial<JobsOptions> = {}) =>
    await useEngine(await world(), use, options);

  describe(`Engine: ${name}`, () => {
    test("runs a job once and reports it as running", () =>
      withEngine(async (engine, bench) => {
        const id = `${randomUUID()}/a`;
        expect(await engine.isRunning(id)).toBe(false);
        expect(await engine.start(id)).toBe(true);
        await eventually(() => bench.jobs.length === 1);
        expect(bench.jobs[0]).toMatchObject({ id, attempt: 1 });
        expect(engine.running).toBe(1);
        expect(await engine.isRunning(id)).toBe(true);
        expect(await engine.executors()).toContain(engine.executor);
        expect(await engine.start(id)).toBe(false);
        bench.end(id);
        await eventually(async () => !(await engine.isRunning(id)));
        expect(await engine.executors()).not.toContain(engine.executor);
        expect(engine.running).toBe(0);
        expect(await engine.start(id)).toBe(false);
        expect(bench.ids).toEqual([id]);
      }));

    test("runs a job once when fifty callers start it at once", () =>
      withEngine(async (engine, bench) => {
        const id = `${randomUUID()}/a`;
        const answers = await Promise.all(Array.from({ length: 50 }, () => engine.start(id)));
        expect(answers.filter(Boolean)).toHaveLength(1);
        await eventually(() => bench.jobs.length > 0);
        expect(bench.ids).toEqual([id]);
      }));

    test("starts a job from within another job", () => {
      const started: string[] = [];
      let engine: Engine | undefined;
      const work: JobHandler = async ({ id }) => {
        started.push(id);
        if (id.endsWith("/first")) await engine?.start(id.replace("first", "second"));
      };
      return withEngine(
        async (opened) => {
          engine = opened;
          const session = randomUUID();
          await engine.start(`${session}/first`);
          await eventually(
            async () => started.length === 2 && !(await opened.isRunning(`${session}/second`)),
          );
          expect(started).toEqual([`${session}/first`, `${session}/second`]);
        },
        { work },
      );
    });

    test("handOver aborts running jobs, waits for them, and starts no more; another engine recovers them", () =>
      withEngine(async (engine, bench, next) => {
        const session = randomUUID();
        const ids = ["a", "b", "c"].map((turn) => `${session}/${turn}`);
        for (const id of ids) await engine.start(id);
        await eventually(() => bench.jobs.length === 3);
        await engine.handOver();
        expect(engine.running).toBe(0);
        expect(bench.jobs.every(({ signal }) => signal.aborted)).toBe(true);
        for (const id of ids) expect(await engine.isRunning(id)).toBe(true);
        await expect(engine.start(`${session}/d`)).rejects.toSatisfy((error) => isEngineError(error, "LEFT"));
        await expect(engine.recover("missing")).rejects.toSatisfy((error) => isEngineError(error, "LEFT"));
        expect(bench.jobs).toHaveLength(3);

        const other = await next();
        expect(other.executor).not.toBe(engine.executor);
        // Starting an engine recovers no jobs.
        expect(other.running).toBe(0);
        expect(await other.recover("missing")).toBe(0);
        expect(await other.recover(engine.executor)).toBe(3);
        await eventually(() => bench.jobs.length === 6);
        expect(bench.ids.slice(3).toSorted()).toEqual(ids);
        expect(bench.jobs.slice(3).map(({ attempt }) => attempt)).toEqual([2, 2, 2]);
        expect(await other.recover(engine.executor)).toBe(0);
        expect(await other.recover(other.executor)).toBe(0);
        expect(other.running).toBe(3);
        for (const id of ids) bench.end(id);
        await eventually(async () => !(await other.isRunning(ids[0] ?? "")));

        const last = await next();
        await eventually(async () => (await last.recover(other.executor)) === 0);
        expect(bench.jobs).toHaveLength(6);
      }));

    test("reassigns only its own jobs that have returned", () =>
      withEngine(async (engine, bench, next) => {
        const ids = ["a", "b"].map((turn) => `${randomUUID()}/${turn}`);
        for (const id of ids) await engine.start(id);
        await eventually(() => bench.jobs.length === 2);
        const back: string[] = [];
        await engine.handOver((id) => back.push(id));
        expect(back.toSorted()).toEqual(ids.toSorted());
        const given = `${engine.executor}.1`;
        await engine.reassign(ids.slice(0, 1), given);
        expect(await engine.executors()).toEqual(expect.arrayContaining([engine.executor, given]));

        const other = await next();
        expect(await other.recover(given)).toBe(1);
        await eventually(() => bench.jobs.length === 3);
        expect(bench.jobs.at(-1)).toMatchObject({ id: ids[0], attempt: 2 });
        // A job that runs on another engine by now is not its own.
        await other.reassign(ids.slice(1), given);
        expect(await other.recover(given)).toBe(0);
        expect(await other.recover(engine.executor)).toBe(1);
      }));

    test("counts attempts across several executors", () =>
      withEngine(async (engine, bench, next) => {
        const id = `${randomUUID()}/a`;
        await engine.start(id);
        let before = engine;
        for (const attempt of [2, 3, 4]) {
          await eventually(() => bench.jobs.length === attempt - 1);
          const now = await next();
          expect(await now.recover(before.executor)).toBe(1);
          await eventually(() => bench.jobs.at(-1)?.attempt === attempt);
          before = now;
        }
      }));

    test("work that returns after an abort has not ended", () => {
      return withEngine(
        async (engine, bench, next) => {
          const id = `${randomUUID()}/a`;
          await engine.start(id);
          await eventually(() => engine.running === 1);
          const other = await next();
          expect(await other.isRunning(id)).toBe(true);
          expect(await other.recover(engine.executor)).toBe(1);
          await eventually(() => bench.jobs.length === 1);
        },
        { work: returnsWhenAborted },
      );
    });

    test("work that throws has ended, and its error is reported", () => {
      const reported: [unknown, string][] = [];
      return withEngine(
        async (engine, bench, next) => {
          const id = `${randomUUID()}/a`;
          const error = new Error("as planned");
          await engine.start(id);
          await eventually(() => bench.jobs.length === 1);
          bench.end(id, error);
          await eventually(async () => !(await engine.isRunning(id)));
          expect(reported).toEqual([[error, `job ${id}`]]);
          expect(await engine.start(id)).toBe(false);
          const other = await next();
          expect(await other.recover(engine.executor)).toBe(0);
        },
        { onError: (error, { during }) => reported.push([error, during]) },
      );
    });

    test("starts and ends no job while the lease may have expired", () => {
      let fresh = true;
      return withEngine(
        async (engine, bench, next) => {
          const id = `${randomUUID()}/a`;
          await engine.start(id);
          await eventually(() => bench.jobs.length === 1);
          fresh = false;
          await expect(engine.start(`${id}2`)).rejects.toSatisfy((error) => isEngineError(error, "LEFT"));
          bench.end(id);
          await eventually(() => engine.running === 0);
          const other = await next();
          expect(await other.isRunning(`${id}2`)).toBe(false);
          expect(await other.recover(engine.executor)).toBe(1);
        },
        { isFresh: () => fresh },
      );
    });

    test("deletes all jobs of one session, also running ones, and no other jobs", () =>
      withEngine(async (engine, bench) => {
        const mark = randomUUID();
        const mine = ["ended", "runs"].map((turn) => `s_${mark}/${turn}`);
        // `_` and `%` must not act as patterns.
        const others = [`s-${mark}/x`, `s_${mark}`, `%${mark}/y`];
        for (const id of [...mine, ...others]) await engine.start(id);
        await eventually(() => bench.jobs.length === 5);
        bench.end(`s_${mark}/ended`);
        await eventually(async () => !(await engine.isRunning(`s_${mark}/ended`)));
        expect(await engine.deleteJobs(`s_${mark}/`)).toBe(2);
        expect(bench.jobs.filter(({ signal }) => signal.aborted).map(({ id }) => id)).toEqual([
          `s_${mark}/runs`,
        ]);
        expect(await engine.isRunning(`s_${mark}/runs`)).toBe(false);
        for (const id of others) expect(await engine.isRunning(id)).toBe(true);
        await eventually(() => engine.running === 3);
        expect(await engine.deleteJobs("%")).toBe(1);
        expect(await engine.deleteJobs(`s_${mark}/`)).toBe(0);
        expect(await engine.start(mine[0] ?? "")).toBe(true);
      }));

    test("prunes at most `limit` jobs that ended long ago, and no running job", () =>
      withEngine(async (engine, bench) => {
        const ids = ["a", "b", "c"].map((turn) => `${randomUUID()}/${turn}`);
        for (const id of [...ids, "runs"]) await engine.start(id);
        await eventually(() => bench.jobs.length === 4);
        for (const id of ids) bench.end(id);
        for (const id of ids) await eventually(async () => !(await engine.isRunning(id)));
        expect(await engine.prune({ olderThanMs: 60_000, limit: 10 })).toBe(0);
        await eventually(async () => (await engine.prune({ olderThanMs: 1, limit: 2 })) === 2);
        expect(await engine.prune({ olderThanMs: 0, limit: 10 })).toBe(1);
        expect(await engine.isRunning("runs")).toBe(true);
        expect(await engine.start(ids[0] ?? "")).toBe(true);
      }));
  });
}
