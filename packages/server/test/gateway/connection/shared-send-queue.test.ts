/**
 * Tests several sessions on one connection with an irregular reader. The session with the largest backlog is evicted
 * first and returns in turn. Every session is sent without a gap or a repetition, or restarts explicitly.
 */
import {
  assertCases,
  type CaseCounts,
  leastSeen,
  totalCases,
} from "@turnstream/conformance/support/cases.ts";
import { emptyState, type SessionEvent, fold, restore, type Snapshot } from "@turnstream/protocol";
import fc from "fast-check";
import { expect, test } from "vitest";
import { createSessionFeeds } from "../../../src/gateway/feed/session-feeds.ts";
import { SendQueue, type Transport } from "../../../src/gateway/connection/send-queue.ts";
import { type SocketHandle, SocketSubscriber } from "../../../src/gateway/ws/socket-subscriber.ts";
import { encodeTextFrame } from "../../../src/gateway/encoding/ws-frame.ts";
import { createMemoryLog } from "../../../src/log/memory.ts";
import { createMemoryStore } from "@turnstream/testing";
import { titles } from "../../log/drafts.ts";
import { SessionHarness } from "../../session/session-harness.ts";
import { streamFormat, type Frame, readFrames } from "../test-subscriber.ts";

const CASES: CaseCounts = { push: 100, full: 100 };
const RUNS = totalCases(CASES);
const NATIVE = streamFormat("native");
/** The number of bytes that a connection buffers before it applies backpressure. */
const ENOUGH = 300;
const QUEUE_BYTES = 1_500;
/** More than the notice and the snapshot of a session of this test. An evicted session is sent these when it is called. */
const CALLED_BYTES = 2_000;

/** The transport and the client behind it. */
class Link implements Transport {
  readonly frames: Frame[] = [];
  #holds: Uint8Array[] = [];

  get bufferedBytes(): number {
    return this.#holds.reduce((sum, bytes) => sum + bytes.byteLength, 0);
  }

  write(bytes: Uint8Array): boolean {
    this.#holds.push(bytes);
    return this.bufferedBytes < ENOUGH;
  }

  read(): void {
    for (const bytes of this.#holds) this.frames.push(...readFrames(NATIVE, bytes));
    this.#holds = [];
  }

  end(): void {}
  destroy(): void {
    throw new Error("too many replies were buffered");
  }
}

const seen = { evicted: 0, slow: 0 };

class CountedSubscriber extends SocketSubscriber {
  override onEvicted(at: Parameters<SocketSubscriber["onEvicted"]>[0]): void {
    if (at !== null) seen.evicted++;
    super.onEvicted(at);
  }
}

class Shared {
  readonly link = new Link();
  readonly worlds: SessionHarness[] = [];
  readonly queue: SendQueue;
  readonly #subscribers: SocketSubscriber[] = [];
  readonly #parts = { log: createMemoryLog(), store: createMemoryStore() };
  readonly feeds = createSessionFeeds({
    ...this.#parts,
    limits: { snapshotTurns: 20 },
    createBlobUrlResolver: () => (blob) => blob,
    onError: (error) => {
      throw error;
    },
  });

  constructor(queueBytes: number) {
    const flushed = () => {
      for (const { subscription } of this.#subscribers) subscription?.onFlush();
    };
    this.queue = new SendQueue(this.link, { onFlush: flushed, onDrain: ignore, onClose: ignore }, queueBytes);
  }

  async add(title = ""): Promise<void> {
    const world = await (await SessionHarness.make(this.#parts)).start();
    if (title !== "") await world.append(...titles(title));
    this.worlds.push(world);
  }

  subscribe(): void {
    const connection: SocketHandle = {
      queue: this.queue,
      reply: (reply) => this.queue.sendReliable(encodeTextFrame(JSON.stringify(reply))),
      remove: () => undefined,
    };
    for (const { ref } of this.worlds) {
      const subscriber = new CountedSubscriber(
        connection,
        { session: ref.session, release: () => undefined },
        undefined,
      );
      this.#subscribers.push(subscriber);
      subscriber.subscription = this.feeds.subscribe(ref, { format: NATIVE, after: null }, subscriber);
    }
  }

  read(): void {
    this.link.read();
    this.queue.transportDrained();
  }

  /** Reads until no more frames arrive. */
  async readAll(): Promise<void> {
    for (let idleRounds = 0, last = -1; idleRounds < 8;) {
      await breath();
      this.read();
      idleRounds = this.link.frames.length === last ? idleRounds + 1 : 0;
      last = this.link.frames.length;
    }
  }

  /** Checks the received frames of a session. @returns the title that is shown */
  follow({ ref }: SessionHarness): string | null {
    let state = emptyState;
    let isRestarted = true;
    for (const { session_id, ...frame } of this.link.frames) {
      if (session_id !== ref.session) continue;
      if (frame["type"] === "subscribed") {
        if (frame["reason"] === "slow") seen.slow++;
        isRestarted = frame["resumed"] === false;
      } else if (frame["type"] === "snapshot") {
        if (!isRestarted) throw new Error("a snapshot without a restart notice");
        state = restore(frame["snapshot"] as Snapshot);
        isRestarted = false;
      } else {
        const event = frame as unknown as SessionEvent;
        const seq = Number(event.id.split("-")[1]);
        if (isRestarted || seq !== state.seq + 1) throw new Error(`${event.id} after ${state.seq}`);
        state = fold(state, event);
      }
    }
    return state.title;
  }
}

function ignore(): void {}

function breath(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

test(`${RUNS} runs: a session that is evicted for another catches up later, once and in order`, async () => {
  const step = fc.record({
    session: fc.nat(3),
    titles: fc.integer({ min: 1, max: 5 }),
    reads: fc.nat(3),
    breathes: fc.boolean(),
  });
  await assertCases(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
      const shared = new Shared(QUEUE_BYTES);
      for (let n = 0; n < 4; n++) await shared.add();
      shared.subscribe();
      await shared.readAll();
      let count = 0;
      for (const { session, titles: many, reads, breathes } of steps) {
        const world = shared.worlds[session] as SessionHarness;
        await world.append(...titles(...Array.from({ length: many }, () => `title ${count++}`)));
        if (breathes) await breath();
        if (reads === 0) shared.read();
        expect(
          shared.queue.bufferedBytes - shared.link.bufferedBytes,
          "the bound, and one that was called",
        ).toBeLessThan(QUEUE_BYTES + CALLED_BYTES);
      }
      await shared.readAll();
      for (const world of shared.worlds) expect(shared.follow(world)).toBe(world.folded().title);
      await shared.feeds.close();
    }),
    CASES,
  );
  expect(seen.evicted).toBeGreaterThan(leastSeen(0.25, CASES));
  expect(seen.slow).toBeGreaterThan(leastSeen(0.05, CASES));
});

test("a hundred sessions larger than the queue are sent one after the other, each once or twice", async () => {
  const shared = new Shared(2_000);
  for (let n = 0; n < 100; n++) await shared.add(`${n} `.repeat(500));
  shared.subscribe();
  const countSnapshots = () => shared.link.frames.filter(({ type }) => type === "snapshot").length;
  while (countSnapshots() < 100) {
    await breath();
    shared.read();
  }
  await shared.readAll();
  for (const world of shared.worlds) expect(shared.follow(world)).toBe(world.folded().title);
  expect(countSnapshots()).toBe(100);
  const notices = shared.link.frames.filter(({ type }) => type === "subscribed").length;
  expect(notices).toBeLessThanOrEqual(200);
  await shared.feeds.close();
});
