/**
 * `SandboxOrders` stores the orders of the payment sandbox in memory, and writes NewebPay's messages about them.
 *
 * Invariant: an order number has one order with one amount, and an order that is paid or has failed stays so, as at
 * NewebPay. Only a refund changes a paid order.
 */
import { createCheckCode, encryptTradeInfo, type NewebPayKeys, signTradeInfo } from "../newebpay-cipher.ts";

type SandboxStatus = "open" | "paid" | "failed" | "refunded";

export interface SandboxOrder {
  readonly orderNo: string;
  readonly amount: number;
  readonly description: string;
  /** NewebPay's `LangType`. */
  readonly language: string;
  readonly returnUrl: string;
  readonly notifyUrl: string;
  readonly status: SandboxStatus;
  /** NewebPay's number of the transaction. Empty until the user paid or the payment failed. */
  readonly tradeNo: string;
  readonly payTime: string;
  readonly refundedAmount: number;
  /** The HTTP status of each notification that was sent. Null: no response. */
  readonly notified: readonly (number | null)[];
}

/** Changes of a notification. Without them the notification is authentic and right. */
export interface NotificationOverrides {
  /** Replaces `Status` inside and outside of `TradeInfo`. */
  readonly status?: string;
  /** Replaces fields of the signed result, such as `Amt`. */
  readonly result?: Readonly<Record<string, string | number>>;
  /** Replaces fields of the form after signing, such as `TradeSha`, as a forger would. */
  readonly form?: Readonly<Record<string, string>>;
}

const TAIPEI_OFFSET_MS = 8 * 60 * 60 * 1_000;
/** NewebPay's code for a payment that the bank declined. */
const DECLINED = "MPG03009";
export const DUPLICATE_ORDER = "MPG03008";
const MAX_ORDERS = 10_000;

export class SandboxOrders {
  readonly #orders = new Map<string, SandboxOrder>();
  readonly #keys: NewebPayKeys;
  #lastTrade = 0;

  constructor(keys: NewebPayKeys) {
    this.#keys = keys;
  }

  list(): SandboxOrder[] {
    return [...this.#orders.values()];
  }

  find(orderNo: string): SandboxOrder | null {
    return this.#orders.get(orderNo) ?? null;
  }

  /** Throws if the page of this order was never opened. */
  get(orderNo: string): SandboxOrder {
    const order = this.find(orderNo);
    if (order === null) throw new Error(`The sandbox has no order ${orderNo}. Open its checkout first.`);
    return order;
  }

  /** Creates the order, or continues it. @returns null for the order number of another order or a finished one */
  open(fields: URLSearchParams): SandboxOrder | null {
    const text = (name: string): string => fields.get(name) ?? "";
    const orderNo = text("MerchantOrderNo");
    const amount = Number(text("Amt"));
    const known = this.find(orderNo);
    if (known !== null && (known.amount !== amount || known.status !== "open")) return null;
    // Drops the oldest orders, because a sandbox can run for months.
    for (const oldest of this.#orders.keys()) {
      if (this.#orders.size < MAX_ORDERS) break;
      this.#orders.delete(oldest);
    }
    const order: SandboxOrder = {
      orderNo,
      amount,
      description: text("ItemDesc"),
      language: text("LangType"),
      returnUrl: text("ReturnURL"),
      notifyUrl: text("NotifyURL"),
      status: "open",
      tradeNo: "",
      payTime: "",
      refundedAmount: 0,
      notified: known?.notified ?? [],
    };
    this.#orders.set(orderNo, order);
    return order;
  }

  /** @returns false if the order was already paid or had failed */
  finish(orderNo: string, status: "paid" | "failed", now: number): boolean {
    const order = this.get(orderNo);
    if (order.status !== "open") return false;
    this.#lastTrade += 1;
    const time = new Date(now + TAIPEI_OFFSET_MS).toISOString();
    const tradeNo = time.replaceAll(/\D/g, "").slice(2, 14) + String(this.#lastTrade).padStart(5, "0");
    const payTime = status === "paid" ? time.slice(0, 19).replace("T", " ") : "";
    this.#orders.set(orderNo, { ...order, status, tradeNo, payTime });
    return true;
  }

  refund(orderNo: string, amount: number): void {
    const order = this.get(orderNo);
    const refundedAmount = order.refundedAmount + amount;
    if (order.payTime === "" || refundedAmount > order.amount)
      throw new Error(`Order ${orderNo} is ${order.status} and can't be refunded by ${amount}.`);
    this.#orders.set(orderNo, { ...order, status: "refunded", refundedAmount });
  }

  addNotified(orderNo: string, status: number | null): void {
    const order = this.find(orderNo);
    if (order !== null) this.#orders.set(orderNo, { ...order, notified: [...order.notified, status] });
  }

  /** Returns the fields of a notification, which the browser also brings to the return URL. */
  notification(
    orderNo: string,
    { status, result, form }: NotificationOverrides = {},
  ): Record<string, string> {
    const order = this.get(orderNo);
    const { merchantId } = this.#keys;
    const outcome = status ?? (order.status === "failed" ? DECLINED : "SUCCESS");
    const content = {
      Status: outcome,
      Message: outcome === "SUCCESS" ? "授權成功" : "授權失敗",
      Result: {
        MerchantID: merchantId,
        Amt: order.amount,
        TradeNo: order.tradeNo,
        MerchantOrderNo: orderNo,
        PayTime: order.payTime,
        ...result,
      },
    };
    const tradeInfo = encryptTradeInfo(this.#keys, JSON.stringify(content));
    return {
      Status: outcome,
      MerchantID: merchantId,
      Version: "2.0",
      TradeInfo: tradeInfo,
      TradeSha: signTradeInfo(this.#keys, tradeInfo),
      ...form,
    };
  }

  /** Returns the answer of QueryTradeInfo. */
  answer(orderNo: string, amount: number): object {
    const order = this.find(orderNo);
    // NewebPay creates its order when the user chooses how to pay, so it doesn't know a page that is only open.
    if (order === null || order.amount !== amount || order.status === "open")
      return { Status: "TRA10021", Message: "查無交易資料", Result: [] };
    const { tradeNo } = order;
    return {
      Status: "SUCCESS",
      Message: "查詢成功",
      Result: {
        MerchantID: this.#keys.merchantId,
        Amt: amount,
        TradeNo: tradeNo,
        MerchantOrderNo: orderNo,
        TradeStatus: order.status === "failed" ? "2" : "1",
        CheckCode: createCheckCode(this.#keys, { amount, orderNo, tradeNo }),
        BackBalance: String(amount - order.refundedAmount),
        BackStatus: order.refundedAmount > 0 ? "3" : "0",
      },
    };
  }
}
