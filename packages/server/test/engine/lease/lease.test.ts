/**
 * Tests the executor in memory: leases, loss, leaving, and recovery of dead executors. Leases expire by a clock that
 * only the tests advance, so that a slow machine can't fail them.
 */
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { isEngineError } from "../../../src/engine/errors.ts";
import { RECOVERED_CHANNEL, type HeldTurns } from "../../../src/engine/lease/lease.ts";
import type { Leases } from "../../../src/store/leases.ts";
import type { HeldTurn, StartTurns } from "../../../src/store/turn-queue.ts";
import type { QueueOfProcess } from "../test-queue.ts";
import { type Member, TTL_MS, untilAborted, World } from "../world.ts";

const LONG_MS = 60_000;

const CLOCK = ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date", "performance"] as const;
beforeEach(() => void vi.useFakeTimers({ toFake: [...CLOCK] }));
afterEach(() => void vi.useRealTimers());
const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

const NOTHING_RUNS: HeldTurns = { compareHeld: async () => undefined, handOver: async () => undefined };

/** Each poll advances the clock by the interval. */
const soon = { timeout: 60_000, interval: 2 };

test("stays alive for many times its TTL, and no other executor takes its turns", async () => {
  const world = new World();
  const a = await world.member("a", { ttlMs: 450 });
  const b = await world.member("b", { ttlMs: 450 });
  await a.start("s/1");
  await pass(450 * 30);
  expect(a.lease.isFresh()).toBe(true);
  expect([a.onLost, a.onError, b.onLost, b.onError].map((mock) => mock.mock.calls.length)).toEqual([
    0, 0, 0, 0,
  ]);
  expect([a.started, b.started]).toEqual([["s/1"], []]);
  await a.lease.leave();
  await b.lease.leave();
});

interface StoreLink {
  readonly leases: Leases;
  readonly queue: QueueOfProcess;
  isAway: boolean;
}

/** A store whose answers an executor doesn't get while `isAway` is set. */
function interruptible({ leases, queue }: World): StoreLink {
  const link = {
    isAway: false,
    leases: {
      ...leases,
      renew: (...args: Parameters<Leases["renew"]>) => link.send(() => leases.renew(...args)),
      expired: (limit: number) => link.send(() => leases.expired(limit)),
    },
    queue: {
      start: (request: StartTurns) => link.send(() => queue.start(request)),
      held: (executor: string) => link.send(() => queue.held(executor)),
      release: (turns: readonly HeldTurn[]) => link.send(() => queue.release(turns)),
      leave: (executor: string) => link.send(() => queue.leave(executor)),
      recover: (executor: string, query: { readonly limit: number }) =>
        link.send(() => queue.recover(executor, query)),
    },
    async send<T>(call: () => Promise<T>): Promise<T> {
      if (link.isAway) throw new Error("store is unreachable");
      return call();
    },
  };
  return link;
}

const storeOf = ({ leases, queue }: StoreLink) => ({ leases, queue });

test("an executor that can't renew is in doubt, and lost once it learns that another one has its turns", async () => {
  const world = new World();
  const link = interruptible(world);
  const a = await world.member("a", { ...storeOf(link) });
  const b = await world.member("b");
  await a.start("s/1");
  link.isAway = true;
  await vi.waitUntil(() => b.started.length === 1, soon);
  expect([a.lease.isFresh(), a.lease.isLost()]).toEqual([false, false]);
  expect([a.onLost.mock.calls.length, a.loop.running]).toEqual([0, 1]);
  await expect(a.start("s/2")).rejects.toSatisfy((error) => isEngineError(error, "LEFT"));
  link.isAway = false;
  await vi.waitUntil(() => a.loop.running === 0, soon);
  expect(a.onLost).toHaveBeenCalledTimes(1);
  expect(world.queue.isRunning("s/1")).toBe(true);
  await vi.waitFor(async () => expect(await world.leases.expired(10)).toEqual([]), soon);
  await b.lease.leave();
});

test("a lease in doubt is good again when the store is back, and no executor takes the turns of another", async () => {
  const world = new World();
  const links = ["a", "b", "c"].map(() => interruptible(world));
  const members = [];
  for (const [n, link] of links.entries())
    members.push(await world.member(`e${n}`, { ...storeOf(link), ttlMs: 400 }));
  for (const [n, { start }] of members.entries()) await start(`s/${n}`);
  for (const link of links) link.isAway = true;
  await pass(2_400);
  const waiting = members.map(({ lease }) => lease.untilFresh(new AbortController().signal));
  expect(members.map(({ lease }) => lease.isFresh())).toEqual([false, false, false]);
  // They come back one after the other, each after most of a TTL.
  for (const link of links) {
    link.isAway = false;
    await pass(150);
  }
  expect(await Promise.all(waiting)).toEqual([true, true, true]);
  await pass(2_000);
  expect(members.map(({ started, loop }) => [started, loop.running])).toEqual([
    [["s/0"], 1],
    [["s/1"], 1],
    [["s/2"], 1],
  ]);
  expect(members.map(({ onLost }) => onLost.mock.calls.length)).toEqual([0, 0, 0]);
  for (const { lease } of members) await lease.leave();
});

test("an executor that died during an outage is taken over one TTL after it", async () => {
  const world = new World();
  const link = interruptible(world);
  const a = await world.member("a", { ...storeOf(link), ttlMs: 400 });
  await world.leases.take("dead", 1);
  link.isAway = true;
  await pass(1_000);
  link.isAway = false;
  await pass(350);
  expect(await world.leases.expired(10)).toEqual(["dead"]);
  await pass(600);
  expect(await world.leases.expired(10)).toEqual([]);
  await a.lease.leave();
});

test("a caller that waits for a lease in doubt gets false if it is lost, and the reason of its abort", async () => {
  const world = new World();
  const link = interruptible(world);
  const a = await world.member("a", { ...storeOf(link) });
  link.isAway = true;
  await pass(TTL_MS * 2);
  const aborted = new AbortController();
  const waits = [a.lease.untilFresh(new AbortController().signal), a.lease.confirm(aborted.signal)];
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
  expect(a.lease.isFresh()).toBe(true);
  now = LONG_MS;
  await expect(a.start("s/1")).rejects.toSatisfy((error) => isEngineError(error, "LEFT"));
  expect(await a.lease.confirm(new AbortController().signal)).toBe(true);
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
  expect([a.lease.isFresh(), a.lease.isLost()]).toEqual([false, false]);
});

test("an executor that can't reach the log takes over no turns", async () => {
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
  await a.lease.leave();
});

test("an executor whose lease was taken over is lost at its next renewal", async () => {
  const world = new World();
  const a = await world.member("a", {
    leases: { ...world.leases, renew: async () => false },
    ttlMs: LONG_MS / 20,
  });
  await a.start("s/1");
  await vi.waitFor(() => expect(a.onLost).toHaveBeenCalledTimes(1), soon);
  await vi.waitUntil(() => a.loop.running === 0, soon);
});

test("a turn that ends while its executor drains has ended, and the rest is handed over after the time", async () => {
  const world = new World();
  const ends = new AbortController();
  const a = await world.member("a", {
    run: async (turn, signal) => {
      const { session } = turn.held;
      if (session === "s/stays") return untilAborted(turn, signal);
      await untilAborted(turn, ends.signal).catch((error: unknown) => {
        if (session === "s/throws") throw error;
      });
    },
    ttlMs: LONG_MS,
    graceMs: LONG_MS,
  });
  const b = await world.member("b", { ttlMs: LONG_MS });
  for (const id of ["s/ends", "s/throws", "s/stays"]) await a.start(id);
  const left = a.lease.leave(1_000);
  await expect(a.start("s/new")).rejects.toSatisfy((error) => isEngineError(error, "LEFT"));
  ends.abort();
  await vi.waitUntil(() => b.started.length === 1, soon);
  expect(b.started).toEqual(["s/throws"]);
  expect(world.queue.isRunning("s/ends")).toBe(false);
  await pass(1_000);
  await left;
  await vi.waitUntil(() => b.started.length === 2, soon);
  expect(b.started).toEqual(["s/throws", "s/stays"]);
  await b.lease.leave();
});

test("leaving hands the turns to another executor long before the lease expires", async () => {
  const world = new World();
  const a = await world.member("a", { ttlMs: LONG_MS });
  const b = await world.member("b", { ttlMs: LONG_MS });
  for (let n = 0; n < 20; n++) await a.start(`s/${n}`);
  await a.lease.leave();
  await a.lease.leave();
  expect(a.loop.running).toBe(0);
  await vi.waitUntil(() => b.started.length === 20, soon);
  expect(a.onLost).not.toHaveBeenCalled();
  // The turns were handed over before the lease was removed.
  await vi.waitFor(async () => expect((await world.leases.status()).anyExpired).toBe(false), soon);
  expect(await world.leases.renew("a", TTL_MS)).toBe(false);
  await b.lease.leave();
});

test("leaving waits a bounded time for work that doesn't return, and returns its turns without a death", async () => {
  const world = new World();
  const a = await world.member("a", { run: () => new Promise(() => undefined), graceMs: 20 });
  const deaths: number[] = [];
  const b = await world.member("b", {
    run: async (turn, signal) => {
      deaths.push(turn.row.deaths);
      await untilAborted(turn, signal);
    },
  });
  await a.start("s/1");
  const left = a.lease.leave();
  await pass(20);
  await left;
  expect(await world.leases.renew("a", TTL_MS)).toBe(false);
  await vi.waitUntil(() => b.started.length === 1, soon);
  expect(deaths).toEqual([0]);
  await b.lease.leave();
});

test("a dead executor keeps its lease until all its turns are recovered", async () => {
  const world = new World();
  await world.leases.take("dead", 1);
  await pass(3);
  const calls: string[] = [];
  world.queue.recover = async () => {
    calls.push("recover");
    return 0;
  };
  // A turn was locked, so that the first recovery did not return it.
  const release = async (...args: Parameters<Leases["release"]>) => {
    calls.push("release");
    return calls.length > 2 && (await world.leases.release(...args));
  };
  const a = await world.member("a", { running: NOTHING_RUNS, leases: { ...world.leases, release } });
  await vi.waitUntil(() => calls.length === 4, soon);
  await pass(TTL_MS);
  expect(calls).toEqual(["recover", "release", "recover", "release"]);
  expect(await world.leases.renew("dead", TTL_MS)).toBe(false);
  await a.lease.leave();
});

test("the executor that took over a dead one retries a failed recovery", async () => {
  const world = new World();
  await world.leases.take("dead", 1);
  await pass(3);
  const recovered: string[] = [];
  world.queue.recover = async (dead) => {
    if (recovered.push(dead) < 3) throw new Error("database is unreachable");
    return 1;
  };
  const a = await world.member("a", { running: NOTHING_RUNS });
  await vi.waitUntil(() => recovered.length === 3, soon);
  await pass(TTL_MS);
  expect(recovered).toEqual(["dead", "dead", "dead"]);
  expect(a.onError).toHaveBeenCalledTimes(2);
  expect(await world.leases.expired(10)).toEqual([]);
  await a.lease.leave();
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
  world.queue.recover = async (dead) => recovered.push(dead);
  const leases = { ...world.leases, takeDead };
  const a = await world.member("a", { running: NOTHING_RUNS, leases });
  await vi.waitFor(() => expect(recovered).toEqual(["dead"]), soon);
  await vi.waitFor(async () => expect(await world.leases.release("dead", "a")).toBe(false), soon);
  expect(asked).toBe(2);
  await a.lease.leave();
});

test("leaving waits for a pending renewal, which would extend the lease again", async () => {
  const world = new World();
  const calls: string[] = [];
  let answer!: () => void;
  const answered = new Promise<void>((done) => (answer = done));
  const leases: Leases = {
    ...world.leases,
    async renew(executor, ttlMs) {
      calls.push("asked");
      await answered;
      calls.push("renewed");
      return await world.leases.renew(executor, ttlMs);
    },
    async release(...args) {
      calls.push("left");
      return await world.leases.release(...args);
    },
  };
  const a = await world.member("a", { leases, ttlMs: 900 });
  await vi.waitUntil(() => calls.length === 1, soon);
  const left = a.lease.leave();
  await new Promise((resolve) => setImmediate(resolve));
  expect(calls).toEqual(["asked"]);
  answer();
  await left;
  expect(calls).toEqual(["asked", "renewed", "left"]);
});

test("a leaving executor hands over each turn when it returns, not when the last one returns", async () => {
  const world = new World();
  const a = await world.member("a", { ttlMs: LONG_MS, graceMs: LONG_MS });
  const paused = new AbortController();
  const slow = await world.member("slow", {
    run: (turn, signal) => untilAborted(turn, turn.held.session === "s/slow" ? paused.signal : signal),
    ttlMs: LONG_MS,
    graceMs: LONG_MS,
  });
  for (const id of ["s/slow", "s/1", "s/2"]) await slow.start(id);
  const left = slow.lease.leave();
  await vi.waitUntil(() => a.started.length === 2, soon);
  expect(a.started.toSorted()).toEqual(["s/1", "s/2"]);
  // No other executor has the turn that still runs, and its executor still counts as alive.
  expect(slow.loop.running).toBe(1);
  expect(slow.lease.isFresh()).toBe(true);
  paused.abort();
  await left;
  await vi.waitUntil(() => a.started.length === 3, soon);
  expect(a.started.at(-1)).toBe("s/slow");
  await vi.waitFor(async () => expect(await world.leases.expired(10)).toEqual([]), soon);
  await a.lease.leave();
});

test("recovers the turns of a dead executor in slices, and all living executors share them", async () => {
  const world = new World();
  const dead = await world.member("dead", { ttlMs: LONG_MS });
  for (let n = 0; n < 120; n++) world.queue.add(`s/${n}`, { member: "dead" });
  dead.loop.poll();
  await vi.waitUntil(() => dead.started.length === 120, soon);
  const living: Member[] = [];
  for (const name of ["a", "b", "c"]) living.push(await world.member(name, { ttlMs: LONG_MS }));
  const slices: string[] = [];
  world.signals.listen(RECOVERED_CHANNEL, (executor) => slices.push(executor));
  dead.loop.close();
  await world.leases.take("dead", 0);
  await vi.waitUntil(() => living.reduce((sum, { started }) => sum + started.length, 0) === 120, soon);
  expect(slices).toEqual(Array.from({ length: 6 }, () => "dead"));
  const counts = living.map(({ started }) => started.length);
  expect(Math.max(...counts) / Math.min(...counts)).toBeLessThan(1.3);
  // Leaving waits for a recovery that goes on.
  await vi.waitFor(async () => expect((await world.leases.status()).anyExpired).toBe(false), soon);
  for (const { lease } of living) await lease.leave();
});

test("a turn that the store gave to another process is aborted, and stays there", async () => {
  const world = new World();
  const a = await world.member("a", { ttlMs: 400 });
  for (const session of ["s/1", "s/2"]) await a.start(session);
  world.queue.giveTo("other", "s/1");
  await vi.waitUntil(() => a.loop.running === 1, soon);
  await pass(400);
  expect((await world.queue.held("a")).map(({ session }) => session)).toEqual(["s/2"]);
  expect(world.queue.executorOf("s/1")).toBe("other");
  await a.lease.leave();
});

test("an executor goes on renewing its lease when it can't compare its turns with the store", async () => {
  const world = new World();
  const a = await world.member("a", { ttlMs: 400 });
  await a.start("s/1");
  world.queue.held = async () => {
    throw new Error("database is unreachable");
  };
  await pass(4_000);
  expect([a.lease.isFresh(), a.loop.running]).toEqual([true, 1]);
  expect(a.onError).toHaveBeenCalled();
  await a.lease.leave();
});
