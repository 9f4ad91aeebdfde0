/** `World` runs leases with their turn loops in one process, on one queue and one table of leases. */
import { seededRandom } from "@turnstream/testkit/util/seeded-random.ts";
import { vi } from "vitest";
import { EngineError } from "../../src/engine/errors.ts";
import { Lease, type LeaseOptions, RECOVERED_CHANNEL } from "../../src/engine/lease/lease.ts";
import { type TurnHandler, TurnLoop } from "../../src/engine/worker/turn-loop.ts";
import { TURNS_CHANNEL } from "../../src/session/signal-channels.ts";
import type { Signals } from "../../src/signals/signals.ts";
import { createMemoryStore } from "@turnstream/testing";
import type { Leases } from "../../src/store/leases.ts";
import { standInSignals } from "./local-signals.ts";
import { type QueueOfProcess, TestQueue } from "./test-queue.ts";

export const TTL_MS = 90;

export interface Member {
  readonly loop: TurnLoop;
  readonly lease: Lease;
  /** The sessions whose turns it started. */
  readonly started: string[];
  readonly onLost: ReturnType<typeof vi.fn<() => void>>;
  readonly onError: ReturnType<typeof vi.fn<(error: unknown) => void>>;
  /** Queues a turn that only this member starts. @throws EngineError with LEFT if it doesn't */
  readonly start: (session: string) => Promise<void>;
}

export interface MemberOptions extends Partial<LeaseOptions> {
  readonly run?: TurnHandler;
  readonly maxTurns?: number;
  /** What this member sees of the queue. @default all of it */
  readonly queue?: QueueOfProcess;
}

export const untilAborted: TurnHandler = (_, signal) =>
  new Promise((_resolve, reject) =>
    signal.addEventListener("abort", () => reject(new EngineError("LEFT", "a test"))),
  );

export class World {
  readonly queue = new TestQueue();
  readonly leases: Leases = createMemoryStore().leases;
  readonly signals: Signals = standInSignals();
  readonly #random = seededRandom(1);

  async member(
    name: string,
    { run = untilAborted, maxTurns = 1_000, queue = this.queue, ...options }: MemberOptions = {},
  ): Promise<Member> {
    const started: string[] = [];
    const onLost = vi.fn<() => void>();
    const onError = vi.fn<(error: unknown) => void>();
    const { signals } = this;
    const leases = options.leases ?? this.leases;
    const loop = new TurnLoop({
      executor: name,
      queue,
      signals,
      run: async (turn, signal) => {
        const { session } = turn.held;
        started.push(session);
        await run(turn, signal);
        this.queue.end(session);
      },
      maxTurns,
      agents: () => ["agent"],
      mayStart: () => lease.isFresh(),
      onError,
      random: this.#random,
    });
    const lease: Lease = new Lease({
      executor: name,
      running: loop,
      queue: {
        recover: (...args) => queue.recover(...args),
        leave: async (left) => (await leases.release(left, left)) && queue.leave(left),
      },
      leases,
      signals,
      ttlMs: TTL_MS,
      onLost,
      onError,
      ...options,
    });
    await lease.begin();
    signals.listen(RECOVERED_CHANNEL, () => loop.onQueued(null));
    signals.listen(TURNS_CHANNEL, (agent) => loop.onQueued(agent === "" ? null : agent));
    loop.open();
    const start = async (session: string): Promise<void> => {
      this.queue.add(session, { member: name });
      loop.onQueued(null);
      await vi.advanceTimersByTimeAsync(60);
      if (started.includes(session)) return;
      this.queue.remove(session);
      throw new EngineError("LEFT", session);
    };
    return { loop, lease, started, onLost, onError, start };
  }
}
