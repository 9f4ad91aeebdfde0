/** A command of a card: one at a time, its error kept until the next try. What it changes arrives in the session. */
import type { ClientError } from "@turnstream/client";
import { useState } from "react";
import { useShared } from "../context.ts";

export interface CommandState {
  /** From the press until the session shows the outcome, or the command failed. */
  readonly isSending: boolean;
  /** In words for the person. */
  readonly problem: string | null;
}

export interface Command extends CommandState {
  /** Runs unless one is under way. */
  readonly run: (command: () => Promise<void>) => void;
}

const IDLE: CommandState = { isSending: false, problem: null };

export function useCommand(): Command {
  const { strings } = useShared();
  const [state, setState] = useState(IDLE);
  const run = (command: () => Promise<void>): void => {
    if (state.isSending) return;
    setState({ isSending: true, problem: null });
    command().catch((error: unknown) => {
      const { code = "", message = String(error) } = error as Partial<ClientError>;
      const known = strings.cards.problems[code];
      setState({ isSending: false, problem: known ?? strings.cards.problem(message) });
    });
  };
  return { ...state, run };
}
