/**
 * `atMoment` waits for a chosen event in followed sessions and acts on it. `signalAtMoment` sends a signal to the worker
 * that wrote it, and `measureTakeovers` measures how long turns are without a worker from now on.
 *
 * Invariant: it acts synchronously in the call that receives the event, so nothing can happen in between.
 */
import type { SessionEvent } from "@turnstream/protocol";
import type { LogEntry } from "@turnstream/server/internal";
import type { TurnEnvironment } from "./turn-environment.ts";
import type { Listener, TurnFollower } from "./turn-follower.ts";
import type { WorkerProcess } from "./worker-process.ts";

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

interface SignalAim {
  readonly signal: "SIGKILL" | "SIGSTOP";
  readonly events: readonly SessionEvent["type"][];
  /** How many such events to let pass. */
  readonly skip: number;
  /** Whether another worker must be able to take over. @default false */
  readonly needsOther?: boolean;
  readonly timeoutMs: number;
}

/** @returns the worker that got the signal, or null if the moment did not come */
export async function signalAtMoment(
  environment: TurnEnvironment,
  followers: Iterable<TurnFollower>,
  { signal, events, skip, needsOther = false, timeoutMs }: SignalAim,
): Promise<WorkerProcess | null> {
  let seen = 0;
  let victim: WorkerProcess | null = null;
  await atMoment(followers, {
    timeoutMs,
    act: ({ event }, follower) => {
      if (!events.includes(event.type) || seen++ < skip) return false;
      const owner = environment.findOwner(follower);
      if (owner === undefined || (needsOther && environment.readyWorkers.length < 2)) return false;
      victim = owner;
      // At once: the next event follows within a millisecond.
      owner.signal(signal);
      return true;
    },
  });
  return victim;
}

/** @param onTakeover is not called for a turn whose last events were already on their way */
export function measureTakeovers(
  followers: Iterable<TurnFollower>,
  onTakeover: (tookMs: number) => void,
): void {
  const since = performance.now();
  for (const follower of followers) {
    const onEntry: Listener = ({ event }) => {
      if (event.type !== "turn.takeover" && event.type !== "turn.end") return;
      follower.listeners.delete(onEntry);
      if (event.type === "turn.takeover") onTakeover(performance.now() - since);
    };
    follower.listeners.add(onEntry);
  }
}
