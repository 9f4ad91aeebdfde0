/**
 * `readNewebPayNotification` and `readNewebPayAnswer` turn NewebPay's messages into reports. Pure.
 *
 * Invariant: the checksum is compared before anything inside the message is decrypted or read. A report is `succeeded`
 * only if the message has a time of payment, because NewebPay also answers SUCCESS when it only issued a payment code.
 * Error messages never contain content of a message.
 */
import { z } from "zod";
import {
  createCheckCode,
  decryptTradeInfo,
  equals,
  isTradeShaValid,
  type NewebPayKeys,
} from "./newebpay-cipher.ts";
import { PaymentError, type PaymentErrorCode, type ProviderReport } from "../provider.ts";

/** NewebPay charges only New Taiwan dollars, and its amounts are whole dollars. */
export const NEWEBPAY_CURRENCY = "TWD";

const MAX_BODY_BYTES = 65_536;
/** NewebPay's time of payment for orders that are not paid. */
const NO_TIME = /^(?:0000-00-00.*)?$/;

/** NewebPay sends numbers as JSON numbers or as text, depending on the kind of payment. */
const dollars = z.union([
  z.int().min(0),
  z
    .string()
    .regex(/^\d{1,10}$/)
    .transform(Number),
]);
const digit = z.union([z.int(), z.string()]).transform(String);
const orderNo = z.string().regex(/^\w{1,30}$/);
const tradeNo = z.string().min(1).max(30);

const envelope = z.object({
  Status: z.string().max(20),
  Message: z.string().catch(""),
  Result: z.unknown().optional(),
});
const notified = z.object({ MerchantID: z.string(), MerchantOrderNo: orderNo });
const paid = z.object({ Amt: dollars, TradeNo: tradeNo, PayTime: z.string().catch("") });
const answered = z.object({
  MerchantID: z.string(),
  MerchantOrderNo: orderNo,
  Amt: dollars,
  TradeNo: tradeNo,
  TradeStatus: digit,
  CheckCode: z.string(),
  BackStatus: digit.optional(),
  BackBalance: dollars.optional().catch(undefined),
});

/** What is read, and the code of the error if it can't be read. */
interface Source {
  readonly what: string;
  readonly code: PaymentErrorCode;
}
const NOTIFICATION: Source = { what: "TradeInfo of the notification", code: "MALFORMED" };
const ANSWER: Source = { what: "The answer of NewebPay", code: "UNAVAILABLE" };

/** Reads the body that NewebPay posts to `NotifyURL`. @throws PaymentError NOT_AUTHENTIC or MALFORMED */
export function readNewebPayNotification(keys: NewebPayKeys, body: Uint8Array): ProviderReport {
  const fields = readForm(body);
  if (!equals(keys.merchantId, fields.merchantId))
    throw new PaymentError("NOT_AUTHENTIC", "The notification is for another merchant.");
  if (!isTradeShaValid(keys, fields.tradeInfo, fields.tradeSha))
    throw new PaymentError("NOT_AUTHENTIC", "TradeSha of the notification is wrong.");

  const content = parseJson(decryptTradeInfo(keys, fields.tradeInfo) ?? "", NOTIFICATION);
  const { Status, Message, Result } = check(envelope, content, NOTIFICATION);
  const { MerchantID, MerchantOrderNo } = check(notified, Result, NOTIFICATION);
  // Only TradeInfo is signed, so the fields beside it must not contradict it.
  if (!equals(keys.merchantId, MerchantID))
    throw new PaymentError("NOT_AUTHENTIC", "TradeInfo of the notification is for another merchant.");
  if (Status !== fields.status)
    throw new PaymentError("NOT_AUTHENTIC", "Status of the notification contradicts its TradeInfo.");

  if (Status !== "SUCCESS") {
    const { TradeNo } = z.object({ TradeNo: tradeNo.nullable().catch(null) }).parse(Result);
    return createReport(MerchantOrderNo, "failed", null, TradeNo, `${Status} ${Message}`);
  }
  const { Amt, TradeNo, PayTime } = check(paid, Result, NOTIFICATION);
  return NO_TIME.test(PayTime)
    ? createReport(MerchantOrderNo, "processing", null, TradeNo, null)
    : createReport(MerchantOrderNo, "succeeded", Amt, TradeNo, null);
}

/** NewebPay does not know the order: the user did not choose how to pay yet. */
const UNKNOWN_ORDER = "TRA10021";

/**
 * Reads the answer of QueryTradeInfo.
 * @returns null if NewebPay doesn't know the order, or the order is not paid yet
 * @throws PaymentError NOT_AUTHENTIC, or UNAVAILABLE if NewebPay refused to answer or the answer can't be read
 */
export function readNewebPayAnswer(keys: NewebPayKeys, order: string, text: string): ProviderReport | null {
  const { Status, Result } = check(envelope, parseJson(text, ANSWER), ANSWER);
  if (Status === UNKNOWN_ORDER) return null;
  if (Status !== "SUCCESS")
    throw new PaymentError("UNAVAILABLE", `NewebPay can't be asked about order ${order}: ${Status}.`);

  const result = check(answered, Result, ANSWER);
  const { Amt, TradeNo, MerchantOrderNo } = result;
  const expected = createCheckCode(keys, { amount: Amt, orderNo: MerchantOrderNo, tradeNo: TradeNo });
  if (!equals(expected, result.CheckCode) || !equals(keys.merchantId, result.MerchantID))
    throw new PaymentError("NOT_AUTHENTIC", `CheckCode of the answer about order ${order} is wrong.`);
  if (MerchantOrderNo !== order)
    throw new PaymentError("NOT_AUTHENTIC", `The answer about order ${order} is about another order.`);

  const status = `TradeStatus ${result.TradeStatus}`;
  if (result.TradeStatus === "6") return createReport(order, "refunded", Amt, TradeNo, status);
  if (result.TradeStatus === "2" || result.TradeStatus === "3")
    return createReport(order, "failed", null, TradeNo, status);
  if (result.TradeStatus !== "1") return null;
  const refunded = result.BackStatus === "3" ? Amt - (result.BackBalance ?? 0) : 0;
  return refunded > 0
    ? createReport(order, "refunded", refunded, TradeNo, `BackStatus ${result.BackStatus}`)
    : createReport(order, "succeeded", Amt, TradeNo, null);
}

function createReport(
  order: string,
  status: ProviderReport["status"],
  amount: number | null,
  trade: string | null,
  reason: string | null,
): ProviderReport {
  return {
    orderNo: order,
    status,
    paid: amount === null ? null : { amount, currency: NEWEBPAY_CURRENCY },
    providerRef: trade,
    // The same for a notification and the answer to a query.
    event: [order, trade ?? "", status, amount ?? ""].join(":"),
    reason,
  };
}

function readForm(body: Uint8Array) {
  if (body.byteLength > MAX_BODY_BYTES) {
    const size = `${body.byteLength} bytes, and at most ${MAX_BODY_BYTES} are accepted`;
    throw new PaymentError("MALFORMED", `The notification has ${size}.`);
  }
  const form = new URLSearchParams(Buffer.from(body).toString("latin1"));
  const readField = (name: string): string => {
    const [value, ...more] = form.getAll(name);
    // A proxy and this code could read different ones of two values.
    if (value === undefined || more.length > 0)
      throw new PaymentError("MALFORMED", `The notification must have exactly one ${name}.`);
    return value;
  };
  if (form.has("EncryptType") && readField("EncryptType") !== "0")
    throw new PaymentError("MALFORMED", "The notification must be encrypted with AES-CBC (EncryptType 0).");
  return {
    status: readField("Status"),
    merchantId: readField("MerchantID"),
    tradeInfo: readField("TradeInfo"),
    tradeSha: readField("TradeSha"),
  };
}

function parseJson(text: string, { what, code }: Source): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The error of JSON.parse would quote the text.
    throw new PaymentError(code, `${what} must be JSON.`);
  }
}

function check<T extends z.ZodType>(shape: T, value: unknown, { what, code }: Source): z.output<T> {
  const parsed = shape.safeParse(value);
  if (parsed.success) return parsed.data;
  const names = [...new Set(parsed.error.issues.map(({ path }) => path.join(".")))].join(", ");
  throw new PaymentError(code, `${what} has missing or invalid fields: ${names || "all"}.`);
}
