/** A command of a card, whose outcome is what the session shows next: until then it is being sent. */
import { useAction } from "../hooks/use-action.ts";

export interface ActionState {
  /** From the press until the session shows the outcome, or the command failed. */
  readonly isSending: boolean;
  /** In words for the person. */
  readonly problem: string | null;
}

interface CardAction extends ActionState {
  readonly run: (command: () => Promise<void>) => void;
}

/** A session that shows nothing for so long won't: the person may try again. */
const OUTCOME_TIMEOUT_MS = 10_000;

export function useCardAction(): CardAction {
  const { isBusy: isSending, problem, run } = useAction(OUTCOME_TIMEOUT_MS);
  return { isSending, problem, run };
}
