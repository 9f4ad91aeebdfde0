import type { ApplyResult, NewPayment, Payment } from "../../src/store/payments-part.ts";
import type { PaymentChange } from "../../src/store/payment-transitions.ts";
import type { SessionRef } from "../../../server/src/util/refs.ts";
import type { PaymentInput, ReportInput } from "../../src/store/payment-transitions.ts";
import type { StoreParts } from "../../../server/src/store/store.ts";
import { type MakeStore } from "../../../server/test/store/harness.ts";
export declare function aPayment(more?: Partial<NewPayment>): NewPayment;
export declare function newPayment(
  store: StoreParts,
  ref: SessionRef,
  more?: Partial<NewPayment>,
): Promise<{
  wanted: NewPayment;
  payment: Payment;
}>;
export declare function aReport(type: ReportInput["type"], more?: Partial<ReportInput>): ReportInput;
/** Each input as a user, a provider or a timer can cause it. */
export declare function inputsOf(orderNo: string): PaymentInput[];
/** Whatever inputs were applied: statuses only go forward, every change has its row, and no row is lost. */
export declare function checkHistory(
  store: StoreParts,
  ref: SessionRef,
  id: string,
  results: readonly ApplyResult[],
): Promise<PaymentChange[]>;
export declare function paymentsContract(name: string, makeStore: MakeStore, permutations?: number): void;
