/** Something a person asked the server for: whether it is under way, and why it was refused. */
import { useRef, useState } from "react";

export interface Command {
  readonly isBusy: boolean;
  /** Why the last one was refused, in words. */
  readonly problem: string | null;
  /** One at a time: nothing happens while one is under way. */
  readonly run: (command: () => Promise<unknown>) => void;
}

export function useCommand(): Command {
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const isUnderWay = useRef(false);
  const run = async (command: () => Promise<unknown>): Promise<void> => {
    if (isUnderWay.current) return;
    isUnderWay.current = true;
    setBusy(true);
    setProblem(null);
    try {
      await command();
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
    isUnderWay.current = false;
    setBusy(false);
  };
  return { isBusy, problem, run: (command) => void run(command) };
}
