/**
 * `createSessionFeeds` manages the feeds of this process: one for each session with a subscriber. The first one opens it,
 * and it is closed some time after the last has left, so that a client that reconnects finds it.
 */
import type { SessionRef } from "../../store/refs.ts";
import { SessionFeed } from "./session-feed.ts";
import type { FeedContext } from "../subscription/feed-context.ts";
import type { SubscribeOptions, Subscriber, Subscription } from "../subscription/subscription.ts";
import { sleep } from "../../util/sleep.ts";
import { createTimeSlicer, type TimeSlicer } from "../../util/time-slicer.ts";
import {
  idleSince,
  type TurnEnded,
  type TurnStarted,
  waitForTurnEnd,
  waitForTurnStart,
} from "./turn-watch.ts";

export interface SessionFeeds {
  /** The caller has checked access: this looks at nothing but the session's id. */
  subscribe(ref: SessionRef, options: SubscribeOptions, subscriber: Subscriber): Subscription;
  /** The turn that answers a message, once it has started. Throws what the signal says, and NOT_FOUND. */
  waitForTurnStart(ref: SessionRef, message: string, signal: AbortSignal): Promise<TurnStarted>;
  /** A turn once it is over. */
  waitForTurnEnd(ref: SessionRef, turn: string, signal: AbortSignal): Promise<TurnEnded>;
  /**
   * Since when a turn has run without an event, in milliseconds by `performance.now`; null while that is shorter than
   * `leastMs`, while none runs, or one waits for a user. For the rule of 180 seconds: asked again and again, it may find
   * out a little later.
   */
  idleSince(ref: SessionRef, leastMs: number): number | null;
  /** How many sessions have a feed, and roughly what the feeds buffer and cache, in bytes. */
  stats(): { readonly sessions: number; readonly bytes: number };
  close(): Promise<void>;
}

export interface SessionFeedsOptions extends Omit<FeedContext, "slices" | "sleep"> {
  /** Of the process, where others have long work too. */
  readonly slices?: TimeSlicer;
  /** How long a feed stays open without a subscriber. */
  readonly lingerMs?: number;
  /** After so long without an entry, what only a running turn needs is dropped. */
  readonly idleCleanupMs?: number;
}

const DEFAULT_LINGER_MS = 5_000;
const DEFAULT_IDLE_CLEANUP_MS = 5_000;
/** What all feeds may buffer and cache, in bytes. */
const MAX_BYTES = 256 * 1024 * 1024;

export function createSessionFeeds({
  lingerMs = DEFAULT_LINGER_MS,
  idleCleanupMs = DEFAULT_IDLE_CLEANUP_MS,
  ...rest
}: SessionFeedsOptions): SessionFeeds {
  const context: FeedContext = { slices: createTimeSlicer(), ...rest, sleep: (ms) => sleep(ms) };
  const feeds = new Map<string, SessionFeed>();
  /** Feeds without a subscriber, and when that was seen first. */
  const idleFrom = new Map<string, number>();

  const sweep = setInterval(
    () => {
      const now = performance.now();
      let bytes = 0;
      for (const [key, feed] of feeds) {
        feed.releaseMemory(now, idleCleanupMs);
        bytes += feed.memoryBytes;
        // It can all be read again.
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

  function open(ref: SessionRef): SessionFeed {
    const key = `${ref.tenant} ${ref.session}`;
    const existing = feeds.get(key);
    if (existing !== undefined && !existing.isClosed) return existing;
    const feed = new SessionFeed(ref, context);
    feeds.set(key, feed);
    return feed;
  }

  return {
    subscribe: (ref, options, subscriber) => open(ref).subscribe(options, subscriber),
    waitForTurnStart: (ref, message, signal) => waitForTurnStart(open(ref), message, signal),
    waitForTurnEnd: (ref, turn, signal) => waitForTurnEnd(open(ref), turn, signal),
    idleSince: (ref, leastMs) => {
      const feed = feeds.get(`${ref.tenant} ${ref.session}`);
      return feed === undefined ? null : idleSince(feed, leastMs);
    },
    stats: () => ({
      sessions: feeds.size,
      bytes: [...feeds.values()].reduce((sum, feed) => sum + feed.memoryBytes, 0),
    }),
    close: async () => {
      clearInterval(sweep);
      for (const feed of feeds.values()) feed.close();
      feeds.clear();
    },
  };
}
