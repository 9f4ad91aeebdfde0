/**
 * `useCardAction` runs a command of a card, one at a time. `useReadableStore` returns the value of its store.
 * Invariant: after the server's acknowledgment it counts as sending for 10 more seconds, until the session shows the
 * outcome. So the user can't decide twice. After a failure the user can try again at once.
 */
import { useAction } from "../hooks/use-action.ts";
import type { ReadableStore } from "@turnstream/client/view";
import { useSyncExternalStore } from "react";

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

const neverChanges = () => (): void => {};

/** @param absent the same object at each render */
export function useReadableStore<T>(store: ReadableStore<T> | null, absent: T): T {
  const read = store?.get ?? (() => absent);
  return useSyncExternalStore(store?.subscribe ?? neverChanges, read, read);
}
