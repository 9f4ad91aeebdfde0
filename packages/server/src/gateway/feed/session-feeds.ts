/**
 * The feeds of this process: one for each session that somebody looks at, opened by the first and closed some time after
 * the last has left, so that one who reconnects finds it was.
 */
import type { SessionRef } from "../../store/refs.ts";
import { SessionFeed } from "./session-feed.ts";
import type { FeedContext } from "../subscription/feed-context.ts";
import type { SubscribeOptions, Subscriber, Subscription } from "../subscription/subscription.ts";
import { createTimeSlicer, type TimeSlicer } from "../../util/time-slicer.ts";
import {
  idleSince,
  type TurnEnded,
  type TurnStarted,
  waitForTurnEnd,
  waitForTurnStart,
} from "./turn-watch.ts";

export interface SessionFeeds {
  /** Who asks has been let in before: this looks at nothing but the session's id. */
  subscribe(ref: SessionRef, wish: SubscribeOptions, viewer: Subscriber): Subscription;
  /** The turn that answers a message, once it has begun. Throws what the signal says, and NOT_FOUND. */
  waitForTurnStart(ref: SessionRef, message: string, signal: AbortSignal): Promise<TurnStarted>;
  /** A turn once it is over. */
  waitForTurnEnd(ref: SessionRef, turn: string, signal: AbortSignal): Promise<TurnEnded>;
  /**
   * Since when a turn has run without a word, in milliseconds by `performance.now`; null while that is shorter than
   * `leastMs`, while none runs, or one waits for a person. For the rule of 180 seconds: asked again and again, it may find
   * out a little later.
   */
  idleSince(ref: SessionRef, leastMs: number): number | null;
  /** How many sessions are open, and what they hold in bytes, roughly. */
  stats(): { readonly sessions: number; readonly bytes: number };
  close(): Promise<void>;
}

export interface SessionFeedsOptions extends Omit<FeedContext, "slices" | "pause"> {
  /** Of the process, where others have long work too. */
  readonly slices?: TimeSlicer;
  /** How long a feed stays open for nobody. */
  readonly lingerMs?: number;
  /** After a silence of so long, what only a running turn needs is dropped. */
  readonly idleCleanupMs?: number;
}

const GRACE_MS = 5_000;
const TIDY_MS = 5_000;
/** What all feeds may hold to be read again, in bytes. */
const MAX_BYTES = 256 * 1024 * 1024;

export function createSessionFeeds({
  lingerMs = GRACE_MS,
  idleCleanupMs = TIDY_MS,
  ...options
}: SessionFeedsOptions): SessionFeeds {
  const parts: FeedContext = { slices: createTimeSlicer(), ...options, pause };
  const feeds = new Map<string, SessionFeed>();
  /** Those that nobody looks at, and when that was seen first. */
  const idle = new Map<string, number>();

  const sweep = setInterval(
    () => {
      const now = performance.now();
      let bytes = 0;
      for (const [key, feed] of feeds) {
        feed.releaseMemory(now, idleCleanupMs);
        bytes += feed.bytes;
        // It can all be read again.
        if (bytes > MAX_BYTES) feed.clearCaches();
        if (!feed.isIdle) idle.delete(key);
        else if (!feed.isOver && now - (idle.get(key) ?? now) < lingerMs) idle.set(key, idle.get(key) ?? now);
        else {
          feed.close();
          feeds.delete(key);
          idle.delete(key);
        }
      }
    },
    Math.max(10, Math.min(lingerMs, idleCleanupMs) / 5),
  ).unref();

  function open(ref: SessionRef): SessionFeed {
    const key = `${ref.tenant} ${ref.session}`;
    const known = feeds.get(key);
    if (known !== undefined && !known.isOver) return known;
    const feed = new SessionFeed(ref, parts);
    feeds.set(key, feed);
    return feed;
  }

  return {
    subscribe: (ref, wish, viewer) => open(ref).subscribe(wish, viewer),
    waitForTurnStart: (ref, message, signal) => waitForTurnStart(open(ref), message, signal),
    waitForTurnEnd: (ref, turn, signal) => waitForTurnEnd(open(ref), turn, signal),
    idleSince: (ref, leastMs) => {
      const feed = feeds.get(`${ref.tenant} ${ref.session}`);
      return feed === undefined ? null : idleSince(feed, leastMs);
    },
    stats: () => ({
      sessions: feeds.size,
      bytes: [...feeds.values()].reduce((sum, feed) => sum + feed.bytes, 0),
    }),
    close: async () => {
      clearInterval(sweep);
      for (const feed of feeds.values()) feed.close();
      feeds.clear();
    },
  };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
