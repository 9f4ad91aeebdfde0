/**
 * `renderCheckoutPage`, `renderLeavingPage`, `renderReturnPage` and `renderMessagePage` render the pages that a user
 * sees around a payment. Pure.
 * Invariant: the pages show what the store has, and nothing that the browser sent. Only a payment that can still be
 * made has a button. Addresses are relative to the page, so the pages work behind any prefix. Every value is escaped.
 */
import { formatMoney } from "@turnstream/protocol";
import type { CheckoutStep } from "../provider.ts";
import type { Payment } from "../store/payments-part.ts";
import type { PaymentStatus } from "../store/payment-transitions.ts";
import { html, type Html } from "./html.ts";
import { POLL_STATUS, SUBMIT_WHEN_VISIBLE } from "./page-scripts.ts";
import { type Page, type PageContext, renderPage } from "./render-page.ts";

/** The fields of a payment that its pages show. */
type PagePayment = Pick<
  Payment,
  "description" | "amount" | "currency" | "orderNo" | "status" | "expiresAt" | "refundedAmount" | "flag"
>;

export interface PaymentPageContext extends PageContext {
  /** The token in the address of the page. */
  readonly token: string;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/**
 * Renders the page behind `checkout_url`: the payment and a button that starts or continues the checkout.
 * @param formOrigin the origin to which the provider redirects the form, or null
 */
export function renderCheckoutPage(
  context: PaymentPageContext,
  payment: PagePayment,
  formOrigin: string | null,
): Page {
  const { strings, token } = context;
  if (!canPay(payment, context.now)) return renderReturnPage(context, payment);
  return renderPage(context, {
    title: strings.checkout.title,
    body: html`<main data-status="${payment.status}">
      <h1>${strings.checkout.title}</h1>
      <p>${payment.description}</p>
      ${renderFacts(context, payment)}
      <p class="muted">${strings.checkout.text}</p>
      <form method="post" action="${token}">${renderButton(strings.continueButton)}</form>
    </main>`,
    script: SUBMIT_WHEN_VISIBLE,
    formOrigins: formOrigin === null ? [] : [formOrigin],
  });
}

/** Renders the page that posts a form to the payment provider. */
export function renderLeavingPage(
  context: PageContext,
  step: Extract<CheckoutStep, { readonly type: "form" }>,
): Page {
  const { strings } = context;
  const fields = Object.entries(step.fields).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`,
  );
  return renderPage(context, {
    title: strings.leaving.title,
    body: html`<main>
      ${renderText(strings.leaving)}
      <form method="post" action="${step.action}">${fields}${renderButton(strings.continueButton)}</form>
    </main>`,
    script: SUBMIT_WHEN_VISIBLE,
    formOrigins: [new URL(step.action).origin],
  });
}

/** Renders the page to which the provider sends the user back. While the payment is open, the page updates itself. */
export function renderReturnPage(context: PaymentPageContext, payment: PagePayment): Page {
  const { strings, token, now } = context;
  const isLive = canPay(payment, now);
  const status = shownStatus(payment, now);
  const text = strings.statuses[status];
  const live = {
    // For browsers without scripts.
    head: html`<noscript><meta http-equiv="refresh" content="60; url=${token}" /></noscript>`,
    script: POLL_STATUS,
  };
  return renderPage(context, {
    title: text.title,
    body: html`<main data-status="${status}" data-status-url="../status/${token}" data-page-url="${token}">
      <div role="status">${renderText(text)}</div>
      <p>${payment.description}</p>
      ${renderFacts(context, payment)}
      ${payment.flag === "late_success" ? html`<p>${strings.lateSuccess}</p>` : null}
      ${isLive ? html`<p><a class="button" href="../checkout/${token}">${strings.continueButton}</a></p>` : html`<p class="muted">${strings.closePage}</p>`}
    </main>`,
    ...(isLive ? live : {}),
  });
}

/** Renders a page without a payment: the link is unknown, or the payment page can't be opened now. */
export function renderMessagePage(
  context: PageContext,
  status: 404 | 503,
  retryUrl: string | null = null,
): Page {
  const { strings } = context;
  const text = status === 404 ? strings.notFound : strings.unavailable;
  const retry = retryUrl === null ? null : html`<a class="button" href="${retryUrl}">${strings.tryAgain}</a>`;
  return renderPage(context, {
    status,
    title: text.title,
    body: html`<main>${renderText(text)} ${retry}</main>`,
  });
}

function renderText({ title, text }: { readonly title: string; readonly text: string }): Html {
  return html`<h1>${title}</h1>
    <p>${text}</p>`;
}

function renderButton(text: string): Html {
  return html`<button type="submit">${text}</button>`;
}

function renderFacts({ strings, now }: PaymentPageContext, payment: PagePayment): Html {
  const { amount, currency, orderNo, refundedAmount, expiresAt } = payment;
  const money = (value: number) => formatMoney(strings.locale, value, currency);
  const minutes = Math.max(1, Math.floor((expiresAt - now) / 60_000));
  return html`<dl>
      <dt>${strings.amount}</dt>
      <dd class="amount">${money(amount)}</dd>
      <dt>${strings.order}</dt>
      <dd>${orderNo}</dd>
      ${
        refundedAmount === 0
          ? null
          : html`<dt>${strings.refunded}</dt>
              <dd>${money(refundedAmount)}</dd>`
      }
    </dl>
    ${canPay(payment, now) ? html`<p class="muted">${strings.minutesLeft(minutes)}</p>` : null}`;
}

/** A periodic job expires payments, so the store can be late. */
function shownStatus({ status, expiresAt }: PagePayment, now: number): PaymentStatus {
  return status === "pending" && expiresAt <= now ? "expired" : status;
}

function canPay(payment: PagePayment, now: number): boolean {
  const status = shownStatus(payment, now);
  return status === "pending" || status === "processing";
}
