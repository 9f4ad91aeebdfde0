/**
 * `PaymentCard` shows a payment: its purpose, amount, order number and status, the time left, and what the user can do.
 * Invariant: all states have the same height, so that a change doesn't move the text below. Cancelling needs a second
 * press. Texts of the agent pass `visibleText`.
 */
import { type PaymentBlock, formatMoney } from "@turnstream/protocol";
import { type ReactNode, useEffect, useId, useRef, useState } from "react";
import type { BlockProps } from "../components.ts";
import { useUserName } from "../hooks/use-names.ts";
import { ExternalLink } from "../ui/safe-link.tsx";
import { visibleText } from "../visible-text.ts";
import { Card, CardProblem, TimeLeft } from "./card.tsx";
import { type PaymentRequest, usePaymentRequest } from "./use-payment-request.ts";
import { useCardStrings } from "../hooks/use-card-strings.ts";
import { Button } from "../ui/button.tsx";

export function PaymentCard({ turnId, blockIndex }: BlockProps): ReactNode {
  const view = usePaymentRequest(turnId, blockIndex);
  return view === null ? null : <PaymentContent view={view} />;
}

interface ViewProps {
  readonly view: PaymentRequest;
}

function PaymentContent({ view }: ViewProps): ReactNode {
  const strings = useCardStrings();
  const paymentStrings = useCardStrings().payments;
  const { block, isPending, canRefresh, problem } = view;
  const { description, order_no, amount, currency, deadline, status } = block;
  const id = useId();
  return (
    <Card
      kind="payment"
      labelledBy={`${id}-title ${id}-amount`}
      isPending={isPending && status === "pending"}
      status={status}
    >
      <div className="ts-card-head">
        <span className="ts-card-title" id={`${id}-title`}>
          <bdi>{visibleText(description || strings.cards.payment)}</bdi>
        </span>
        <PaymentStatus status={status} />
      </div>
      <div className="ts-pay-sum">
        <bdi className="ts-amount" id={`${id}-amount`}>
          {formatMoney(strings.locale, amount, currency)}
        </bdi>
        {isPending && deadline !== null && (
          <TimeLeft deadline={deadline} announce={paymentStrings.secondsLeft} />
        )}
      </div>
      <div className="ts-pay-order">
        <bdi>{paymentStrings.order(visibleText(order_no))}</bdi>
      </div>
      {canRefresh ? <Actions view={view} /> : <PaymentOutcome block={block} />}
      <CardProblem problem={problem} />
    </Card>
  );
}

function Actions({ view }: ViewProps): ReactNode {
  const [isConfirming, setConfirming] = useState(false);
  const [wasConfirming, setWasConfirming] = useState(false);
  const paymentStrings = useCardStrings().payments;
  const { block, checkout, canCancel } = view;
  if (canCancel && isConfirming)
    return (
      <ConfirmCancel
        view={view}
        onKeep={() => {
          setConfirming(false);
          setWasConfirming(true);
        }}
      />
    );
  const isFirst = block.status === "pending";
  return (
    <div className="ts-row ts-pay-actions">
      {checkout !== null && (
        <ExternalLink href={checkout.href} className={isFirst ? "ts-button ts-primary" : "ts-button"}>
          {isFirst ? paymentStrings.pay : paymentStrings.continueCheckout}
          <PaymentIcon name="external" />
          <span className="ts-sr">{checkout.to}</span>
        </ExternalLink>
      )}
      <RefreshButton view={view} />
      {canCancel && <CancelButton takesFocus={wasConfirming} onPress={() => setConfirming(true)} />}
    </div>
  );
}

/** How long the button shows that the status is up to date. */
const SHOW_CURRENT_MS = 4_000;

function RefreshButton({ view: { isRefreshing, refresh } }: ViewProps): ReactNode {
  const paymentStrings = useCardStrings().payments;
  const [isCurrent, setCurrent] = useState(false);
  useEffect(() => {
    if (!isCurrent) return undefined;
    const timer = setTimeout(() => setCurrent(false), SHOW_CURRENT_MS);
    return () => clearTimeout(timer);
  }, [isCurrent]);
  return (
    <>
      {/* Not `disabled` while it is busy, because that would take the focus away. */}
      <Button
        data-action="refresh"
        aria-disabled={isRefreshing}
        data-busy={isRefreshing || undefined}
        onClick={() => {
          setCurrent(false);
          refresh(() => setCurrent(true));
        }}
      >
        <PaymentIcon name={isCurrent ? "current" : "refresh"} />
        <span className="ts-pay-label">{paymentStrings.refresh}</span>
      </Button>
      <span className="ts-sr" role="status">
        {isCurrent ? paymentStrings.isCurrent : ""}
      </span>
    </>
  );
}

interface CancelButtonProps {
  /** Whether the user has just returned from the confirmation. */
  readonly takesFocus: boolean;
  readonly onPress: () => void;
}

function CancelButton({ takesFocus, onPress }: CancelButtonProps): ReactNode {
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (takesFocus) button.current?.focus();
  }, [takesFocus]);
  return (
    <button
      ref={button}
      type="button"
      className="ts-button ts-plain-button"
      data-action="cancel"
      onClick={onPress}
    >
      {useCardStrings().payments.cancel}
    </button>
  );
}

function ConfirmCancel({
  view: { isSending, cancel },
  onKeep,
}: ViewProps & { readonly onKeep: () => void }): ReactNode {
  const strings = useCardStrings();
  const paymentStrings = useCardStrings().payments;
  const keep = useRef<HTMLButtonElement>(null);
  const id = useId();
  // The user has just opened the confirmation. The harmless answer gets the focus.
  useEffect(() => keep.current?.focus(), []);
  return (
    <div
      className="ts-row ts-pay-actions"
      role="group"
      aria-labelledby={id}
      onKeyDown={({ key }) => {
        if (key === "Escape" && !isSending) onKeep();
      }}
    >
      <span id={id} className="ts-pay-question">
        <bdi>{paymentStrings.confirmCancel}</bdi>
      </span>
      <Button
        className="ts-button ts-danger"
        data-action="confirm-cancel"
        disabled={isSending}
        onClick={cancel}
      >
        {isSending ? strings.cards.sending : paymentStrings.cancelPayment}
      </Button>
      <button ref={keep} type="button" className="ts-button" disabled={isSending} onClick={onKeep}>
        {paymentStrings.keepPayment}
      </button>
    </div>
  );
}

/** Shows how the payment ended. Empty in a read-only thread while the payment is open. */
function PaymentOutcome({ block }: { readonly block: PaymentBlock }): ReactNode {
  const strings = useCardStrings();
  const { outcome } = useCardStrings().payments;
  const { status, reason } = block;
  const userName = useUserName(block.by);
  const text =
    status === "cancelled"
      ? outcome.cancelled(visibleText(userName))
      : status === "pending" || status === "processing"
        ? ""
        : outcome[status];
  return (
    <p className="ts-row ts-pay-actions ts-pay-outcome">
      <bdi>{text}</bdi>
      {reason !== null && reason !== "" && <bdi>{strings.cards.reasonGiven(visibleText(reason))}</bdi>}
    </p>
  );
}

const CIRCLE = "M8 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11Z";

/** These icons are not in `ui/icons.tsx`, so that they are loaded with the card. */
const PATHS = {
  pending: `${CIRCLE}M8 5.2V8l2 1.4`,
  processing: "M13.5 8A5.5 5.5 0 1 1 8 2.5",
  succeeded: `${CIRCLE}M5.5 8.2 7.2 10l3.3-3.8`,
  failed: `${CIRCLE}M8 5.2v3.3M8 10.8v.1`,
  cancelled: `${CIRCLE}M5 8h6`,
  expired: "M4.5 2.5h7M4.5 13.5h7M5.5 2.5v2L8 8l-2.5 3.5v2M10.5 2.5v2L8 8l2.5 3.5v2",
  refresh: "M13.2 8a5.2 5.2 0 1 1-1.6-3.7M13.2 2.6v2.9h-2.9",
  current: "M3.5 8.5 6.5 11.5 12.5 4.5",
  external: "M6.5 4H3.5v8.5H12V9.5M9.5 3.5h3v3M12.5 3.5 7.5 8.5",
};

function PaymentIcon({ name }: { readonly name: keyof typeof PATHS }): ReactNode {
  return (
    <svg className={`ts-icon ts-pay-icon-${name}`} viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}

function PaymentStatus({ status }: Pick<PaymentBlock, "status">): ReactNode {
  const strings = useCardStrings();
  return (
    <span className="ts-pill" data-status={status}>
      <PaymentIcon name={status} />
      {strings.cards.paymentStatus[status]}
    </span>
  );
}
