/**
 * `renderSandboxPage` and its siblings render the pages of the payment sandbox as HTML, in zh-TW and en. Pure.
 *
 * Invariant: the only script of a page submits the form that returns to the shop; without scripts a button does it.
 */
import { formatMoney } from "@turnstream/protocol";
import { Html, html } from "../../pages/html.ts";
import { type Page, renderPage } from "../../pages/render-page.ts";
import { NEWEBPAY_CURRENCY } from "../newebpay-reports.ts";
import type { SandboxOrder } from "./sandbox-orders.ts";

const ZH_TW = {
  locale: "zh-TW",
  title: "付款沙箱",
  notice: "這是測試頁面，不會實際扣款。",
  item: "商品",
  amount: "金額",
  order: "訂單編號",
  pay: "付款成功",
  fail: "付款失敗",
  abandon: "放棄付款，返回商店",
  done: "付款成功",
  declined: "付款失敗",
  back: "返回商店",
  refused: "無法處理此訂單",
};

const EN: typeof ZH_TW = {
  locale: "en",
  title: "Payment sandbox",
  notice: "This is a test page. No money is charged.",
  item: "Item",
  amount: "Amount",
  order: "Order number",
  pay: "Pay",
  fail: "Let the payment fail",
  abandon: "Abandon and return to the shop",
  done: "The payment succeeded",
  declined: "The payment failed",
  back: "Return to the shop",
  refused: "The order can't be processed",
};

const SUBMIT = new Html("document.forms[0].submit()");

function stringsFor(language: string): typeof ZH_TW {
  return language === "zh-tw" ? ZH_TW : EN;
}

/** The page on which the user pays, lets the payment fail, or returns without paying. */
export function renderSandboxPage(order: SandboxOrder, nonce: string): Page {
  const strings = stringsFor(order.language);
  const button = (action: "pay" | "fail" | "abandon") =>
    html`<p><button name="action" value="${action}">${strings[action]}</button></p>`;
  return renderPage(
    { strings, nonce },
    {
      title: strings.title,
      body: html`<main>
        <h1>${strings.title}</h1>
        <p>${strings.notice}</p>
        <dl>
          <dt>${strings.item}</dt>
          <dd>${order.description}</dd>
          <dt>${strings.amount}</dt>
          <dd class="amount">${formatMoney(strings.locale, order.amount, NEWEBPAY_CURRENCY)}</dd>
          <dt>${strings.order}</dt>
          <dd>${order.orderNo}</dd>
        </dl>
        <form method="post" action="/sandbox/orders/${encodeURIComponent(order.orderNo)}">
          ${button("pay")} ${button("fail")} ${button("abandon")}
        </form>
      </main>`,
      // The last button redirects there.
      formOrigins: originsOf(order),
    },
  );
}

/** The page that posts the result to the shop's return URL, as NewebPay does. */
export function renderReturnPage(
  order: SandboxOrder,
  fields: Readonly<Record<string, string>>,
  nonce: string,
): Page {
  const strings = stringsFor(order.language);
  const inputs = Object.entries(fields).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`,
  );
  return renderPage(
    { strings, nonce },
    {
      title: strings.title,
      body: html`<main>
        <h1>${order.status === "failed" ? strings.declined : strings.done}</h1>
        <p>${strings.notice}</p>
        <form method="post" action="${order.returnUrl}">${inputs}<button>${strings.back}</button></form>
      </main>`,
      script: SUBMIT,
      formOrigins: originsOf(order),
    },
  );
}

/** @param code NewebPay's code of the error */
export function renderRefusalPage(language: string, code: string, nonce: string): Page {
  const strings = stringsFor(language);
  return renderPage(
    { strings, nonce },
    {
      status: 400,
      title: strings.title,
      body: html`<main>
        <h1>${strings.refused}</h1>
        <p>${strings.notice}</p>
        <p>${code}</p>
      </main>`,
    },
  );
}

function originsOf({ returnUrl }: SandboxOrder): string[] {
  const url = URL.parse(returnUrl);
  return url === null ? [] : [url.origin];
}
