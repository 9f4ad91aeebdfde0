/**
 * The feeds of this process: one for each session that somebody looks at, opened by the first and closed some time after
 * the last has left, so that one who reconnects finds it was.
 */
import type { SessionRef } from "../../store/refs.ts";
import { SessionFeed } from "./session-feed.ts";
import type { FeedContext } from "../subscription/feed-context.ts";
import type { SessionFeeds } from "../subscription/types.ts";
import { sleep } from "../../util/sleep.ts";
import { createTimeSlicer, type TimeSlicer } from "../../util/time-slicer.ts";
import { idleSince, waitForTurnStart, waitForTurnEnd } from "./turn-watch.ts";

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
  const parts: FeedContext = { slices: createTimeSlicer(), ...options, pause: (ms) => sleep(ms) };
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
