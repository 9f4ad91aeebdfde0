/**
 * `usePaymentRequest` returns a payment and its actions, without any UI: checkout address, cancel and refresh.
 * Invariant: the status comes only from the session; no action sets it. The checkout address passes `checkLink` and is a
 * web address. A read-only session has no actions.
 */
import { isPending, type PaymentBlock } from "@turnstream/protocol";
import { useThreadContext } from "../context.ts";
import { useAction } from "../hooks/use-action.ts";
import { useBlock } from "../hooks/use-turn.ts";
import { checkLink, DEFAULT_LINK_POLICY } from "../link-policy.ts";
import { type ActionState, useCardAction } from "./use-card-action.ts";

export interface PaymentRequest extends ActionState {
  readonly block: PaymentBlock;
  /** True until the payment has succeeded, failed, expired or been cancelled. */
  readonly isPending: boolean;
  /** The checkout page and its host; null if the user can't open it. */
  readonly checkout: { readonly href: string; readonly to: string } | null;
  /** False once the checkout was opened. */
  readonly canCancel: boolean;
  readonly cancel: () => void;
  readonly canRefresh: boolean;
  readonly isRefreshing: boolean;
  /** Makes the server ask the payment provider for the status. `onCurrent` is called when the server has replied. */
  readonly refresh: (onCurrent?: () => void) => void;
}

export function usePaymentRequest(turnId: string, blockIndex: number): PaymentRequest | null {
  const { session, readOnly } = useThreadContext();
  const block = useBlock(turnId, blockIndex, "payment");
  const cancelling = useCardAction();
  const refreshing = useAction();
  if (block === null) return null;
  const { payment } = block;
  const isWaiting = isPending(block);
  const canAct = isWaiting && !readOnly;
  // The button names its target and the user presses it to pay, so no further confirmation is needed.
  const link = checkLink(block.checkout_url, DEFAULT_LINK_POLICY);
  return {
    block,
    isPending: isWaiting,
    checkout: canAct && link.may !== "dead" && link.href.startsWith("http") ? link : null,
    canCancel: canAct && block.status === "pending",
    cancel: () => cancelling.run(() => session.cancelPayment(payment)),
    isSending: cancelling.isSending,
    canRefresh: canAct,
    isRefreshing: refreshing.isBusy,
    refresh: (onCurrent) => refreshing.run(() => session.refreshPayment(payment).then(onCurrent)),
    problem: cancelling.problem ?? refreshing.problem,
  };
}
