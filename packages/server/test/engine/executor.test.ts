/**
 * Tests the executor in memory: leases, loss, leaving, and recovery of dead executors. Leases expire by a clock that
 * only the tests advance, so that a slow machine can't fail them.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import type { Engine, JobHandler } from "../../src/engine/engine.ts";
import { isEngineError } from "../../src/engine/errors.ts";
import { createExecutor, type Executor, type ExecutorOptions } from "../../src/engine/executor.ts";
import { createMemoryEngine, createMemoryEngineHub } from "../../src/engine/memory.ts";
import type { Signals } from "../../src/signals/signals.ts";
import { createMemoryStore } from "../../src/store/memory/store.ts";
import type { Leases } from "../../src/store/ports/running.ts";
import { standInSignals } from "./local-signals.ts";

const TTL_MS = 90;
const LONG_MS = 60_000;

const CLOCK = ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date", "performance"] as const;
beforeEach(() => void vi.useFakeTimers({ toFake: [...CLOCK] }));
afterEach(() => void vi.useRealTimers());
const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

const untilAborted: JobHandler = ({ signal }) =>
  new Promise((resolve) => signal.addEventListener("abort", () => resolve()));

class World {
  readonly hub = createMemoryEngineHub();
  readonly leases: Leases = createMemoryStore().leases;
  readonly signals: Signals = standInSignals();

  async member(name: string, options: Partial<ExecutorOptions> = {}): Promise<Member> {
    const jobs: string[] = [];
    const onLost = vi.fn<() => void>();
    const onError = vi.fn<(error: unknown) => void>();
    const member: { executor?: Executor } = {};
    const engine = createMemoryEngine({
      executor: name,
      hub: this.hub,
      isFresh: () => member.executor?.isFresh() ?? true,
      work: async (job) => {
        jobs.push(job.id);
        await untilAborted(job);
      },
    });
    const { leases, signals } = this;
    const executor = await createExecutor({
      engine,
      leases,
      signals,
      ttlMs: TTL_MS,
      onLost,
      onError,
      ...options,
    });
    member.executor = executor;
    return { engine, executor, jobs, onLost, onError };
  }
}

interface Member {
  readonly engine: Engine;
  readonly executor: Executor;
  readonly jobs: string[];
  readonly onLost: ReturnType<typeof vi.fn<() => void>>;
  readonly onError: ReturnType<typeof vi.fn<(error: unknown) => void>>;
}

/** Each poll advances the clock by the interval. */
const soon = { timeout: 30_000, interval: 2 };

test("stays alive for many times its TTL, and no other executor takes its jobs", async () => {
  const world = new World();
  const a = await world.member("a", { ttlMs: 450 });
  const b = await world.member("b", { ttlMs: 450 });
  await a.engine.start("s/1");
  await pass(450 * 30);
  expect(a.executor.isFresh()).toBe(true);
  expect([a.onLost, a.onError, b.onLost, b.onError].map((mock) => mock.mock.calls.length)).toEqual([
    0, 0, 0, 0,
  ]);
  expect([a.jobs, b.jobs]).toEqual([["s/1"], []]);
  await a.executor.leave();
  await b.executor.leave();
});

/** Leases whose answers an executor doesn't get while `isAway` is set. */
function interruptible(leases: Leases): { readonly leases: Leases; isAway: boolean } {
  const link = {
    isAway: false,
    leases: {
      ...leases,
      renew: (...args: Parameters<Leases["renew"]>) => link.send(() => leases.renew(...args)),
      expired: (limit: number) => link.send(() => leases.expired(limit)),
    },
    async send<T>(call: () => Promise<T>): Promise<T> {
      if (link.isAway) throw new Error("store is unreachable");
      return call();
    },
  };
  return link;
}

test("an executor that can't renew is in doubt, and lost once it learns that another one has its jobs", async () => {
  const world = new World();
  const link = interruptible(world.leases);
  const a = await world.member("a", { leases: link.leases });
  const b = await world.member("b");
  await a.engine.start("s/1");
  link.isAway = true;
  await vi.waitUntil(() => b.jobs.length === 1, soon);
  expect([a.executor.isFresh(), a.executor.isLost()]).toEqual([false, false]);
  expect([a.onLost.mock.calls.length, a.engine.running]).toEqual([0, 1]);
  await expect(a.engine.start("s/2")).rejects.toSatisfy((error) => isEngineError(error, "LEFT"));
  link.isAway = false;
  await vi.waitUntil(() => a.engine.running === 0, soon);
  expect(a.onLost).toHaveBeenCalledTimes(1);
  expect(await b.engine.isRunning("s/1")).toBe(true);
  await vi.waitFor(async () => expect(await world.leases.expired(10)).toEqual([]), soon);
  await b.executor.leave();
});

test("a lease in doubt is good again when the store is back, and no executor takes the jobs of another", async () => {
  const world = new World();
  const links = ["a", "b", "c"].map(() => interruptible(world.leases));
  const members = [];
  for (const [n, { leases }] of links.entries())
    members.push(await world.member(`e${n}`, { leases, ttlMs: 400 }));
  for (const [n, { engine }] of members.entries()) await engine.start(`s/${n}`);
  for (const link of links) link.isAway = true;
  await pass(2_400);
  const waiting = members.map(({ executor }) => executor.untilFresh(new AbortController().signal));
  expect(members.map(({ executor }) => executor.isFresh())).toEqual([false, false, false]);
  // They come back one after the other, each after most of a TTL.
  for (const link of links) {
    link.isAway = false;
    await pass(150);
  }
  expect(await Promise.all(waiting)).toEqual([true, true, true]);
  await pass(2_000);
  expect(members.map(({ jobs, engine }) => [jobs, engine.running])).toEqual([
    [["s/0"], 1],
    [["s/1"], 1],
    [["s/2"], 1],
  ]);
  expect(members.map(({ onLost }) => onLost.mock.calls.length)).toEqual([0, 0, 0]);
  for (const { executor } of members) await executor.leave();
});

test("an executor that died during an outage is taken over one TTL after it", async () => {
  const world = new World();
  const link = interruptible(world.leases);
  const a = await world.member("a", { leases: link.leases, ttlMs: 400 });
  await world.leases.take("dead", 1);
  link.isAway = true;
  await pass(1_000);
  link.isAway = false;
  await pass(350);
  expect(await world.leases.expired(10)).toEqual(["dead"]);
  await pass(600);
  expect(await world.leases.expired(10)).toEqual([]);
  await a.executor.leave();
});

test("a caller that waits for a lease in doubt gets false if it is lost, and the reason of its abort", async () => {
  const world = new World();
  const link = interruptible(world.leases);
  const a = await world.member("a", { leases: link.leases });
  link.isAway = true;
  await pass(TTL_MS * 2);
  const aborted = new AbortController();
  const waits = [a.executor.untilFresh(new AbortController().signal), a.executor.confirm(aborted.signal)];
  const settled = Promise.allSettled(waits);
  aborted.abort(new Error("enough"));
  await world.leases.take("b", LONG_MS);
  expect(await world.leases.takeDead("a", "b")).toBe(true);
  link.isAway = false;
  await pass(TTL_MS);
  expect(await settled).toEqual([
    { status: "fulfilled", value: false },
    { status: "rejected", reason: new Error("enough") },
  ]);
});

test("a frozen executor is in doubt before its next operation, without a timer", async () => {
  const world = new World();
  let now = 0;
  const env = { monotonic: () => now, random: () => 0.5 };
  const a = await world.member("a", { ttlMs: LONG_MS, env });
  expect(a.executor.isFresh()).toBe(true);
  now = LONG_MS;
  await expect(a.engine.start("s/1")).rejects.toSatisfy((error) => isEngineError(error, "LEFT"));
  expect(await a.executor.confirm(new AbortController().signal)).toBe(true);
  expect(a.onLost).not.toHaveBeenCalled();
});

test("the late response to an old renewal doesn't make the lease valid", async () => {
  const world = new World();
  let now = 0;
  const answers: ((renewed: boolean) => void)[] = [];
  const slow: Leases = { ...world.leases, renew: () => new Promise((resolve) => answers.push(resolve)) };
  const env = { monotonic: () => now, random: () => 0.5 };
  const a = await world.member("a", { leases: slow, env });
  await vi.waitUntil(() => answers.length > 0, soon);
  now = TTL_MS;
  answers[0]?.(true);
  await pass(0);
  expect([a.executor.isFresh(), a.executor.isLost()]).toEqual([false, false]);
});

test("an executor that can't reach the log takes over no jobs", async () => {
  const world = new World();
  await world.leases.take("dead", 1);
  await pass(3);
  let reachesLog = false;
  const a = await world.member("a", { reachesLog: () => reachesLog });
  await pass(TTL_MS * 3);
  expect(await world.leases.expired(10)).toEqual(["dead"]);
  expect(await world.leases.otherReachesLog("b", LONG_MS)).toBe(false);
  reachesLog = true;
  await vi.waitFor(async () => expect(await world.leases.expired(10)).toEqual([]), soon);
  await vi.waitFor(async () => expect(await world.leases.otherReachesLog("b", LONG_MS)).toBe(true), soon);
  await a.executor.leave();
});

test("an executor whose lease was taken over is lost at its next renewal", async () => {
  const world = new World();
  const a = await world.member("a", {
    leases: { ...world.leases, renew: async () => false },
    ttlMs: LONG_MS / 20,
  });
  await a.engine.start("s/1");
  await vi.waitFor(() => expect(a.onLost).toHaveBeenCalledTimes(1), soon);
  await vi.waitUntil(() => a.engine.running === 0, soon);
});

test("a job that ends while its executor drains has ended, and the rest is handed over after the time", async () => {
  const world = new World();
  const ends = new AbortController();
  const engine = createMemoryEngine({
    executor: "a",
    hub: world.hub,
    work: async (job) => {
      if (job.id === "s/throws")
        await untilAborted({ ...job, signal: ends.signal }).then(() => Promise.reject());
      else if (job.id === "s/ends") await untilAborted({ ...job, signal: ends.signal });
      else await untilAborted(job);
    },
  });
  const a = await world.member("a", { engine, ttlMs: LONG_MS, graceMs: LONG_MS });
  const b = await world.member("b", { ttlMs: LONG_MS });
  for (const id of ["s/ends", "s/throws", "s/stays"]) await engine.start(id);
  const left = a.executor.leave(1_000);
  await expect(engine.start("s/new")).rejects.toSatisfy((error) => isEngineError(error, "LEFT"));
  ends.abort();
  await vi.waitUntil(() => b.jobs.length === 1, soon);
  expect(b.jobs).toEqual(["s/throws"]);
  expect(await engine.isRunning("s/ends")).toBe(false);
  await pass(1_000);
  await left;
  await vi.waitUntil(() => b.jobs.length === 2, soon);
  expect(b.jobs).toEqual(["s/throws", "s/stays"]);
  await b.executor.leave();
});

test("leaving hands the jobs to another executor long before the lease expires", async () => {
  const world = new World();
  const a = await world.member("a", { ttlMs: LONG_MS });
  const b = await world.member("b", { ttlMs: LONG_MS });
  for (let n = 0; n < 20; n++) await a.engine.start(`s/${n}`);
  await a.executor.leave();
  await a.executor.leave();
  expect(a.engine.running).toBe(0);
  await vi.waitUntil(() => b.jobs.length === 20, soon);
  expect(a.onLost).not.toHaveBeenCalled();
  // The jobs were handed over before the lease was removed.
  await vi.waitFor(async () => expect(await world.leases.unknown(["a"])).toEqual(["a"]), soon);
  expect(await world.leases.renew("a", TTL_MS)).toBe(false);
  await b.executor.leave();
});

test("leaving waits a bounded time for work that doesn't return", async () => {
  const world = new World();
  const engine = createMemoryEngine({
    executor: "a",
    hub: world.hub,
    work: () => new Promise(() => undefined),
  });
  const a = await world.member("a", { engine, graceMs: 20 });
  await engine.start("s/1");
  const left = a.executor.leave();
  await pass(20);
  await left;
  expect(await world.leases.expired(10)).toEqual(["a"]);
});

test("the executor that took over a dead one retries a failed recovery", async () => {
  const world = new World();
  await world.leases.take("dead", 1);
  await pass(3);
  const recovered: string[] = [];
  const engine = {
    executor: "a",
    handOver: async () => undefined,
    reassign: async () => undefined,
    recover: async (dead: string) => {
      if (recovered.push(dead) < 3) throw new Error("database is unreachable");
      return 1;
    },
  };
  const a = await world.member("a", { engine });
  await vi.waitUntil(() => recovered.length === 3, soon);
  await pass(TTL_MS);
  expect(recovered).toEqual(["dead", "dead", "dead"]);
  expect(a.onError).toHaveBeenCalledTimes(2);
  expect(await world.leases.expired(10)).toEqual([]);
  await a.executor.leave();
});

test("retries taking over a dead executor when the response is lost", async () => {
  const world = new World();
  await world.leases.take("dead", 1);
  await pass(3);
  let asked = 0;
  const takeDead = async (dead: string, by: string) => {
    const taken = await world.leases.takeDead(dead, by);
    if (++asked === 1) throw new Error("the response is lost");
    // The store also returns true if this executor has already taken it.
    return taken || dead === "dead";
  };
  const recovered: string[] = [];
  const engine = {
    executor: "a",
    handOver: async () => undefined,
    reassign: async () => undefined,
    recover: async (dead: string) => recovered.push(dead),
  };
  const a = await world.member("a", { engine, leases: { ...world.leases, takeDead } });
  await vi.waitFor(() => expect(recovered).toEqual(["dead"]), soon);
  await vi.waitFor(async () => expect(await world.leases.release("dead", "a")).toBe(false), soon);
  expect(asked).toBe(2);
  await a.executor.leave();
});

test("leaving waits for a pending renewal, which would extend the lease again", async () => {
  const world = new World();
  const calls: string[] = [];
  const leases: Leases = {
    ...world.leases,
    async renew(executor, ttlMs) {
      calls.push("asked");
      await sleep(60);
      calls.push("renewed");
      return await world.leases.renew(executor, ttlMs);
    },
    async leave(executor) {
      calls.push("left");
      return await world.leases.leave(executor);
    },
  };
  const a = await world.member("a", { leases, ttlMs: 900 });
  await vi.waitUntil(() => calls.length === 1, soon);
  await a.executor.leave();
  expect(calls).toEqual(["asked", "renewed", "left"]);
  expect(await world.leases.expired(10)).toEqual(["a"]);
});

test("recovers a job that a lost executor wrote after its jobs were recovered", async () => {
  const world = new World();
  const link = interruptible(world.leases);
  let isLate = false;
  const engine = createMemoryEngine({ executor: "a", hub: world.hub, work: untilAborted });
  const a = await world.member("a", {
    leases: link.leases,
    engine: {
      executor: "a",
      recover: (dead) => engine.recover(dead),
      // A row that was on its way to the database when the lease expired.
      reassign: (ids, to) => engine.reassign(ids, to),
      handOver: async () => {
        await vi.waitUntil(() => isLate, soon);
        await engine.start("s/late");
        await engine.handOver();
      },
    },
  });
  const b = await world.member("b");
  link.isAway = true;
  await vi.waitFor(async () => expect(await world.leases.unknown(["a"])).toEqual(["a"]), soon);
  link.isAway = false;
  await vi.waitUntil(() => a.onLost.mock.calls.length > 0, soon);
  // Recovered, and the lease of the dead executor is removed.
  await vi.waitFor(async () => expect(await world.leases.renew("a", 1)).toBe(false), soon);
  expect(b.jobs).toEqual([]);
  isLate = true;
  await vi.waitUntil(() => b.jobs.length === 1, soon);
  expect(b.jobs).toEqual(["s/late"]);
  await b.executor.leave();
});

test("a leaving executor hands over each job when it returns, not when the last one returns", async () => {
  const world = new World();
  const a = await world.member("a", { ttlMs: LONG_MS, graceMs: LONG_MS });
  const paused = new AbortController();
  const { engine } = a;
  const slow = createMemoryEngine({
    executor: "slow",
    hub: world.hub,
    work: async ({ id, signal }) => {
      await untilAborted({ id, signal: id === "s/slow" ? paused.signal : signal, attempt: 1 });
    },
  });
  const leaving = await createExecutor({
    engine: slow,
    leases: world.leases,
    signals: world.signals,
    ttlMs: LONG_MS,
    graceMs: LONG_MS,
    onLost: () => undefined,
  });
  for (const id of ["s/slow", "s/1", "s/2"]) await slow.start(id);
  const left = leaving.leave();
  await vi.waitUntil(() => a.jobs.length === 2, soon);
  expect(a.jobs.toSorted()).toEqual(["s/1", "s/2"]);
  // No executor has the job that still runs, and its executor still counts as alive.
  expect(slow.running).toBe(1);
  expect(leaving.isFresh()).toBe(true);
  expect(await engine.executors()).toContain("slow");
  paused.abort();
  await left;
  await vi.waitUntil(() => a.jobs.length === 3, soon);
  expect(a.jobs.at(-1)).toBe("s/slow");
  await vi.waitFor(async () => expect(await world.leases.expired(10)).toEqual([]), soon);
  await a.executor.leave();
});
