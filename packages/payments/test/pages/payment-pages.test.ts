/** Tests the payment pages: content in every state and language, escaping, and their content security policy. */
import { Parser } from "htmlparser2";
import { describe, expect, test } from "vitest";
import {
  renderCheckoutPage,
  renderLeavingPage,
  renderMessagePage,
  renderReturnPage,
} from "../../src/pages/payment-page.ts";
import type { Page } from "../../src/pages/render-page.ts";
import { PAGE_STRINGS, selectPageStrings } from "../../src/pages/select-page-strings.ts";
import type { PaymentStatus } from "../../src/store/payment-transitions.ts";

const NOW = 1_800_000_000_000;
const STATUSES: readonly PaymentStatus[] = [
  "pending",
  "processing",
  "succeeded",
  "failed",
  "cancelled",
  "expired",
];

const payment = {
  description: "Deposit for 3 beds",
  amount: 2400,
  currency: "TWD",
  orderNo: "TSAAAABBBBCCCCDDDDEEEEFFFF",
  status: "pending" as PaymentStatus,
  expiresAt: NOW + 30 * 60_000,
  refundedAmount: 0,
  flag: null as "late_success" | "mismatch" | null,
};

function pageContext(locale: string) {
  return { strings: selectPageStrings(locale), nonce: "nonce-1", token: "t0ken", now: NOW };
}

interface Tag {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
}

/** The tags and the visible text as a browser parses them. */
function parse({ text }: Page): { tags: Tag[]; shown: string; scripts: string[] } {
  const tags: Tag[] = [];
  const shown: string[] = [];
  const scripts: string[] = [];
  const open: string[] = [];
  const parser = new Parser({
    onopentag(name, attributes) {
      open.push(name);
      tags.push({ name, attributes });
    },
    ontext(piece) {
      if (open.includes("script")) scripts.push(piece);
      else if (!open.includes("style") && !open.includes("head")) shown.push(piece);
    },
    onclosetag: () => void open.pop(),
  });
  parser.write(text);
  parser.end();
  return { tags, shown: shown.join("").replaceAll(/\s+/g, " "), scripts };
}

const find = (page: Page, name: string) => parse(page).tags.filter((tag) => tag.name === name);

describe.each(Object.keys(PAGE_STRINGS))("the payment pages in %s", (locale) => {
  const context = pageContext(locale);
  const { strings } = context;

  test.each(STATUSES)("S08 show a payment that is %s", (status) => {
    const page = renderReturnPage(context, { ...payment, status });
    expect(find(page, "html")[0]?.attributes).toEqual({ lang: locale });
    const { shown } = parse(page);
    expect(shown).toContain(strings.statuses[status].title);
    expect(shown).toContain(payment.description);
    expect(shown).toContain(payment.orderNo);
    expect(shown.replaceAll(/[.,  ]/g, "")).toContain("2400");
    const isOpen = status === "pending" || status === "processing";
    expect(find(page, "a").map(({ attributes }) => attributes["href"])).toEqual(
      isOpen ? ["../checkout/t0ken"] : [],
    );
    expect(parse(page).scripts).toHaveLength(isOpen ? 1 : 0);
  });

  test.each(STATUSES)("S08 offer the checkout of a payment that is %s only while it is open", (status) => {
    const page = renderCheckoutPage(context, { ...payment, status }, "https://pay.example");
    const isOpen = status === "pending" || status === "processing";
    const forms = find(page, "form").map(({ attributes }) => attributes);
    expect(forms).toEqual(isOpen ? [{ method: "post", action: "t0ken" }] : []);
    expect(find(page, "button")).toHaveLength(isOpen ? 1 : 0);
    const title = isOpen ? strings.checkout.title : strings.statuses[status].title;
    expect(parse(page).shown).toContain(title);
  });

  test("S08 show that a payment has expired before the job has stored it, or was paid too late", () => {
    const late = renderCheckoutPage(context, { ...payment, expiresAt: NOW }, null);
    expect(parse(late).shown).toContain(strings.statuses.expired.title);
    expect(find(late, "form")).toEqual([]);
    const flagged = { ...payment, status: "expired", flag: "late_success" } as const;
    expect(parse(renderReturnPage(context, flagged)).shown).toContain(strings.lateSuccess);
    expect(parse(renderReturnPage(context, { ...flagged, flag: null })).shown).not.toContain(
      strings.lateSuccess,
    );
  });

  test("S08 show a refund and the time left", () => {
    const refunded = { ...payment, status: "succeeded", refundedAmount: 400 } as const;
    expect(parse(renderReturnPage(context, refunded)).shown).toContain(strings.refunded);
    expect(parse(renderReturnPage(context, { ...refunded, refundedAmount: 0 })).shown).not.toContain(
      strings.refunded,
    );
    expect(parse(renderCheckoutPage(context, payment, null)).shown).toContain(strings.minutesLeft(30));
  });

  test("show an unknown link and an outage as pages", () => {
    const missing = renderMessagePage(context, 404);
    expect([missing.status, parse(missing).shown]).toEqual([
      404,
      expect.stringContaining(strings.notFound.title),
    ]);
    expect(find(missing, "a")).toEqual([]);
    const outage = renderMessagePage(context, 503, "t0ken");
    expect([outage.status, parse(outage).shown]).toEqual([
      503,
      expect.stringContaining(strings.unavailable.title),
    ]);
    expect(find(outage, "a")[0]?.attributes["href"]).toBe("t0ken");
  });
});

const HOSTILE = `"><script>alert(1)</script><img src=x onerror='alert(2)'>\`&lt;`;
const context = pageContext("en");
const form = {
  type: "form",
  action: "https://pay.example/MPG/mpg_gateway",
  fields: { MerchantID: "MS1", TradeInfo: "ab12" },
} as const;

const PAGES: Readonly<Record<string, (text: string) => Page>> = {
  checkout: (text) => renderCheckoutPage(context, { ...payment, description: text, orderNo: text }, null),
  return: (text) => renderReturnPage(context, { ...payment, description: text, currency: text }),
  "token of the checkout": (text) => renderCheckoutPage({ ...context, token: text }, payment, null),
  "token of the return": (text) => renderReturnPage({ ...context, token: text }, payment),
  "fields of the form": (text) => renderLeavingPage(context, { ...form, fields: { [text]: text } }),
  outage: (text) => renderMessagePage(context, 503, text),
};

describe.each(Object.entries(PAGES))("hostile text: %s", (_, render) => {
  test("stays text", () => {
    const plain = parse(render("plain"));
    const hostile = parse(render(HOSTILE));
    expect(hostile.tags.map(({ name }) => name)).toEqual(plain.tags.map(({ name }) => name));
    expect(hostile.scripts).toEqual(plain.scripts);
    for (const { attributes } of hostile.tags) expect(Object.keys(attributes).join(" ")).not.toMatch(/\bon/);
    const texts = [hostile.shown, ...hostile.tags.flatMap(({ attributes }) => Object.values(attributes))];
    expect(texts.some((text) => text.includes("<script>alert(1)</script>"))).toBe(true);
  });
});

describe("the headers of a page", () => {
  test("allow only the page's own script and style, and forms to the named origins", () => {
    const { headers } = renderCheckoutPage(context, payment, "https://pay.example");
    expect(headers).toEqual({
      "content-type": "text/html; charset=utf-8",
      "content-security-policy":
        "default-src 'none'; script-src 'nonce-nonce-1'; style-src 'nonce-nonce-1'; connect-src 'self'; " +
        "form-action 'self' https://pay.example; base-uri 'none'; frame-ancestors 'none'",
      "cache-control": "no-store",
      "x-robots-tag": "noindex",
      vary: "accept-language",
    });
    expect(renderLeavingPage(context, form).headers["content-security-policy"]).toContain(
      "form-action 'self' https://pay.example;",
    );
  });

  test.each(["https://pay.example; script-src *", "https://pay.example/path", "*", ""])(
    "drop the form origin %j, which is none",
    (origin) => {
      const { headers } = renderCheckoutPage(context, payment, origin);
      expect(headers["content-security-policy"]).toContain("form-action 'self';");
    },
  );

  test("have a nonce on every script and style, and no page loads anything", () => {
    const pages = [
      renderCheckoutPage(context, payment, null),
      renderReturnPage(context, payment),
      renderLeavingPage(context, form),
      renderMessagePage(context, 404),
    ];
    for (const page of pages) {
      for (const { name, attributes } of parse(page).tags) {
        expect(attributes["src"], name).toBeUndefined();
        expect(attributes["style"], name).toBeUndefined();
        if (name === "script" || name === "style") expect(attributes).toEqual({ nonce: "nonce-1" });
        expect(["link", "img", "iframe", "object", "base"]).not.toContain(name);
      }
      expect(page.text).not.toMatch(/url\(|@import|https?:\/\/(?!pay\.example)/);
    }
  });
});

test("a form for the provider has its fields and a button", () => {
  const page = renderLeavingPage(context, form);
  expect(find(page, "form")[0]?.attributes).toEqual({ method: "post", action: form.action });
  expect(find(page, "input").map(({ attributes }) => [attributes["name"], attributes["value"]])).toEqual(
    Object.entries(form.fields),
  );
  expect(find(page, "button")).toHaveLength(1);
});

test.each([
  ["zh-TW", undefined, "zh-TW"],
  ["zh-HK", undefined, "zh-TW"],
  ["zh", "vi", "zh-CN"],
  ["vi-VN", "en", "vi"],
  [null, "vi,en;q=0.5", "vi"],
  [null, "fr, en;q=0.2, zh-TW;q=0.9", "zh-TW"],
  [null, "fr;q=1, zh-CN;q=0, en;q=0.1", "en"],
  ["", "*, ;;q=x, zh-Hant-TW", "zh-TW"],
  ["<script>", "x".repeat(10_000), "en"],
  ["ja", undefined, "en"],
])("the locale %j with accept-language %j gives the page in %s", (locale, accept, expected) => {
  expect(selectPageStrings(locale, accept).locale).toBe(expected);
});

test("every language has texts of its own", () => {
  const texts = Object.values(PAGE_STRINGS).flatMap(({ statuses, continueButton, lateSuccess, notFound }) => [
    ...STATUSES.flatMap((status) => [statuses[status].title, statuses[status].text]),
    continueButton,
    lateSuccess,
    notFound.text,
  ]);
  expect(texts.filter((text, n) => texts.indexOf(text) !== n)).toEqual([]);
});
