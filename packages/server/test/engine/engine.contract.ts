/** What every engine must do, whatever it remembers its jobs in. Never starts a process; see processes.services.test.ts. */
import { randomUUID } from "node:crypto";
import { describe, expect, test, vi } from "vitest";

import type { Engine, Job, JobHandler } from "../../src/engine/engine.ts";
import { isEngineError } from "../../src/engine/errors.ts";
import type { JobsOptions } from "../../src/engine/jobs.ts";

/** Engines on one memory, one after the other: each is closed before the next, as DBOS allows only one in a process. */
export interface EngineWorld {
  open(options: JobsOptions): Promise<Engine>;
}

/** Work that waits until it is told to go on, or aborted. */
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

  describe(`engine: ${name}`, () => {
    test("runs a job once, and says so while it runs", () =>
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

    test("runs it once when fifty start it at once", () =>
      withEngine(async (engine, bench) => {
        const id = `${randomUUID()}/a`;
        const answers = await Promise.all(Array.from({ length: 50 }, () => engine.start(id)));
        expect(answers.filter(Boolean)).toHaveLength(1);
        await eventually(() => bench.jobs.length > 0);
        expect(bench.ids).toEqual([id]);
      }));

    test("starts a job from within another", () => {
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

    test("hands over: aborts what runs, waits for it, starts nothing more; another recovers it", () =>
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
        await expect(engine.recover("nobody")).rejects.toSatisfy((error) => isEngineError(error, "LEFT"));
        expect(bench.jobs).toHaveLength(3);

        const other = await next();
        expect(other.executor).not.toBe(engine.executor);
        // Launching alone moves nothing.
        expect(other.running).toBe(0);
        expect(await other.recover("nobody")).toBe(0);
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

    test("gives away jobs that have come back, and only its own", () =>
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
        // What runs elsewhere by now isn't its own.
        await other.reassign(ids.slice(1), given);
        expect(await other.recover(given)).toBe(0);
        expect(await other.recover(engine.executor)).toBe(1);
      }));

    test("counts attempts through several executors", () =>
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

    test("work that returns although it is aborted has not ended", () => {
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

    test("work that throws has ended, and is told of", () => {
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

    test("nothing begins and nothing ends in a process whose lease may have run out", () => {
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

    test("forgets the jobs of a session and of no other, those that run too", () =>
      withEngine(async (engine, bench) => {
        const mark = randomUUID();
        const mine = ["ended", "runs"].map((turn) => `s_${mark}/${turn}`);
        // `_` and `%` are no patterns.
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

    test("prunes what ended long ago, at most so many, and nothing that runs", () =>
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
