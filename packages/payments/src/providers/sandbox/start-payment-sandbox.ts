/**
 * `startPaymentSandbox` starts an HTTP server that plays NewebPay for development and tests: its payment page, its
 * notifications and its query API, with its ciphers.
 *
 * Invariant: it charges nothing, and stores orders in memory only. It accepts a page or a query only with the right
 * signature, so an adapter that works with it signs correctly.
 */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { readBytes } from "@turnstream/server/internal";
import { newebPay, type NewebPayOptions } from "../newebpay.ts";
import {
  createCheckValue,
  decryptTradeInfo,
  equals,
  isTradeShaValid,
  type NewebPayKeys,
} from "../newebpay-cipher.ts";
import type { Page } from "../../pages/render-page.ts";
import type { PaymentProvider } from "../../provider.ts";
import { type SandboxBehavior, SandboxNotifier } from "./sandbox-notifier.ts";
import {
  DUPLICATE_ORDER,
  type NotificationOverrides,
  type SandboxOrder,
  SandboxOrders,
} from "./sandbox-orders.ts";
import { renderRefusalPage, renderReturnPage, renderSandboxPage } from "./sandbox-page.ts";

export type { NotificationOverrides, SandboxBehavior, SandboxOrder };

export interface PaymentSandboxOptions extends Partial<NewebPayKeys> {
  /** @default a free port */
  readonly port?: number;
  /** How the sandbox notifies. @default { notify: "once" } */
  readonly behavior?: SandboxBehavior;
}

export interface PaymentSandbox {
  /** Base URL, for the option `url` of `newebPay`. */
  readonly url: string;
  /** Options of `newebPay` for this sandbox. They can be passed to another process as JSON. */
  readonly providerOptions: NewebPayOptions;
  /** Can be changed at any time. Applies to later results. */
  behavior: SandboxBehavior;
  /** Returns the adapter for this sandbox, with the name "sandbox". */
  provider(): PaymentProvider;
  orders(): SandboxOrder[];
  /** Pays the order as the button of the page does, and notifies. */
  pay(orderNo: string): Promise<void>;
  /** Lets the payment fail as the button of the page does, and notifies. */
  fail(orderNo: string): Promise<void>;
  /** Refunds a paid order. NewebPay sends no notification about refunds: the next query reports it. */
  refund(orderNo: string, amount?: number): void;
  /** Sends a notification now. @returns its HTTP status, or null without a response */
  sendNotification(orderNo: string, overrides?: NotificationOverrides): Promise<number | null>;
  close(): Promise<void>;
}

const DEFAULT_KEYS: NewebPayKeys = {
  merchantId: "MS000000001",
  hashKey: "sandbox-hash-key-32-characters--",
  hashIv: "sandbox-hash-iv.",
};
const HOST = "127.0.0.1";
const MAX_BODY_BYTES = 65_536;
const ORDERS_PATH = "/sandbox/orders/";
const NOT_FOUND: Page = {
  status: 404,
  headers: { "content-type": "text/plain; charset=utf-8" },
  text: "Not found.",
};
const BAD_SIGNATURE = "MPG03009";
const BAD_CHECK_VALUE = "TRA10054";

export async function startPaymentSandbox(options: PaymentSandboxOptions = {}): Promise<PaymentSandbox> {
  const { port = 0, behavior = { notify: "once" }, ...given } = options;
  const keys: NewebPayKeys = { ...DEFAULT_KEYS, ...given };
  const orders = new SandboxOrders(keys);
  const notifier = new SandboxNotifier(orders, behavior);
  const server = createServer((request, response) => {
    answer(request, { keys, orders, finish })
      .then(({ status, headers, text }) => response.writeHead(status, headers).end(text))
      .catch(() => response.destroy());
  });
  server.listen({ host: HOST, port });
  await once(server, "listening");
  const url = `http://${HOST}:${(server.address() as AddressInfo).port}`;
  const providerOptions: NewebPayOptions = { ...keys, url, name: "sandbox" };

  async function finish(orderNo: string, status: "paid" | "failed"): Promise<void> {
    if (orders.finish(orderNo, status, Date.now())) await notifier.notify(orderNo);
  }

  return {
    url,
    providerOptions,
    get behavior() {
      return notifier.behavior;
    },
    set behavior(changed) {
      notifier.behavior = changed;
    },
    provider: () => newebPay(providerOptions),
    orders: () => orders.list(),
    pay: (orderNo) => finish(orderNo, "paid"),
    fail: (orderNo) => finish(orderNo, "failed"),
    refund: (orderNo, amount) => orders.refund(orderNo, amount ?? orders.get(orderNo).amount),
    sendNotification: (orderNo, overrides) => notifier.send(orderNo, overrides),
    async close() {
      if (!server.listening) return;
      notifier.close();
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

interface SandboxServer {
  readonly keys: NewebPayKeys;
  readonly orders: SandboxOrders;
  readonly finish: (orderNo: string, status: "paid" | "failed") => Promise<void>;
}

async function answer(request: IncomingMessage, sandbox: SandboxServer): Promise<Page> {
  const { pathname } = new URL(request.url ?? "/", "http://sandbox");
  const form = request.method === "POST" ? await readForm(request) : null;
  if (form === null) return NOT_FOUND;
  const nonce = randomBytes(16).toString("base64url");
  if (pathname === "/MPG/mpg_gateway") return openPage(form, sandbox, nonce);
  if (pathname === "/API/QueryTradeInfo") return answerQuery(form, sandbox);
  if (!pathname.startsWith(ORDERS_PATH)) return NOT_FOUND;
  return press(decodeURIComponent(pathname.slice(ORDERS_PATH.length)), form, sandbox, nonce);
}

function openPage(form: URLSearchParams, { keys, orders }: SandboxServer, nonce: string): Page {
  const tradeInfo = form.get("TradeInfo") ?? "";
  const isSigned =
    form.get("MerchantID") === keys.merchantId &&
    isTradeShaValid(keys, tradeInfo, form.get("TradeSha") ?? "");
  const fields = new URLSearchParams(isSigned ? (decryptTradeInfo(keys, tradeInfo) ?? "") : "");
  const language = fields.get("LangType") ?? "";
  if (fields.get("MerchantID") !== keys.merchantId) return renderRefusalPage(language, BAD_SIGNATURE, nonce);
  const order = orders.open(fields);
  return order === null
    ? renderRefusalPage(language, DUPLICATE_ORDER, nonce)
    : renderSandboxPage(order, nonce);
}

/** Handles a button of the page. */
function press(
  orderNo: string,
  form: URLSearchParams,
  { orders, finish }: SandboxServer,
  nonce: string,
): Page {
  const action = form.get("action");
  const order = orders.find(orderNo);
  if (order === null) return NOT_FOUND;
  if (action !== "pay" && action !== "fail")
    return { status: 303, headers: { location: order.returnUrl }, text: "" };
  // NewebPay notifies in the background. `finish` changes the order before it notifies.
  void finish(orderNo, action === "pay" ? "paid" : "failed");
  return renderReturnPage(orders.get(orderNo), orders.notification(orderNo), nonce);
}

function answerQuery(form: URLSearchParams, { keys, orders }: SandboxServer): Page {
  const orderNo = form.get("MerchantOrderNo") ?? "";
  const amount = Number(form.get("Amt"));
  const isSigned =
    form.get("MerchantID") === keys.merchantId &&
    equals(createCheckValue(keys, { amount, orderNo }), form.get("CheckValue") ?? "");
  const found = isSigned
    ? orders.answer(orderNo, amount)
    : { Status: BAD_CHECK_VALUE, Message: "檢查碼錯誤", Result: [] };
  const headers = { "content-type": "application/json; charset=utf-8", "cache-control": "no-store" };
  return { status: 200, headers, text: JSON.stringify(found) };
}

/** @returns null if the body is too large */
async function readForm(request: IncomingMessage): Promise<URLSearchParams | null> {
  const bytes = await readBytes(request as AsyncIterable<Buffer>, MAX_BODY_BYTES).catch(() => null);
  return bytes === null ? null : new URLSearchParams(Buffer.from(bytes).toString("utf8"));
}
