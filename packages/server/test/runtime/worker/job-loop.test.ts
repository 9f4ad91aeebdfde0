/** Tests the job loop with a queue and a clock of the tests. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type JobHandler, JobLoop, type JobLoopOptions } from "../../../src/runtime/worker/job-loop.ts";
import { turnTopic } from "../../../src/session/signal-channels.ts";
import type { Signals } from "../../../src/signals/signals.ts";
import type { FetchJobs } from "../../../src/store/ports/jobs.ts";
import { standInSignals } from "../../engine/local-signals.ts";
import { TestQueue } from "../../engine/test-queue.ts";
import { untilAborted } from "../../engine/world.ts";

const CLOCK = ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date", "performance"] as const;
beforeEach(() => void vi.useFakeTimers({ toFake: [...CLOCK] }));
afterEach(() => void vi.useRealTimers());
const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

class Fixture {
  readonly queue = new TestQueue();
  readonly signals: Signals = standInSignals();
  readonly fetches: FetchJobs[] = [];
  readonly started: string[] = [];
  readonly errors: unknown[] = [];
  readonly ends = new Map<string, () => void>();

  loop(options: Partial<JobLoopOptions> = {}): JobLoop {
    const { queue } = this;
    const run: JobHandler = (job, signal) =>
      Promise.race([
        untilAborted(job, signal),
        new Promise<void>((resolve) => this.ends.set(job.id, resolve)),
      ]);
    const loop = new JobLoop({
      executor: "worker",
      jobs: {
        fetch: async (request) => {
          this.fetches.push(request);
          return queue.fetch(request);
        },
        release: (jobs) => queue.release(jobs),
      },
      signals: this.signals,
      maxJobs: 100,
      agents: () => ["a"],
      mayFetch: () => true,
      drain: () => undefined,
      onDrained: () => undefined,
      onError: (error) => this.errors.push(error),
      ...options,
      run: async (job, signal) => {
        this.started.push(job.id);
        await (options.run ?? run)(job, signal);
        queue.end(job.id);
      },
    });
    this.signals.listen("worker", (topic) => loop.hint(topic));
    loop.start();
    return loop;
  }

  add(count: number, agent: string | null = "a", deaths = 0): void {
    for (let n = 0; n < count; n++)
      this.queue.add(`job-${this.queue.rows.size}`, null, { agent, deaths, alone: deaths > 0 });
  }
}

test("fetches only the queue that a hint names, once", async () => {
  const fixture = new Fixture();
  const loop = fixture.loop({ agents: () => ["a", "b"] });
  await pass(50);
  fixture.fetches.length = 0;
  fixture.add(1, "b");
  fixture.signals.hint(turnTopic("b"));
  await pass(10);
  expect(fixture.started).toEqual(["job-0"]);
  expect(fixture.fetches.map(({ agents }) => agents)).toEqual([["b"]]);
  fixture.signals.hint(turnTopic("c"));
  loop.hint("other");
  await pass(50);
  expect(fixture.fetches).toHaveLength(1);
});

test("fetches the next job of a session from its queue alone, and sends a hint if only others have its agent", async () => {
  const fixture = new Fixture();
  const loop = fixture.loop({ agents: () => ["a", "b"] });
  const hints: string[] = [];
  fixture.signals.offer("other", { topics: [turnTopic("c")], load: 0 });
  fixture.signals.listen("other", (topic) => hints.push(topic));
  await pass(50);
  fixture.fetches.length = 0;
  fixture.add(1, "b");
  loop.fetchNext("b");
  await pass(1);
  expect(fixture.started).toEqual(["job-0"]);
  loop.fetchNext("c");
  await pass(50);
  expect(fixture.fetches.map(({ agents }) => agents)).toEqual([["b"]]);
  expect(hints).toEqual([turnTopic("c")]);
});

test("runs no more jobs than it has slots, and fetches the next one when one ends", async () => {
  const fixture = new Fixture();
  const loop = fixture.loop({ maxJobs: 5 });
  fixture.add(8);
  loop.poll();
  await pass(500);
  expect(loop.running).toBe(5);
  const { length } = fixture.fetches;
  loop.poll();
  await pass(2_000);
  expect(fixture.fetches).toHaveLength(length);
  fixture.ends.get("job-0")?.();
  await pass(10);
  expect(fixture.started).toHaveLength(6);
});

test("leaves the last slots to other tenants, and its backlog waits without fetching", async () => {
  const fixture = new Fixture();
  const loop = fixture.loop({ maxJobs: 20 });
  fixture.add(40);
  loop.poll();
  await pass(1_000);
  expect(loop.running).toBe(18);
  const { length } = fixture.fetches;
  await pass(5_000);
  expect(fixture.fetches.length).toBe(length);
  fixture.queue.rows.set("other", {
    ...fixture.queue.rows.get("job-0")!,
    id: "other",
    tenant: "t2",
    owner: null,
  });
  fixture.signals.hint(turnTopic("a"));
  await pass(10);
  expect(fixture.started.at(-1)).toBe("other");
  fixture.ends.get("job-0")?.();
  await pass(50);
  expect(fixture.started).toContain("job-18");
});

test("a job of a turn that ended processes runs alone", async () => {
  const fixture = new Fixture();
  fixture.add(1, "a", 2);
  const loop = fixture.loop();
  await pass(50);
  expect(fixture.started).toEqual(["job-0"]);
  fixture.add(3);
  loop.poll();
  fixture.signals.hint(turnTopic("a"));
  await pass(1_000);
  expect(loop.running).toBe(1);
  fixture.ends.get("job-0")?.();
  await pass(200);
  expect(loop.running).toBe(3);
});

test("a busy worker gives up its jobs for such a job if no other worker has taken it for a while", async () => {
  const fixture = new Fixture();
  let drains = 0;
  const onDrained = vi.fn<() => void>();
  const loop = fixture.loop({ drain: () => drains++, onDrained });
  fixture.add(2);
  loop.poll();
  await pass(100);
  fixture.add(1, "a", 3);
  await loop.freeAllSlots();
  await pass(15_000);
  await loop.freeAllSlots();
  expect([drains, loop.running]).toEqual([0, 2]);
  // The job stays in the queue for idle workers.
  await new Promise((resolve) => void setImmediate(resolve));
  expect(fixture.queue.rows.get("job-2")?.owner).toBeNull();
  await pass(15_000);
  await loop.freeAllSlots();
  expect(drains).toBe(1);
  fixture.add(1);
  loop.poll();
  await pass(1_000);
  fixture.ends.get("job-0")?.();
  await pass(10);
  expect(fixture.started).toEqual(["job-0", "job-1"]);
  // The last one does not end, so it is aborted and returns to the queue.
  await pass(30_000);
  expect(fixture.started).toEqual(["job-0", "job-1", "job-2"]);
  expect(onDrained).toHaveBeenCalledTimes(1);
  expect(fixture.queue.rows.get("job-1")?.owner).toBeNull();
  expect(fixture.errors).toEqual([]);
});

test("after one death, a suspected turn runs alone in an idle worker, which fetches others after a while", async () => {
  const fixture = new Fixture();
  fixture.add(2);
  fixture.add(1, "a", 1);
  const loop = fixture.loop();
  await pass(50);
  expect(fixture.started).toEqual(["job-2"]);
  await pass(29_000);
  expect(loop.running).toBe(1);
  await pass(2_000);
  expect(fixture.started).toEqual(["job-2", "job-0", "job-1"]);
});

test("a turn that is suspected after one death runs beside others if no worker is idle for a while", async () => {
  const fixture = new Fixture();
  fixture.add(2);
  const loop = fixture.loop();
  await pass(50);
  fixture.add(1, "a", 1);
  loop.onRecovered();
  await pass(14_000);
  expect(loop.running).toBe(2);
  await pass(2_000);
  expect(fixture.started).toEqual(["job-0", "job-1", "job-2"]);
  // It doesn't keep others from starting.
  fixture.add(1);
  loop.poll();
  await pass(100);
  expect(loop.running).toBe(4);
});

test("a job whose handler fails returns to the queue, and the error is reported", async () => {
  const fixture = new Fixture();
  const releases: (number | undefined)[] = [];
  fixture.add(1);
  const loop = fixture.loop({
    run: () => Promise.reject(new Error("a bug")),
    jobs: { fetch: (r) => fixture.queue.fetch(r), release: async (_, o) => void releases.push(o?.delayMs) },
  });
  await pass(100);
  await new Promise((resolve) => void setImmediate(resolve));
  expect(loop.running).toBe(0);
  expect(fixture.errors).toEqual([new Error("a bug")]);
  expect(releases[0]).toBeGreaterThan(0);
});

test("fetches nothing while its lease is in doubt or after it has stopped", async () => {
  const fixture = new Fixture();
  let mayFetch = false;
  const loop = fixture.loop({ mayFetch: () => mayFetch });
  fixture.add(2);
  loop.poll();
  await pass(1_000);
  expect(fixture.fetches).toEqual([]);
  mayFetch = true;
  loop.poll();
  await pass(50);
  expect(loop.running).toBe(2);
  const over = loop.handOver();
  await pass(50);
  await over;
  expect([...fixture.queue.rows.values()].map(({ owner }) => owner)).toEqual([null, null]);
  const { length } = fixture.fetches;
  loop.poll();
  fixture.signals.hint(turnTopic("a"));
  await pass(1_000);
  expect(fixture.fetches).toHaveLength(length);
});

test("a full worker gets no hints, and a free one does again", async () => {
  const fixture = new Fixture();
  const loop = fixture.loop({ maxJobs: 1 });
  const others: string[] = [];
  fixture.signals.listen("other", (topic) => others.push(topic));
  fixture.add(1);
  loop.poll();
  await pass(200);
  fixture.signals.offer("other", { topics: [turnTopic("a")], load: 0 });
  for (let n = 0; n < 20; n++) fixture.signals.hint(turnTopic("a"));
  expect(others).toHaveLength(20);
  fixture.ends.get("job-0")?.();
  await pass(200);
  expect(fixture.signals.leastLoad(turnTopic("a"), "other")).toBe(0);
});
