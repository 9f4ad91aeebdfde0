/**
 * `WorkerCheck` finds sessions that don't progress because their worker was lost, because no worker runs at all, or
 * because the log can't be written. It notifies their subscribers, and reports once to the operator that no worker runs.
 * Invariant: while a worker is alive and none was lost, a check is one small query. Each query has a limit. A missing
 * worker is reported again only after one was alive. An outage of the store delays the notices only.
 */
import { isStoreError } from "../../store/errors.ts";
import { MAX_BATCH } from "../../store/rules/arguments.ts";
import { sessionKey } from "../../util/refs.ts";
import type { FeedContext } from "../subscription/feed-context.ts";
import type { StalledFrame } from "../subscription/subscription.ts";
import type { SessionFeed } from "./session-feed.ts";

/** A worker that is restarted takes seconds. Users see nothing of it before this. */
const NO_WORKER_MS = 5_000;
const NO_WORKER =
  "No worker is running, so messages wait. Start one with the same DATABASE_URL and REDIS_URL: `turnstream worker`, `app.worker()` of `turnstream()`, or `startWorker`. It answers the messages.";

/** The feeds of the gateway by their session. */
type Feeds = ReadonlyMap<string, SessionFeed>;

export class WorkerCheck {
  readonly #context: FeedContext;
  /** When no worker was first seen, by `performance.now`. */
  #missingSince: number | null = null;
  #isReported = false;
  #isRunning = false;

  constructor(context: FeedContext) {
    this.#context = context;
  }

  /** Checks once, unless the previous check still runs. */
  async run(feeds: Feeds): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    try {
      await this.#check(feeds);
    } catch (error) {
      if (!isStoreError(error, "UNAVAILABLE", "BUSY"))
        this.#context.onError(error, { during: "looking for turns whose worker was lost" });
    } finally {
      this.#isRunning = false;
    }
  }

  async #check(feeds: Feeds): Promise<void> {
    const { store, log } = this.#context;
    if (log.isImpaired === true) notifyRunning(feeds.values());
    const { anyLive, anyExpired } = await store.leases.status();
    const isMissing = this.#isMissing(anyLive);
    // While a worker is alive and no lease has expired, which is the usual case, no turn stays interrupted.
    const mayBeInterrupted = anyExpired || !anyLive;
    const interrupted = mayBeInterrupted ? await this.#notifyInterrupted(feeds, isMissing) : 0;
    if (!isMissing) return;
    const waiting = await store.running.startable({ olderThanMs: NO_WORKER_MS, limit: MAX_BATCH });
    for (const ref of waiting) notify(feeds.get(sessionKey(ref)), { type: "no_worker" });
    if (this.#isReported || interrupted + waiting.length === 0) return;
    this.#isReported = true;
    this.#context.onError(new Error(NO_WORKER), { during: "the gateway" });
  }

  /** Returns true if no worker has been alive for `NO_WORKER_MS`. */
  #isMissing(anyLive: boolean): boolean {
    if (anyLive) {
      this.#missingSince = null;
      this.#isReported = false;
      return false;
    }
    this.#missingSince ??= performance.now();
    return performance.now() - this.#missingSince >= NO_WORKER_MS;
  }

  /** @returns how many turns of the feeds have lost their worker */
  async #notifyInterrupted(feeds: Feeds, isMissing: boolean): Promise<number> {
    let found = 0;
    const sessions = [...feeds.values()]
      .filter(({ controllers }) => controllers.size > 0)
      .map(({ ref }) => ref);
    for (let n = 0; n < sessions.length; n += MAX_BATCH) {
      const checkedAt = performance.now();
      const batch = sessions.slice(n, n + MAX_BATCH);
      for (const { turn, ...ref } of await this.#context.store.running.interrupted(batch)) {
        const feed = feeds.get(sessionKey(ref));
        // An entry that arrived since the query can be of the next worker.
        if (feed === undefined || (feed.lastEntryAt ?? checkedAt) >= checkedAt) continue;
        found++;
        notify(feed, { type: "resuming", turn_id: turn });
        if (isMissing) notify(feed, { type: "no_worker" });
      }
    }
    return found;
  }
}

/** The events of these turns can't be written, so the turns wait. */
function notifyRunning(feeds: Iterable<SessionFeed>): void {
  for (const feed of feeds) {
    const turn = feed.headState?.turns.last();
    if (turn?.status === "running") notify(feed, { type: "resuming", turn_id: turn.id });
  }
}

function notify(feed: SessionFeed | undefined, frame: StalledFrame): void {
  for (const controller of feed?.controllers ?? []) controller.notifyStalled(frame);
}
