/**
 * `atMoment` waits for a chosen event in followed sessions and acts on it.
 *
 * Invariant: it acts synchronously in the call that receives the event, so nothing can happen in between.
 */
import type { LogEntry } from "@turnstream/server/internal";
import type { Listener, TurnFollower } from "./turn-follower.ts";

interface Aim {
  /** Acts if this is the moment. @returns true if it was */
  readonly act: (entry: LogEntry, follower: TurnFollower) => boolean;
  readonly timeoutMs: number;
}

/** @returns true if the moment came before the timeout */
export function atMoment(followers: Iterable<TurnFollower>, { act, timeoutMs }: Aim): Promise<boolean> {
  const all = [...followers];
  return new Promise((resolve) => {
    const onEntry: Listener = (entry, follower) => {
      if (act(entry, follower)) end(true);
    };
    const end = (came: boolean): void => {
      clearTimeout(timer);
      for (const follower of all) follower.listeners.delete(onEntry);
      resolve(came);
    };
    const timer = setTimeout(() => end(false), timeoutMs);
    for (const follower of all) follower.listeners.add(onEntry);
  });
}
