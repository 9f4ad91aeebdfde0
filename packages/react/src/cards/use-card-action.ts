/** `useCardAction` runs a command of a card. It counts as sending until the session shows the outcome. */
import { useAction } from "../hooks/use-action.ts";

export interface ActionState {
  /** True from the press until the session shows the outcome or the command fails. */
  readonly isSending: boolean;
  /** The error text for the user. */
  readonly problem: string | null;
}

interface CardAction extends ActionState {
  readonly run: (command: () => Promise<void>) => void;
}

/** After this long without an outcome, the user may try again. */
const OUTCOME_TIMEOUT_MS = 10_000;

export function useCardAction(): CardAction {
  const { isBusy: isSending, problem, run } = useAction(OUTCOME_TIMEOUT_MS);
  return { isSending, problem, run };
}
