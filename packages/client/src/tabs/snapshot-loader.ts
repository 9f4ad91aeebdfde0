/**
 * Snapshots for tabs that can't be told events alone: for each watch one request at a time, and after one that failed the
 * next later and later, not before the server says. Gives up what can't be had. Never decides who needs one.
 */
import type { Cursor, Snapshot } from "@turnstream/protocol";
import { backOff } from "../transport/timing.ts";
import { ClientError } from "../errors.ts";
import { refusalAtDoor } from "../http/error-response.ts";
import type { Link } from "../transport/transport.ts";
import type { Watcher } from "./leader-session.ts";
import type { TabsEnv } from "./types.ts";

interface Fetch {
  readonly session: string;
  readonly who: Watcher;
  failures: number;
  /** What the server asked for. */
  notBefore: number;
  /** Null while one is under way. */
  cancelWait: (() => void) | null;
}

interface FetchesOptions {
  readonly link: Link;
  readonly env: TabsEnv;
  /** Whether it needs one, or after one was `fetched` another one. */
  readonly isWanted: (session: string, who: Watcher) => boolean;
  readonly fetched: (session: string, who: Watcher, snapshot: Snapshot, cursor: Cursor) => void;
  readonly gaveUp: (session: string) => void;
}

export interface Fetches {
  /** Does nothing where one is under way or waits. */
  want(session: string, who: Watcher): void;
  /** There is a reason to think that it works now. */
  hurry(session: string): void;
  close(): void;
}

/** A request that isn't answered for so long may never be. */
const ANSWER_MS = 30_000;

export function createFetches({ link, env, isWanted, fetched, gaveUp }: FetchesOptions): Fetches {
  const all = new Map<string, Fetch>();
  let isClosed = false;

  const run = async (key: string, one: Fetch): Promise<void> => {
    one.cancelWait = null;
    const { session, who } = one;
    const found = await loadSnapshot(link, env, session);
    if (isClosed) return;
    const isRefused = found instanceof ClientError;
    if (!isRefused && isWanted(session, who)) fetched(session, who, found.snapshot, found.cursor);
    const isOver = !isWanted(session, who);
    if (!isOver && (!isRefused || found.canRetry))
      return wait(key, one, isRefused ? (found.retryAfterSeconds ?? 0) : 0);
    all.delete(key);
    if (!isOver) gaveUp(session);
  };

  const wait = (key: string, one: Fetch, seconds: number): void => {
    one.failures += 1;
    const ms = Math.max(backOff(one.failures, env.random()), seconds * 1_000);
    one.notBefore = env.now() + seconds * 1_000;
    one.cancelWait = env.setTimer(() => {
      if (isWanted(one.session, one.who)) void run(key, one);
      else all.delete(key);
    }, ms);
  };

  return {
    want(session, who) {
      const key = JSON.stringify([session, who.tab, who.watch]);
      if (all.has(key)) return;
      const one: Fetch = { session, who, failures: 0, notBefore: 0, cancelWait: null };
      all.set(key, one);
      void run(key, one);
    },
    hurry(session) {
      for (const [key, one] of all) {
        if (one.session !== session || one.cancelWait === null || env.now() < one.notBefore) continue;
        one.cancelWait();
        void run(key, one);
      }
    },
    close() {
      isClosed = true;
      for (const { cancelWait } of all.values()) cancelWait?.();
      all.clear();
    },
  };
}

async function loadSnapshot(
  link: Link,
  env: TabsEnv,
  session: string,
): Promise<{ readonly snapshot: Snapshot; readonly cursor: Cursor } | ClientError> {
  const limit = new AbortController();
  const cancel = env.setTimer(() => limit.abort(), ANSWER_MS);
  try {
    const { signal } = limit;
    const response = await link.request(`/sessions/${encodeURIComponent(session)}/snapshot`, { signal });
    if (!response.ok) return await refusalAtDoor(response);
    const { snapshot, event_id: cursor } = (await response.json()) as {
      readonly snapshot: Snapshot;
      readonly event_id: Cursor;
    };
    return { snapshot, cursor };
  } catch (error) {
    if (error instanceof ClientError && error.code !== "ABORTED") return error;
    return new ClientError("OFFLINE", "The snapshot could not be read.", { cause: error, canRetry: true });
  } finally {
    cancel();
  }
}
