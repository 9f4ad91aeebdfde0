/** Something a person asked the server for: whether it is under way, and why it was refused, in words. */
import { useEffect, useRef, useState } from "react";
import { useThreadContext } from "../context.ts";
import { errorText } from "../error-text.ts";

export interface Action {
  readonly isBusy: boolean;
  /** Why the last one was refused; kept until the next try. */
  readonly problem: string | null;
  /** One at a time: nothing happens while one is under way. */
  readonly run: (command: () => Promise<unknown>) => void;
}

/** @param showsWithinMs how long after its success what it changes may take to be seen; busy until then */
export function useAction(outcomeWithinMs = 0): Action {
  const { strings } = useThreadContext();
  const [isBusy, setBusy] = useState(false);
  // Not its words: the language may change while they are shown.
  const [failure, setFailure] = useState<{ readonly error: unknown } | null>(null);
  // Two presses can come before the first is drawn.
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
