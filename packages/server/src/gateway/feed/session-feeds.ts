/**
 * `createSessionFeeds` manages the feeds of this process, one per session with a subscriber. The first subscriber
 * opens a feed. It closes some time after the last one has left, so that a reconnecting client can reuse it.
 * Invariant: each tenant and session has at most one open feed, and a feed with a subscriber or listener is not closed
 * for idleness. A feed that ended is replaced at the next use. Above 256 MiB, caches are cleared. Callers must have
 * checked access.
 */
import { type SessionRef, sessionKey } from "../../util/refs.ts";
import { SessionFeed } from "./session-feed.ts";
import type { FeedContext } from "../subscription/feed-context.ts";
import type { SubscribeOptions, Subscriber, Subscription } from "../subscription/subscription.ts";
import { sleep } from "../../util/sleep.ts";
import { createTimeSlicer, type TimeSlicer } from "../../util/time-slicer.ts";
import {
  idleSince,
  type TurnEnded,
  type TurnStarted,
  waitForBlockedTurn,
  waitForTurnEnd,
  waitForTurnStart,
} from "./turn-watch.ts";
import { WorkerCheck } from "./worker-check.ts";

export interface SessionFeeds {
  /** The caller must have checked access: this does not know the user. */
  subscribe(ref: SessionRef, options: SubscribeOptions, subscriber: Subscriber): Subscription;
  /**
   * Resolves with the turn that answers a message when it has started.
   * @throws the signal's reason, or StoreError with code `NOT_FOUND`
   */
  waitForTurnStart(ref: SessionRef, message: string, signal: AbortSignal): Promise<TurnStarted>;
  /** Resolves with the running turn when it waits for a user. @throws like `waitForTurnStart` */
  waitForBlockedTurn(ref: SessionRef, signal: AbortSignal): Promise<TurnStarted>;
  /** Resolves when a turn has ended. */
  waitForTurnEnd(ref: SessionRef, turn: string, signal: AbortSignal): Promise<TurnEnded>;
  /**
   * Returns since when the running turn has written no event, by `performance.now`. Returns null if that is less than
   * `leastMs`, if no turn runs, or if the turn waits for a user. Callers poll it; the result may be delayed by one
   * call.
   */
  idleSince(ref: SessionRef, leastMs: number): number | null;
  /** Returns the number of sessions with a feed, and the approximate size of their buffers and caches. */
  stats(): { readonly sessions: number; readonly bytes: number };
  close(): Promise<void>;
}

export interface SessionFeedsOptions extends Omit<FeedContext, "slices" | "sleep"> {
  /** The slicer of the process, if other work also uses one. @default a new one */
  readonly slices?: TimeSlicer;
  /** How long a feed stays open without a subscriber. @default 5_000 */
  readonly lingerMs?: number;
  /** Frees memory that only a running turn needs after this time without an entry. @default 5_000 */
  readonly idleCleanupMs?: number;
  /** How often the store is asked whether workers are alive. @default 1_000 */
  readonly workerCheckMs?: number;
}

const DEFAULT_LINGER_MS = 5_000;
const DEFAULT_IDLE_CLEANUP_MS = 5_000;
const DEFAULT_WORKER_CHECK_MS = 1_000;
/** Limit for the buffers and caches of all feeds. Beyond it, caches are cleared. */
const MAX_BYTES = 256 * 1024 * 1024;

export function createSessionFeeds({
  lingerMs = DEFAULT_LINGER_MS,
  idleCleanupMs = DEFAULT_IDLE_CLEANUP_MS,
  workerCheckMs = DEFAULT_WORKER_CHECK_MS,
  ...rest
}: SessionFeedsOptions): SessionFeeds {
  const context: FeedContext = { slices: createTimeSlicer(), ...rest, sleep: (ms) => sleep(ms) };
  const feeds = new Map<string, SessionFeed>();
  /** Feeds without a subscriber, and when that was first detected. */
  const idleFrom = new Map<string, number>();

  const sweep = setInterval(
    () => {
      const now = performance.now();
      let bytes = 0;
      for (const [key, feed] of feeds) {
        feed.releaseMemory(now, idleCleanupMs);
        bytes += feed.memoryBytes;
        // All cached data can be read again.
        if (bytes > MAX_BYTES) feed.clearCaches();
        if (!feed.isIdle) idleFrom.delete(key);
        else if (!feed.isClosed && now - (idleFrom.get(key) ?? now) < lingerMs)
          idleFrom.set(key, idleFrom.get(key) ?? now);
        else {
          feed.close();
          feeds.delete(key);
          idleFrom.delete(key);
        }
      }
    },
    Math.max(10, Math.min(lingerMs, idleCleanupMs) / 5),
  ).unref();

  const check = new WorkerCheck(context);
  const workerCheck = setInterval(() => {
    if (feeds.size > 0) void check.run(feeds);
  }, workerCheckMs).unref();

  function open(ref: SessionRef): SessionFeed {
    const key = sessionKey(ref);
    const existing = feeds.get(key);
    if (existing !== undefined && !existing.isClosed) return existing;
    const feed = new SessionFeed(ref, context);
    feeds.set(key, feed);
    return feed;
  }

  return {
    subscribe: (ref, options, subscriber) => open(ref).subscribe(options, subscriber),
    waitForTurnStart: (ref, message, signal) => waitForTurnStart(open(ref), message, signal),
    waitForBlockedTurn: (ref, signal) => waitForBlockedTurn(open(ref), signal),
    waitForTurnEnd: (ref, turn, signal) => waitForTurnEnd(open(ref), turn, signal),
    idleSince: (ref, leastMs) => {
      const feed = feeds.get(sessionKey(ref));
      return feed === undefined ? null : idleSince(feed, leastMs);
    },
    stats: () => ({
      sessions: feeds.size,
      bytes: [...feeds.values()].reduce((sum, feed) => sum + feed.memoryBytes, 0),
    }),
    close: async () => {
      clearInterval(sweep);
      clearInterval(workerCheck);
      for (const feed of feeds.values()) feed.close();
      feeds.clear();
    },
  };
}
