/**
 * `useStop` stops the running turn, and `useIsRunning` returns whether one runs.
 * Invariant: a stop names the turn that ran when the user pressed, so it never stops the next one.
 */
import { useThreadContext } from "../context.ts";
import { useAction } from "./use-action.ts";
import { useSessionSelector } from "./use-session-selector.ts";

export interface StopAction {
  /** Does nothing if no turn runs. */
  readonly stop: () => void;
  readonly isStopping: boolean;
  /** Why the stop failed. */
  readonly problem: string | null;
}

export function useStop(): StopAction {
  const { session } = useThreadContext();
  const { isBusy: isStopping, problem, run } = useAction();
  const stop = (): void => {
    const last = session.getSnapshot().state.turns.last();
    if (last?.status === "running") run(() => session.stop(last.id));
  };
  return { stop, isStopping, problem };
}

export function useIsRunning(): boolean {
  return useSessionSelector(({ state }) => state.turns.last()?.status === "running");
}
