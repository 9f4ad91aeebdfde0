/** Tests the turn loop with a queue and a clock of the tests. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type TurnHandler, TurnLoop, type TurnLoopOptions } from "../../../src/engine/worker/turn-loop.ts";
import { TURNS_CHANNEL } from "../../../src/session/signal-channels.ts";
import type { Signals } from "../../../src/signals/signals.ts";
import type { StartedTurn, StartTurns } from "../../../src/store/turn-queue.ts";
import { yieldToEventLoop } from "../../../src/util/sleep.ts";
import { standInSignals } from "../local-signals.ts";
import { TestQueue } from "../test-queue.ts";
import { untilAborted } from "../world.ts";

const CLOCK = ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date", "performance"] as const;
beforeEach(() => void vi.useFakeTimers({ toFake: [...CLOCK] }));
afterEach(() => void vi.useRealTimers());
const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

class Fixture {
  readonly queue = new TestQueue();
  readonly signals: Signals = standInSignals();
  /** What the loop asked the queue for. */
  readonly asked: StartTurns[] = [];
  readonly started: string[] = [];
  readonly errors: unknown[] = [];
  readonly ends = new Map<string, () => void>();

  loop(options: Partial<TurnLoopOptions> = {}): TurnLoop {
    const { queue } = this;
    const run: TurnHandler = (turn, signal) =>
      Promise.race([
        untilAborted(turn, signal),
        new Promise<void>((resolve) => this.ends.set(turn.held.session, resolve)),
      ]);
    const loop = new TurnLoop({
      executor: "worker",
      signals: this.signals,
      maxTurns: 100,
      agents: () => ["a"],
      mayStart: () => true,
      onError: (error) => this.errors.push(error),
      random: () => 0.5,
      ...options,
      queue: {
        start: (request) => {
          this.asked.push(request);
          return (options.queue ?? queue).start(request);
        },
        held: (executor) => (options.queue ?? queue).held(executor),
        release: (...args) => (options.queue ?? queue).release(...args),
      },
      run: async (turn, signal) => {
        this.started.push(turn.held.session);
        await (options.run ?? run)(turn, signal);
        queue.end(turn.held.session);
      },
    });
    this.signals.listen(TURNS_CHANNEL, (agent) => loop.onQueued(agent === "" ? null : agent));
    loop.open();
    return loop;
  }

  add(count: number, options: Parameters<TestQueue["add"]>[1] = {}): void {
    for (let n = 0; n < count; n++) this.queue.add(`s-${this.queue.size}`, { agent: "a", ...options });
  }

  signal(agent: string | null = "a"): void {
    this.signals.send(TURNS_CHANNEL, agent ?? "");
  }
}

/** A queue whose answers wait until the test passes them on. */
class SlowQueue {
  readonly queue: TestQueue;
  readonly answers: ((isLost?: boolean) => void)[] = [];

  constructor(queue: TestQueue) {
    this.queue = queue;
  }

  /** The queue starts turns at once, and only its answer takes time. */
  async start(request: StartTurns): Promise<StartedTurn[]> {
    const started = await this.queue.start(request);
    return new Promise((resolve, reject) =>
      this.answers.push((isLost = false) =>
        isLost ? reject(new Error("the answer was lost")) : resolve(started),
      ),
    );
  }

  held = (executor: string) => this.queue.held(executor);
  release = (...args: Parameters<TestQueue["release"]>) => this.queue.release(...args);
}

test("a signal starts the turns of its agent, and one for another agent starts nothing", async () => {
  const fixture = new Fixture();
  fixture.loop({ agents: () => ["a", "b"] });
  await pass(50);
  fixture.asked.length = 0;
  fixture.add(1, { agent: "b" });
  fixture.signal("c");
  await pass(1_000);
  expect([fixture.asked, fixture.started]).toEqual([[], []]);
  fixture.signal("b");
  await pass(10);
  expect(fixture.started).toEqual(["s-0"]);
  fixture.add(1, { agent: null });
  fixture.signal(null);
  await pass(10);
  expect(fixture.started).toEqual(["s-0", "s-1"]);
  expect(fixture.asked).toHaveLength(2);
});

test("starts the next turn of a session at once, and sends a signal if only other processes have its agent", async () => {
  const fixture = new Fixture();
  const loop = fixture.loop({ agents: () => ["a", "b"] });
  const signals: string[] = [];
  fixture.signals.listen(TURNS_CHANNEL, (agent) => signals.push(agent));
  await pass(50);
  fixture.asked.length = 0;
  fixture.add(1, { agent: "b" });
  loop.startNext("b");
  await pass(0);
  expect([fixture.started, signals]).toEqual([["s-0"], []]);
  loop.startNext("c");
  await pass(50);
  expect(fixture.asked).toHaveLength(1);
  expect(signals).toEqual(["c"]);
});

test("a signal that arrives while the queue is asked is not lost", async () => {
  const fixture = new Fixture();
  const slow = new SlowQueue(fixture.queue);
  fixture.loop({ queue: slow });
  await pass(50);
  expect(slow.answers).toHaveLength(1);
  // The question on its way didn't see this turn.
  fixture.add(1);
  fixture.signal();
  await pass(50);
  expect(slow.answers).toHaveLength(1);
  slow.answers[0]?.();
  await pass(50);
  slow.answers[1]?.();
  await pass(0);
  expect(fixture.started).toEqual(["s-0"]);
  await pass(1_000);
  expect(slow.answers).toHaveLength(2);
});

test("asks again after a signal that arrived while a question failed", async () => {
  const fixture = new Fixture();
  const slow = new SlowQueue(fixture.queue);
  fixture.loop({ queue: slow });
  await pass(50);
  fixture.add(1);
  fixture.signal();
  await pass(50);
  slow.answers[0]?.(true);
  await pass(50);
  slow.answers[1]?.();
  await pass(0);
  expect(fixture.started).toEqual(["s-0"]);
  expect(fixture.errors).toEqual([new Error("the answer was lost")]);
});

test("runs no more turns than it has slots, and starts the next one when one ends", async () => {
  const fixture = new Fixture();
  const loop = fixture.loop({ maxTurns: 5 });
  fixture.add(8);
  loop.poll();
  await pass(1_000);
  expect(loop.running).toBe(5);
  const { length } = fixture.asked;
  loop.poll();
  await pass(2_000);
  expect(fixture.asked).toHaveLength(length);
  fixture.ends.get("s-0")?.();
  await pass(10);
  expect(fixture.started).toHaveLength(6);
});

test("leaves the last slots to other tenants, and its backlog waits without questions", async () => {
  const fixture = new Fixture();
  const loop = fixture.loop({ maxTurns: 20 });
  fixture.add(40);
  loop.poll();
  await pass(5_000);
  expect(loop.running).toBe(18);
  const { length } = fixture.asked;
  await pass(5_000);
  expect(fixture.asked.length).toBe(length);
  fixture.queue.add("other", { agent: "a", tenant: "t2" });
  fixture.signal();
  await pass(200);
  expect(fixture.started.at(-1)).toBe("other");
  fixture.ends.get("s-0")?.();
  await pass(500);
  expect(fixture.started).toContain("s-18");
});

test("waits longer after a signal the more of its slots are in use", async () => {
  const delays: number[] = [];
  for (const running of [0, 4, 8]) {
    const fixture = new Fixture();
    const loop = fixture.loop({ maxTurns: 10 });
    for (let n = 0; n < running; n++) fixture.add(1, { tenant: `t${n}` });
    loop.poll();
    await pass(2_000);
    expect(loop.running).toBe(running);
    fixture.add(1, { tenant: "new" });
    fixture.signal();
    let delay = 0;
    for (; fixture.started.length === running; delay++) await pass(1);
    delays.push(delay);
  }
  const [idle = 0, half = 0, busy = 0] = delays;
  expect(idle).toBeLessThan(10);
  expect(half).toBeGreaterThan(idle + 20);
  expect(busy).toBeGreaterThan(half + 20);
});

test("the process with the least load starts a turn that all processes learn of", async () => {
  const fixture = new Fixture();
  const loops = ["busy", "calm"].map((executor) => fixture.loop({ executor, maxTurns: 10 }));
  for (let n = 0; n < 5; n++) fixture.queue.add(`b-${n}`, { member: "busy" });
  fixture.queue.add("c-0", { member: "calm" });
  for (const loop of loops) loop.poll();
  await pass(2_000);
  expect(loops.map(({ running }) => running)).toEqual([5, 1]);
  fixture.add(1);
  fixture.signal();
  await pass(200);
  expect(loops.map(({ running }) => running)).toEqual([5, 2]);
});

test("a suspected turn runs alone in an idle process, and others follow after it", async () => {
  const fixture = new Fixture();
  fixture.add(1, { deaths: 2 });
  fixture.add(3);
  const loop = fixture.loop();
  await pass(50);
  expect(fixture.started).toEqual(["s-0"]);
  loop.poll();
  fixture.signal();
  await pass(60_000);
  expect(loop.running).toBe(1);
  // Neither a poll nor a signal comes: the end of the turn starts the others.
  fixture.ends.get("s-0")?.();
  await pass(500);
  expect(fixture.started).toEqual(["s-0", "s-1", "s-2", "s-3"]);
});

test("a busy process leaves a suspected turn to idle ones, and runs it beside others if the queue gives it", async () => {
  const fixture = new Fixture();
  const { queue } = fixture;
  let hasWaited = false;
  const loop = fixture.loop({
    queue: {
      // A turn that has waited for a minute is started by any process.
      start: async (request) => {
        const turns = await queue.start({ ...request, isIdle: request.isIdle || hasWaited });
        return turns.map((turn) => ({ ...turn, isAlone: request.isIdle && turn.isAlone }));
      },
      held: (executor) => queue.held(executor),
      release: (turns) => queue.release(turns),
    },
  });
  fixture.add(2);
  loop.poll();
  await pass(500);
  fixture.add(1, { deaths: 2 });
  fixture.signal();
  await pass(5_000);
  expect(fixture.started).toEqual(["s-0", "s-1"]);
  expect(fixture.asked.at(-1)).toMatchObject({ isIdle: false });
  hasWaited = true;
  loop.poll();
  await pass(50);
  expect(loop.running).toBe(3);
  fixture.add(1);
  loop.poll();
  await pass(50);
  expect(loop.running).toBe(4);
});

test("a turn whose handler fails returns to the queue later, and the error is reported", async () => {
  const fixture = new Fixture();
  const releases: unknown[] = [];
  fixture.add(1);
  const loop = fixture.loop({
    run: () => Promise.reject(new Error("a bug")),
    queue: {
      start: (request) => fixture.queue.start(request),
      held: async () => [],
      release: async (turns, options) =>
        void releases.push([turns.map(({ session }) => session), options?.delayMs]),
    },
  });
  await pass(100);
  await yieldToEventLoop();
  expect(loop.running).toBe(0);
  expect(fixture.errors).toEqual([new Error("a bug")]);
  expect(releases).toEqual([[["s-0"], 1_000]]);
});

test("starts nothing while its lease is in doubt or after it has closed", async () => {
  const fixture = new Fixture();
  let mayStart = false;
  const loop = fixture.loop({ mayStart: () => mayStart });
  fixture.add(2);
  loop.poll();
  await pass(1_000);
  expect(fixture.asked).toEqual([]);
  mayStart = true;
  loop.poll();
  await pass(50);
  expect(loop.running).toBe(2);
  const over = loop.handOver();
  await pass(50);
  await over;
  expect(["s-0", "s-1"].map((session) => fixture.queue.executorOf(session))).toEqual([null, null]);
  const { length } = fixture.asked;
  loop.poll();
  fixture.signal();
  await pass(1_000);
  expect(fixture.asked).toHaveLength(length);
});

test("turns that the queue gives it after its lease is in doubt, or while it closes, return to the queue", async () => {
  for (const happens of ["doubt", "close"]) {
    const fixture = new Fixture();
    const slow = new SlowQueue(fixture.queue);
    let mayStart = true;
    const run = vi.fn<TurnHandler>(untilAborted);
    fixture.add(1);
    const loop = fixture.loop({ queue: slow, mayStart: () => mayStart, run });
    await pass(50);
    expect(fixture.queue.executorOf("s-0")).toBe("worker");
    const over = happens === "close" ? loop.handOver() : null;
    mayStart = false;
    slow.answers[0]?.();
    await pass(50);
    await over;
    await yieldToEventLoop();
    expect([happens, fixture.queue.executorOf("s-0"), loop.running]).toEqual([happens, null, 0]);
    expect(run).not.toHaveBeenCalled();
  }
});

test("a comparison aborts turns that the store gave away, and keeps the others", async () => {
  const fixture = new Fixture();
  fixture.add(3);
  const loop = fixture.loop();
  await pass(500);
  loop.poll();
  await pass(500);
  expect(loop.running).toBe(3);
  fixture.queue.giveTo("other", "s-1");
  await loop.compareHeld();
  await yieldToEventLoop();
  await yieldToEventLoop();
  expect(loop.running).toBe(2);
  expect(["s-0", "s-1", "s-2"].map((session) => fixture.queue.executorOf(session))).toEqual([
    "worker",
    "other",
    "worker",
  ]);
  expect(fixture.errors).toEqual([]);
});

test("a comparison returns turns that the process never learned of, because the answer was lost", async () => {
  const fixture = new Fixture();
  const slow = new SlowQueue(fixture.queue);
  fixture.add(1);
  const loop = fixture.loop({ queue: slow });
  await pass(50);
  slow.answers[0]?.(true);
  await pass(0);
  expect([loop.running, fixture.queue.executorOf("s-0")]).toEqual([0, "worker"]);
  await loop.compareHeld();
  expect(fixture.queue.executorOf("s-0")).toBeNull();
  loop.poll();
  await pass(50);
  slow.answers[1]?.();
  await pass(0);
  expect(fixture.started).toEqual(["s-0"]);
});

test("a comparison changes nothing while a start is on its way, or if one came between", async () => {
  const fixture = new Fixture();
  const slow = new SlowQueue(fixture.queue);
  const loop = fixture.loop({ queue: slow });
  await pass(50);
  slow.answers[0]?.();
  await pass(0);
  // The store has given it this turn, and the answer is on its way.
  fixture.add(1);
  loop.poll();
  await pass(50);
  await loop.compareHeld();
  expect(fixture.queue.executorOf("s-0")).toBe("worker");
  slow.answers[1]?.();
  await pass(0);
  expect(loop.running).toBe(1);
  // The store answers the comparison, then starts a turn whose answer arrives first.
  const before = await fixture.queue.held("worker");
  let answer!: () => void;
  slow.held = () => new Promise((resolve) => (answer = () => resolve(before)));
  const comparing = loop.compareHeld();
  fixture.add(1);
  loop.poll();
  await pass(50);
  slow.answers[2]?.();
  await pass(0);
  expect(loop.running).toBe(2);
  answer();
  await comparing;
  await yieldToEventLoop();
  expect(loop.running).toBe(2);
  expect(["s-0", "s-1"].map((session) => fixture.queue.executorOf(session))).toEqual(["worker", "worker"]);
});
