/**
 * `PaymentStatus` shows the status of a payment as an icon and a text. `PaymentIcon` shows an icon of the card.
 * Invariant: the status is always a text too, because not every user can see color and icon.
 */
import type { PaymentBlock } from "@turnstream/protocol";
import type { ReactNode } from "react";
import { useCardStrings } from "../hooks/use-card-strings.ts";

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

export function PaymentIcon({ name }: { readonly name: keyof typeof PATHS }): ReactNode {
  return (
    <svg className={`ts-icon ts-pay-icon-${name}`} viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}

export function PaymentStatus({ status }: Pick<PaymentBlock, "status">): ReactNode {
  const strings = useCardStrings();
  return (
    <span className="ts-pill" data-status={status}>
      <PaymentIcon name={status} />
      {strings.cards.paymentStatus[status]}
    </span>
  );
}
