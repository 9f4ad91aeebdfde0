/** Something a person asked the server for: whether it is under way, and why it was refused, in words. */
import { useEffect, useRef, useState } from "react";
import { useShared } from "../context.ts";
import { problemText } from "../error-text.ts";

export interface Command {
  readonly isBusy: boolean;
  /** Why the last one was refused; kept until the next try. */
  readonly problem: string | null;
  /** One at a time: nothing happens while one is under way. */
  readonly run: (command: () => Promise<unknown>) => void;
}

/** @param showsWithinMs how long after its success what it changes may take to be seen; busy until then */
export function useCommand(showsWithinMs = 0): Command {
  const { strings } = useShared();
  const [isBusy, setBusy] = useState(false);
  // Not its words: the language may change while they are shown.
  const [refusal, setRefusal] = useState<{ readonly error: unknown } | null>(null);
  // Two presses can come before the first is drawn.
  const isUnderWay = useRef(false);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const done = (): void => {
    isUnderWay.current = false;
    setBusy(false);
  };
  const run = async (command: () => Promise<unknown>): Promise<void> => {
    if (isUnderWay.current) return;
    isUnderWay.current = true;
    setBusy(true);
    setRefusal(null);
    try {
      await command();
      if (showsWithinMs === 0) done();
      else timer.current = setTimeout(done, showsWithinMs);
    } catch (error) {
      setRefusal({ error });
      done();
    }
  };
  const problem = refusal === null ? null : problemText(strings, refusal.error);
  return { isBusy, problem, run: (command) => void run(command) };
}
