/**
 * `renderSandboxPage` and its siblings render the pages of the payment sandbox as HTML, in zh-TW and en. Pure.
 *
 * Invariant: every value is escaped, and a page loads nothing. Its only script has the nonce of the response and
 * submits the form that returns to the shop; without scripts a button does it.
 */
import { formatMoney } from "@turnstream/protocol";
import { NEWEBPAY_CURRENCY } from "../newebpay-reports.ts";
import type { SandboxOrder } from "./sandbox-orders.ts";

const STRINGS = {
  "zh-TW": {
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
  },
  en: {
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
  },
} as const;

type Locale = keyof typeof STRINGS;

const STYLE = `
:root {
  color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif;
  --page: light-dark(#f4f4f5, #09090b); --card: light-dark(#fff, #18181b); --text: light-dark(#18181b, #fafafa);
  --muted: light-dark(#52525b, #a1a1aa); --line: light-dark(#d4d4d8, #3f3f46);
  --notice: light-dark(#fef3c7, #3b2a0c); --on-notice: light-dark(#78350f, #fcd34d);
}
* { box-sizing: border-box; }
body {
  margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 1rem;
  background: var(--page); color: var(--text);
}
main {
  width: 100%; max-width: 26rem; padding: 1.5rem;
  background: var(--card); border: 1px solid var(--line); border-radius: .75rem;
}
h1 { margin: 0 0 .75rem; font-size: 1.375rem; line-height: 1.25; }
p { margin: 0 0 1rem; padding: .5rem .75rem; border-radius: .5rem; background: var(--notice); color: var(--on-notice); }
dl { margin: 0 0 .5rem; }
dt { color: var(--muted); font-size: .875rem; }
dd { margin: 0 0 .75rem; overflow-wrap: anywhere; }
button {
  display: block; width: 100%; min-height: 2.75rem; margin-top: .75rem; cursor: pointer;
  border: 1px solid var(--line); border-radius: .5rem; background: none; color: inherit; font: inherit;
}
button[value=pay], main > form > button:only-of-type { border-color: transparent; background: var(--text); color: var(--card); font-weight: 600; }
button:focus-visible { outline: 3px solid var(--text); outline-offset: 2px; }
`;

function toLocale(language: string): Locale {
  return language === "zh-tw" ? "zh-TW" : "en";
}

function escape(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

function renderPage(locale: Locale, nonce: string, heading: string, body: string): string {
  const strings = STRINGS[locale];
  return `<!doctype html>
<html lang="${locale}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${strings.title}</title>
<style nonce="${nonce}">${STYLE}</style>
</head>
<body>
<main>
<h1>${heading}</h1>
<p>${strings.notice}</p>
${body}
</main>
</body>
</html>
`;
}

/** The page on which the user pays, lets the payment fail, or returns without paying. */
export function renderSandboxPage(order: SandboxOrder, nonce: string): string {
  const locale = toLocale(order.language);
  const strings = STRINGS[locale];
  const button = (action: "pay" | "fail" | "abandon"): string =>
    `<button name="action" value="${action}">${strings[action]}</button>`;
  return renderPage(
    locale,
    nonce,
    strings.title,
    `<dl>
<dt>${strings.item}</dt><dd>${escape(order.description)}</dd>
<dt>${strings.amount}</dt><dd>${escape(formatMoney(locale, order.amount, NEWEBPAY_CURRENCY))}</dd>
<dt>${strings.order}</dt><dd>${escape(order.orderNo)}</dd>
</dl>
<form method="post" action="/sandbox/orders/${encodeURIComponent(order.orderNo)}">
${button("pay")}
${button("fail")}
${button("abandon")}
</form>`,
  );
}

/** The page that posts the result to the shop's return URL, as NewebPay does. */
export function renderReturnPage(
  order: SandboxOrder,
  fields: Readonly<Record<string, string>>,
  nonce: string,
): string {
  const locale = toLocale(order.language);
  const strings = STRINGS[locale];
  const inputs = Object.entries(fields).map(
    ([name, value]) => `<input type="hidden" name="${escape(name)}" value="${escape(value)}">`,
  );
  return renderPage(
    locale,
    nonce,
    order.status === "failed" ? strings.declined : strings.done,
    `<form method="post" action="${escape(order.returnUrl)}">
${inputs.join("\n")}
<button>${strings.back}</button>
</form>
<script nonce="${nonce}">document.forms[0].submit()</script>`,
  );
}

/** @param code NewebPay's code of the error */
export function renderRefusalPage(language: string, code: string, nonce: string): string {
  const locale = toLocale(language);
  return renderPage(locale, nonce, STRINGS[locale].refused, `<p>${escape(code)}</p>`);
}
