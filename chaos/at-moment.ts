/** Waits for a chosen moment in sessions that are followed, and acts in it: in the very call that brings the event. */
import type { LogEntry } from "@turnstream/server/internal";
import type { Listener, TurnFollower } from "./turn-follower.ts";

interface Aim {
  /** Acts when it is the moment. @returns whether it was */
  readonly act: (entry: LogEntry, follower: TurnFollower) => boolean;
  readonly timeoutMs: number;
}

/** @returns whether the moment came */
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
