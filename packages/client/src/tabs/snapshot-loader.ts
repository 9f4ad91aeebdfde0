/**
 * `createSnapshotLoader` loads snapshots for the leader, for subscriptions of tabs that can't resume: one request at a
 * time per subscription, with backoff.
 * Invariant: a load is retried until the option `isNeeded` returns false for its subscription; then it ends silently.
 * It gives up only on an error that can't be retried. No retry starts before the server's `retry-after`.
 */
import type { Cursor, Snapshot } from "@turnstream/protocol";
import { backoffMs } from "../transport/timing.ts";
import { ClientError } from "../errors.ts";
import { errorFromConnectResponse } from "../http/error-response.ts";
import type { Transport } from "../transport/transport.ts";
import type { TabSubscriber } from "./leader-session.ts";
import type { TabsEnv } from "./types.ts";

interface SnapshotLoad {
  readonly session: string;
  readonly subscriber: TabSubscriber;
  failures: number;
  /** The earliest time that the server allows. */
  notBefore: number;
  /** Null while a request is in flight. */
  cancelWait: (() => void) | null;
}

interface SnapshotLoaderOptions {
  readonly transport: Transport;
  readonly env: TabsEnv;
  /** Returns true if the subscriber needs a snapshot, or still needs one after `onLoaded`. */
  readonly isNeeded: (session: string, subscriber: TabSubscriber) => boolean;
  readonly onLoaded: (session: string, subscriber: TabSubscriber, snapshot: Snapshot, cursor: Cursor) => void;
  readonly onGiveUp: (session: string) => void;
}

export interface SnapshotLoader {
  /** Does nothing if a request is in flight or scheduled. */
  load(session: string, subscriber: TabSubscriber): void;
  /** Skips the backoff, because a retry is likely to succeed now. */
  retryNow(session: string): void;
  close(): void;
}

/** A request without a response for this long may never get one. */
const SNAPSHOT_TIMEOUT_MS = 30_000;

export function createSnapshotLoader({
  transport,
  env,
  isNeeded,
  onLoaded,
  onGiveUp,
}: SnapshotLoaderOptions): SnapshotLoader {
  const loads = new Map<string, SnapshotLoad>();
  let isClosed = false;

  const run = async (key: string, entry: SnapshotLoad): Promise<void> => {
    entry.cancelWait = null;
    const { session, subscriber } = entry;
    const result = await loadSnapshot(transport, env, session);
    if (isClosed) return;
    const hasFailed = result instanceof ClientError;
    if (!hasFailed && isNeeded(session, subscriber))
      onLoaded(session, subscriber, result.snapshot, result.cursor);
    const isObsolete = !isNeeded(session, subscriber);
    if (!isObsolete && (!hasFailed || result.canRetry))
      return wait(key, entry, hasFailed ? (result.retryAfterSeconds ?? 0) : 0);
    loads.delete(key);
    if (!isObsolete) onGiveUp(session);
  };

  const wait = (key: string, entry: SnapshotLoad, seconds: number): void => {
    entry.failures += 1;
    const ms = Math.max(backoffMs(entry.failures, env.random()), seconds * 1_000);
    entry.notBefore = env.now() + seconds * 1_000;
    entry.cancelWait = env.setTimer(() => {
      if (isNeeded(entry.session, entry.subscriber)) void run(key, entry);
      else loads.delete(key);
    }, ms);
  };

  return {
    load(session, subscriber) {
      const key = JSON.stringify([session, subscriber.tabId, subscriber.subscriptionId]);
      if (loads.has(key)) return;
      const entry: SnapshotLoad = { session, subscriber, failures: 0, notBefore: 0, cancelWait: null };
      loads.set(key, entry);
      void run(key, entry);
    },
    retryNow(session) {
      for (const [key, entry] of loads) {
        if (entry.session !== session || entry.cancelWait === null || env.now() < entry.notBefore) continue;
        entry.cancelWait();
        void run(key, entry);
      }
    },
    close() {
      isClosed = true;
      for (const { cancelWait } of loads.values()) cancelWait?.();
      loads.clear();
    },
  };
}

async function loadSnapshot(
  transport: Transport,
  env: TabsEnv,
  session: string,
): Promise<{ readonly snapshot: Snapshot; readonly cursor: Cursor } | ClientError> {
  const timeout = new AbortController();
  const cancel = env.setTimer(() => timeout.abort(), SNAPSHOT_TIMEOUT_MS);
  try {
    const { signal } = timeout;
    const response = await transport.request(`/sessions/${encodeURIComponent(session)}/snapshot`, { signal });
    if (!response.ok) return await errorFromConnectResponse(response);
    const { snapshot, event_id: cursor } = (await response.json()) as {
      readonly snapshot: Snapshot;
      readonly event_id: Cursor;
    };
    return { snapshot, cursor };
  } catch (error) {
    if (error instanceof ClientError && error.code !== "ABORTED") return error;
    return new ClientError("OFFLINE", "The snapshot could not be loaded.", { cause: error, canRetry: true });
  } finally {
    cancel();
  }
}
