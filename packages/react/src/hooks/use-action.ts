/**
 * `useAction` runs a command of the user and returns whether it is in progress and why it failed. `useCommand` does so
 * outside of a thread. `useStop` stops the running turn, and `useIsRunning` returns whether one runs.
 * Invariant: one command runs at a time; a second press is ignored, even before the next render. It stores the error
 * instead of its text, because the language can change.
 */
import { useEffect, useRef, useState } from "react";
import { errorText } from "../error-text.ts";
import type { Messages } from "../strings/messages.ts";
import { useMessages } from "./use-messages.ts";
import { useThreadContext } from "../context.ts";
import { useSessionSelector } from "./use-session-selector.ts";

export interface Action {
  readonly isBusy: boolean;
  /** The error text of the last command; it stays until the next one starts. */
  readonly problem: string | null;
  /** Runs one command at a time. Ignored while one is in progress. */
  readonly run: (command: () => Promise<unknown>) => void;
}

/** @param outcomeWithinMs how long after success to stay busy, until the outcome is visible */
export function useAction(outcomeWithinMs = 0): Action {
  return useCommand(useMessages(), outcomeWithinMs);
}

export function useCommand(strings: Pick<Messages, "errors">, outcomeWithinMs = 0): Action {
  const [isBusy, setBusy] = useState(false);
  // Stores the error instead of its text, because the language can change while it is shown.
  const [failure, setFailure] = useState<{ readonly error: unknown } | null>(null);
  // A ref, because two presses can arrive before the next render.
  const isRunning = useRef(false);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const done = (): void => {
    isRunning.current = false;
    setBusy(false);
  };
  const run = async (command: () => Promise<unknown>): Promise<void> => {
    if (isRunning.current) return;
    isRunning.current = true;
    setBusy(true);
    setFailure(null);
    try {
      await command();
      if (outcomeWithinMs === 0) done();
      else timer.current = setTimeout(done, outcomeWithinMs);
    } catch (error) {
      setFailure({ error });
      done();
    }
  };
  const problem = failure === null ? null : errorText(strings, failure.error);
  return { isBusy, problem, run: (command) => void run(command) };
}

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
