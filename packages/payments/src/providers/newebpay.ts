/**
 * `newebPay` is the adapter for NewebPay's payment page (MPG) and its query API, by its manual NDNF-1.1.9.
 *
 * Invariant: the secrets appear in no URL, form field, message or error. NewebPay has one order per order number, and
 * the form carries nothing else that identifies it, so opening the checkout again continues the same order.
 */
import { truncateText } from "@turnstream/protocol/writer";
import { createCheckValue, encryptTradeInfo, type NewebPayKeys, signTradeInfo } from "./newebpay-cipher.ts";
import { NEWEBPAY_CURRENCY, readNewebPayAnswer, readNewebPayNotification } from "./newebpay-reports.ts";
import { type CheckoutOrder, type Money, PaymentError, type PaymentProvider } from "../provider.ts";

export interface NewebPayOptions extends NewebPayKeys {
  /** Base URL. NewebPay's test environment is https://ccore.newebpay.com. @default https://core.newebpay.com */
  readonly url?: string;
  /** Name of the provider, in stored orders and in the notify URL. @default "newebpay" */
  readonly name?: string;
  /** Ways to pay that the page offers, by NewebPay's parameters. @default those that the shop enabled */
  readonly methods?: readonly string[];
  /** Version of the payment page. NewebPay asks for "2.3" for some shops. @default "2.0" */
  readonly version?: string;
  /** Current time, for tests. @default Date.now */
  readonly now?: () => number;
}

const QUERY_VERSION = "1.3";
const MAX_AMOUNT = 9_999_999_999;
const MAX_DESCRIPTION_LENGTH = 50;
const MAX_ANSWER_BYTES = 65_536;
const MIN_LIMIT_SECONDS = 60;
const MAX_LIMIT_SECONDS = 900;
const TAIPEI_OFFSET_MS = 8 * 60 * 60 * 1_000;

/** @throws TypeError if an option is invalid */
export function newebPay(options: NewebPayOptions): PaymentProvider {
  const { merchantId, name = "newebpay", version = "2.0", now = Date.now } = options;
  const base = checkOptions(options);

  return {
    name,
    formOrigin: base.origin,
    checkMoney,

    async checkout(order) {
      const problem = checkMoney(order);
      if (problem !== null) throw new PaymentError("REFUSED", problem);
      const tradeInfo = encryptTradeInfo(options, createTradeInfo(order, options, version, now()).toString());
      return {
        step: {
          type: "form",
          action: new URL("MPG/mpg_gateway", base).href,
          fields: {
            MerchantID: merchantId,
            TradeInfo: tradeInfo,
            TradeSha: signTradeInfo(options, tradeInfo),
            Version: version,
          },
        },
        providerRef: order.providerRef,
      };
    },

    readNotification: ({ body }) => readNewebPayNotification(options, body),

    async query({ orderNo, amount }, { signal }) {
      const body = new URLSearchParams({
        MerchantID: merchantId,
        Version: QUERY_VERSION,
        RespondType: "JSON",
        CheckValue: createCheckValue(options, { amount, orderNo }),
        TimeStamp: toSeconds(now()),
        MerchantOrderNo: orderNo,
        Amt: String(amount),
        // NewebPay's rule for shops that consist of several shops.
        ...(merchantId.startsWith("MS5") && { Gateway: "Composite" }),
      });
      const text = await post(new URL("API/QueryTradeInfo", base), body, signal);
      return readNewebPayAnswer(options, orderNo, text);
    },
  };
}

function checkMoney({ amount, currency }: Money): string | null {
  if (currency !== NEWEBPAY_CURRENCY)
    return `NewebPay charges only ${NEWEBPAY_CURRENCY}, got ${JSON.stringify(currency)}.`;
  return Number.isInteger(amount) && amount >= 1 && amount <= MAX_AMOUNT
    ? null
    : `The amount must be whole dollars from 1 to ${MAX_AMOUNT}, got ${amount}.`;
}

function createTradeInfo(
  order: CheckoutOrder,
  { merchantId, methods = [] }: NewebPayOptions,
  version: string,
  now: number,
): URLSearchParams {
  return new URLSearchParams({
    MerchantID: merchantId,
    RespondType: "JSON",
    TimeStamp: toSeconds(now),
    Version: version,
    LangType: toLanguage(order.locale),
    MerchantOrderNo: order.orderNo,
    Amt: String(order.amount),
    ItemDesc: toDescription(order.description),
    ReturnURL: order.returnUrl,
    NotifyURL: order.notifyUrl,
    ClientBackURL: order.returnUrl,
    ...(order.expiresAt !== null && limitTime(order.expiresAt, now)),
    ...Object.fromEntries(methods.map((method) => [method, "1"])),
  });
}

/**
 * Ends the page and its payment codes with the order, so that fewer users pay too late. NewebPay limits the page to at
 * most 15 minutes, and counts a page that timed out as failed; so the limit is set only for the last 15 minutes.
 */
function limitTime(expiresAt: number, now: number): Record<string, string> {
  const seconds = Math.floor((expiresAt - now) / 1_000);
  const lastDay = new Date(expiresAt + TAIPEI_OFFSET_MS).toISOString().slice(0, 10).replaceAll("-", "");
  return {
    ExpireDate: lastDay,
    ...(seconds <= MAX_LIMIT_SECONDS && { TradeLimit: String(Math.max(MIN_LIMIT_SECONDS, seconds)) }),
  };
}

/** Removes what NewebPay's page filters or can't show. */
function toDescription(text: string): string {
  const plain = text.replaceAll(/[\p{C}'"<>&\\]+/gu, " ").trim();
  return truncateText(plain, MAX_DESCRIPTION_LENGTH) || "-";
}

function toLanguage(locale: string): string {
  const [language] = locale.toLowerCase().split("-");
  return language === "zh" ? "zh-tw" : language === "ja" ? "jp" : "en";
}

function toSeconds(ms: number): string {
  return String(Math.floor(ms / 1_000));
}

async function post(url: URL, body: URLSearchParams, signal: AbortSignal): Promise<string> {
  try {
    const response = await fetch(url, { method: "POST", body, signal, redirect: "error" });
    const text = await readText(response);
    if (response.ok) return text;
    throw new Error(`HTTP ${response.status}`);
  } catch (cause) {
    throw new PaymentError("UNAVAILABLE", "NewebPay did not answer the query.", { cause });
  }
}

async function readText(response: Response): Promise<string> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of response.body ?? []) {
    size += piece.byteLength;
    if (size > MAX_ANSWER_BYTES) throw new Error(`the answer has more than ${MAX_ANSWER_BYTES} bytes`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString("utf8");
}

/** Checks the options without quoting secrets. @returns the base URL, with a slash at its end */
function checkOptions({ merchantId, hashKey, hashIv, name = "newebpay", ...rest }: NewebPayOptions): URL {
  const { url = "https://core.newebpay.com", methods = [] } = rest;
  if (!/^\w{1,15}$/.test(merchantId))
    throw new TypeError(`\`merchantId\` must have 1 to 15 letters and digits, got "${merchantId}".`);
  if (!/^[\x21-\x7e]{32}$/.test(hashKey))
    throw new TypeError(`\`hashKey\` must have 32 characters, got ${hashKey.length}.`);
  if (!/^[\x21-\x7e]{16}$/.test(hashIv))
    throw new TypeError(`\`hashIv\` must have 16 characters, got ${hashIv.length}.`);
  if (!/^[a-z][a-z0-9-]{0,39}$/.test(name))
    throw new TypeError(`\`name\` must have 1 to 40 of a-z 0-9 -, got "${name}".`);
  const wrong = methods.find((method) => !/^[A-Z]\w{2,19}$/i.test(method));
  if (wrong !== undefined) throw new TypeError(`\`methods\` must be parameters of NewebPay, got "${wrong}".`);
  const base = URL.parse(url);
  if (base === null || !/^https?:$/.test(base.protocol))
    throw new TypeError(`\`url\` must be an http or https URL, got "${url}".`);
  if (!base.pathname.endsWith("/")) base.pathname += "/";
  return base;
}
