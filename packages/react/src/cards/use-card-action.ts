/** A command of a card, whose outcome is what the session shows next: until then it is being sent. */
import { useCommand } from "../hooks/use-action.ts";

export interface CommandState {
  /** From the press until the session shows the outcome, or the command failed. */
  readonly isSending: boolean;
  /** In words for the person. */
  readonly problem: string | null;
}

interface CardCommand extends CommandState {
  readonly run: (command: () => Promise<void>) => void;
}

/** A session that shows nothing for so long won't: the person may try again. */
const SHOWS_WITHIN_MS = 10_000;

export function useCardCommand(): CardCommand {
  const { isBusy: isSending, problem, run } = useCommand(SHOWS_WITHIN_MS);
  return { isSending, problem, run };
}
