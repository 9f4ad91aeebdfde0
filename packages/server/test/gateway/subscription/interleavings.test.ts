/**
 * Tests the transition from replay to live under random schedules. Subscribers start at any cursor, are slow, drain and
 * leave, while the log is written, claimed, archived, trimmed, or loses entries. Every subscriber receives exactly the
 * log after its start, or restarts explicitly.
 */
import {
  assertCases,
  type CaseCounts,
  leastSeen,
  totalCases,
} from "@turnstream/conformance/support/cases.ts";
import { comparePositions, parseCursor, emptyState, formatCursor, START_CURSOR } from "@turnstream/protocol";
import fc, { type Scheduler } from "fast-check";
import { expect, test } from "vitest";
import type { StreamFormat, DialectName } from "../../../src/gateway/encoding/stream-format.ts";
import { SessionFeed } from "../../../src/gateway/feed/session-feed.ts";
import { isLogError } from "../../../src/log/errors.ts";
import { createStreamLog } from "../../../src/log/stream-log.ts";
import { archiveSession } from "../../../src/session/archive/archive.ts";
import { trimLog } from "@turnstream/testkit/backend/trim-log.ts";
import { isStoreError } from "../../../src/store/errors.ts";
import { createMemoryStore } from "@turnstream/testing";
import { sessionKey } from "../../../src/util/refs.ts";
import { ScheduledEngine } from "../../log/scheduled-engine.ts";
import { SessionHarness } from "../../session/session-harness.ts";
import { LogHistory } from "../log-history.ts";
import { checkExact, type Counts, ExactSubscriber, TURNS } from "../exact-subscriber.ts";
import { longTurn, generateDrafts, createTakeover } from "../generated-turns.ts";
import { streamFormat, type TestSubscriber } from "../test-subscriber.ts";

const CASES: CaseCounts = { push: 700, full: 10_000 };
/** `TURNSTREAM_CASES=100000` runs 100,000 cases within half an hour. */
const LONG_MS = Math.max(600_000, totalCases(CASES) * 18);

type Command =
  | { readonly do: "write"; readonly which: readonly number[] }
  | { readonly do: "claim" | "archive" | "expire" | "reconnect" | "wipe" }
  | { readonly do: "clog" | "unclog" | "leave"; readonly who: number }
  | { readonly do: "fail over"; readonly lose: number }
  | {
      readonly do: "view";
      readonly choice: StreamFormat;
      readonly back: number | null;
      readonly sink: { readonly maxQueued: number; readonly isClogged: boolean };
    };

const write = fc.record({
  do: fc.constant("write" as const),
  which: fc.array(fc.nat(0xffff), { minLength: 1, maxLength: 6 }),
});
const view = fc.record({
  do: fc.constant("view" as const),
  choice: fc.constantFrom(
    streamFormat("native"),
    streamFormat("native", "sse"),
    streamFormat("native", "socket", true),
    streamFormat("blocks"),
    streamFormat("blocks", "sse"),
    streamFormat("tasks"),
    streamFormat("tasks", "sse"),
    streamFormat("responses", "sse"),
    { ...streamFormat("responses", "sse"), includeToolTags: true },
  ),
  back: fc.option(fc.nat(12), { freq: 3 }),
  sink: fc.record({
    maxQueued: fc.constantFrom(150, 150, 1_500),
    isClogged: fc.integer({ min: 0, max: 3 }).map((n) => n === 3),
  }),
});
const plain = (...names: ("claim" | "archive" | "expire" | "reconnect" | "wipe")[]) =>
  names.map((name) => fc.constant<Command>({ do: name }));
const ofOne = (...names: ("clog" | "unclog" | "leave")[]) =>
  names.map((name) => fc.record({ do: fc.constant(name), who: fc.nat(2) }));
const calm = [
  write,
  write,
  write,
  write,
  view,
  view,
  ...ofOne("clog", "clog", "clog", "unclog"),
  ...plain("claim", "archive"),
];
const rough = [
  ...calm,
  ...plain("expire", "wipe", "reconnect"),
  ...ofOne("leave"),
  fc.record({ do: fc.constant("fail over" as const), lose: fc.integer({ min: 0, max: 3 }) }),
];

function ofMood(mood: "calm" | "rough", commands: fc.Arbitrary<Command>[]) {
  const step = fc.record({ command: fc.oneof(...commands), steps: fc.oneof(fc.nat(2), fc.nat(20)) });
  return fc.record({
    mood: fc.constant(mood),
    /** The session is so long that it is sent in several pages. */
    isLong: fc.integer({ min: 0, max: 29 }).map((n) => n === 29),
    commands: fc.array(step, { minLength: 3, maxLength: 14 }),
  });
}

const seen: Record<DialectName, Counts> = {
  native: noCounts(),
  blocks: noCounts(),
  tasks: noCounts(),
  responses: noCounts(),
};

function noCounts(): Counts {
  return { subscribers: 0, frames: 0, merged: 0, slow: 0, restarted: 0, resumed: 0 };
}

/** A start that was resolved just before the log was lost is reported while the feed has no position. */
class RecordedFeed extends SessionFeed {
  #headBeforeReset: string = START_CURSOR;

  get lastHead(): string {
    return this.buffer === null ? this.#headBeforeReset : formatCursor(this.head);
  }

  override onReset(): void {
    this.#headBeforeReset = this.lastHead;
    super.onReset();
  }
}

class Scenario {
  readonly engine: ScheduledEngine;
  readonly world: SessionHarness;
  readonly feed: RecordedFeed;
  readonly subscribers: ExactSubscriber[] = [];
  readonly logHistory: LogHistory;
  /** The state that the writer assumes. */
  #state = emptyState;
  #writing: Promise<void> = Promise.resolve();
  #count = 0;

  private constructor(engine: ScheduledEngine, world: SessionHarness, scheduler: Scheduler) {
    this.engine = engine;
    this.world = world;
    this.logHistory = new LogHistory(engine);
    this.#lookUp();
    const wait = async (): Promise<void> => void (await scheduler.schedule(Promise.resolve("slice")));
    this.feed = new RecordedFeed(world.ref, {
      ...world.backend,
      limits: { snapshotTurns: TURNS },
      createBlobUrlResolver: () => (blob) => blob,
      slices: { run: async (piece) => wait().then(piece) },
      sleep: wait,
      onError: (error) => {
        throw error;
      },
    });
  }

  static async make(scheduler: Scheduler): Promise<Scenario> {
    const engine = new ScheduledEngine(scheduler);
    const log = createStreamLog(engine, { now: () => 1, pageSize: 3, maxQueued: 600 });
    const world = await SessionHarness.make({ log, store: createMemoryStore() });
    await engine.watch(sessionKey(world.ref));
    await engine.inner.subscribe(sessionKey(world.ref), () => undefined);
    const starting = world.start();
    await idle(scheduler);
    await starting;
    return new Scenario(engine, world, scheduler);
  }

  async run(command: Command): Promise<void> {
    const { world, engine } = this;
    switch (command.do) {
      case "write":
        // There is one writer, so its writes are in order.
        this.#writing = this.#writing.then(() =>
          this.#try(async () => {
            await world.append(...generateDrafts(this.#state, command.which, () => this.#count++));
            this.#lookUp();
          }),
        );
        return this.#writing;
      case "claim":
        return this.#try(async () => {
          await world.claim(createTakeover(this.#state));
          this.#lookUp();
        });
      case "archive":
        return this.#try(async () => {
          await archiveSession(world.backend, world.ref);
          await trimLog(world.backend, world.ref);
        });
      case "expire":
        return this.#try(async () => {
          const { cursor } = await archiveSession(world.backend, world.ref);
          engine.inner.expireNow(sessionKey(world.ref), parseCursor(cursor) ?? { epoch: 0, seq: 0 });
        });
      case "view": {
        const { choice: of, back, sink } = command;
        const { maxQueued, isClogged } = sink;
        const after = back === null ? null : (world.events.at(-1 - back)?.id ?? START_CURSOR);
        const subscriber = new ExactSubscriber(of, { maxQueued, after, head: () => this.feed.lastHead });
        if (isClogged) subscriber.clog();
        subscriber.subscription = this.feed.subscribe({ format: of, after }, subscriber);
        this.subscribers.push(subscriber);
        return;
      }
      case "clog":
        return this.#subscriber(command.who)?.clog();
      case "unclog":
        return this.#subscriber(command.who)?.unclog();
      case "leave": {
        const subscriber = this.#subscriber(command.who);
        if (subscriber === undefined) return;
        subscriber.left = true;
        return subscriber.close();
      }
      case "reconnect":
        return engine.reconnect();
      case "fail over":
        engine.inner.failOver({ [sessionKey(world.ref)]: command.lose });
        return engine.reconnect();
      case "wipe":
        engine.inner.wipe();
    }
  }

  #subscriber(who: number): ExactSubscriber | undefined {
    return this.subscribers.at(-1 - (who % Math.max(1, this.subscribers.length)));
  }

  /** This result can arrive after that of a newer claim. */
  #lookUp(): void {
    const state = this.logHistory.stateAt(this.world.events.at(-1)?.id ?? START_CURSOR);
    if (comparePositions(state, this.#state) > 0) this.#state = state;
  }

  /** Ignores refusals of the log after a loss. The next claim of the writer repairs them. */
  async #try(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!isLogError(error) && !isStoreError(error)) throw error;
    }
  }

  async check(): Promise<void> {
    const { backend, ref } = this.world;
    const head = await this.engine.inner.head(sessionKey(ref));
    const end = head === null ? (await backend.store.archive.header(ref)).archived : formatCursor(head.last);
    for (const subscriber of this.subscribers)
      checkExact(subscriber, ref.session, this.logHistory, end, seen[subscriber.format.dialect]);
  }
}

const MANY_STEPS = 5_000;

/** Runs everything under way to its end. Returns false if there is no end. */
async function rests(scheduler: Scheduler): Promise<boolean> {
  for (let steps = 0; ; steps++) {
    // The next task can appear some ticks after the last step.
    for (let n = 0; n < 40 && scheduler.count() === 0; n++) await Promise.resolve();
    if (scheduler.count() === 0) await new Promise((resolve) => setImmediate(resolve));
    if (scheduler.count() === 0) return true;
    if (steps > MANY_STEPS) return false;
    await scheduler.waitOne();
  }
}

async function idle(scheduler: Scheduler): Promise<void> {
  if (!(await rests(scheduler))) throw new Error("it never becomes idle");
}

test(
  `${totalCases(CASES)} interleavings: every subscriber receives exactly the log, or restarts explicitly`,
  async () => {
    await assertCases(
      fc.asyncProperty(
        fc.scheduler(),
        fc.oneof(ofMood("calm", calm), ofMood("rough", rough)),
        async (scheduler, { commands, mood, isLong }) => {
          const scenario = await Scenario.make(scheduler);
          const before = isLong ? scenario.run({ do: "write", which: longTurn(40) }) : undefined;
          if (isLong) await idle(scheduler);
          await before;
          const running: Promise<void>[] = [];
          for (const { command, steps } of commands) {
            running.push(scenario.run(command));
            for (let n = 0; n < steps && scheduler.count() > 0; n++) await scheduler.waitOne();
          }
          // If an archived entry was lost, subscribers restart repeatedly, with pauses, until a claim repairs the log.
          const settle = mood === "calm" ? idle : rests;
          await settle(scheduler);
          await Promise.all(running);
          for (const subscriber of scenario.subscribers) subscriber.unclog();
          await settle(scheduler);
          // No subscriber may wait for an entry that is already there.
          if (mood === "calm") await scenario.check();
          // The claim repairs the loss.
          const ending = scenario.run({ do: "claim" });
          await idle(scheduler);
          await ending;
          const last = scenario.run({ do: "write", which: [0, 1] });
          await idle(scheduler);
          await last;
          await scenario.check();
          const isWhole = mood === "calm" && !commands.some(({ command }) => command.do === "archive");
          if (isWhole) for (const subscriber of scenario.subscribers) expectNoRestart(subscriber);
          scenario.feed.close();
          await idle(scheduler);
        },
      ),
      CASES,
    );
    const all = Object.values(seen);
    const sum = (what: keyof Counts): number => all.reduce((so, counts) => so + counts[what], 0);
    const totals = (["subscribers", "frames", "merged", "slow", "restarted", "resumed"] as const).map(
      (what) => `${what} ${sum(what)}`,
    );
    console.log(`${totalCases(CASES)} interleavings: ${totals.join(", ")}`);
    expect(sum("subscribers")).toBeGreaterThan(leastSeen(1, CASES));
    expect(sum("frames")).toBeGreaterThan(leastSeen(2, CASES));
    expect(sum("slow")).toBeGreaterThan(leastSeen(0.01, CASES));
    expect(sum("restarted")).toBeGreaterThan(leastSeen(0.01, CASES));
    expect(sum("resumed")).toBeGreaterThan(leastSeen(0.1, CASES));
    for (const counts of all) {
      expect(counts.subscribers).toBeGreaterThan(leastSeen(0.2, CASES));
      expect(counts.frames).toBeGreaterThan(leastSeen(0.5, CASES));
      expect(counts.merged).toBeGreaterThan(leastSeen(0.01, CASES));
      expect(counts.slow).toBeGreaterThan(leastSeen(0.0001, CASES));
    }
  },
  LONG_MS,
);

/** Without losses and trims, only a slow subscriber restarts. */
function expectNoRestart(subscriber: TestSubscriber): void {
  for (const { reason } of subscriber.starts.slice(1)) expect(reason).toBe("slow");
}
