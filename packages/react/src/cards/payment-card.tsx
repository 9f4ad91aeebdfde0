/**
 * `PaymentCard` shows a payment: its purpose, amount and status, and a link to the checkout while it is open.
 * Invariant: the checkout address passes `checkLink` and must be a web address. The status comes only from the session;
 * the card can reload it but never sets it.
 */
import { type ReactNode, useId } from "react";
import { isPending } from "@turnstream/protocol";
import type { BlockProps } from "../components.ts";
import { useThreadContext } from "../context.ts";
import { useAction } from "../hooks/use-action.ts";
import { useBlock } from "../hooks/use-turn.ts";
import { checkLink, DEFAULT_LINK_POLICY } from "../link-policy.ts";
import { ExternalLink } from "../ui/safe-link.tsx";
import { visibleText } from "../visible-text.ts";
import { Card, CardProblem } from "./card.tsx";
import { formatMoney } from "./money.ts";

export function PaymentCard({ turnId, blockIndex }: BlockProps): ReactNode {
  const { strings } = useThreadContext();
  const cardStrings = strings.cards;
  const block = useBlock(turnId, blockIndex, "payment");
  const { refresh, isRefreshing, problem } = useRefresh();
  const id = useId();
  if (block === null) return null;
  const { description, order_no, amount, currency, status } = block;
  const isWaiting = isPending(block);
  // The button names its target and the user presses it to pay, so no further confirmation is needed.
  const checkout = checkLink(block.checkout_url, DEFAULT_LINK_POLICY);
  return (
    <Card kind="payment" labelledBy={id} isPending={isWaiting && status === "pending"}>
      <div className="ts-pay">
        <div>
          <div className="ts-pay-what" id={id}>
            <bdi>{visibleText(description || cardStrings.payment)}</bdi> · <bdi>{visibleText(order_no)}</bdi>
          </div>
          <div className="ts-amount">{formatMoney(strings.locale, amount, currency)}</div>
        </div>
        <div className="ts-pay-side">
          <span className="ts-pill" data-status={status}>
            {cardStrings.paymentStatus[status]}
          </span>
          {isWaiting && (
            <div className="ts-row">
              <button type="button" className="ts-button" disabled={isRefreshing} onClick={refresh}>
                {cardStrings.refresh}
              </button>
              {checkout.may !== "dead" && checkout.href.startsWith("http") && (
                <ExternalLink href={checkout.href} className="ts-button">
                  {cardStrings.openCheckout} <span aria-hidden="true">↗</span>
                  <span className="ts-sr">{checkout.to}</span>
                </ExternalLink>
              )}
            </div>
          )}
        </div>
      </div>
      <CardProblem problem={problem} />
    </Card>
  );
}

/** Reloads the state from the server, for a user who doubts the shown status. */
function useRefresh(): {
  readonly refresh: () => void;
  readonly isRefreshing: boolean;
  readonly problem: string | null;
} {
  const { session } = useThreadContext();
  const { isBusy, problem, run } = useAction();
  return { refresh: () => run(() => session.refresh()), isRefreshing: isBusy, problem };
}
