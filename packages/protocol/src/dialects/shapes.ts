/**
 * Shapes that frames of several dialects have in common: what people are asked to approve, to fill in and to pay.
 */
import { z } from "zod";
import { json } from "../events/fields.ts";

export const reviewConfig = z.strictObject({
  require_approval: z.boolean(),
  /** Ours: whether the arguments may be edited. */
  allow_edit: z.boolean().exactOptional(),
  /** Ours: whether the tool may be allowed for the rest of the session. */
  allow_always: z.boolean().exactOptional(),
});

export const actionRequest = z.strictObject({
  name: z.string(),
  args: json,
  label: z.string().exactOptional(),
});

/** Ours: on a form that the turn waits for, so that the stream goes on after it. */
export const formWaits = {
  waits: z.literal(true).exactOptional(),
  timeout_seconds: z.int().exactOptional(),
  deadline: z.int().exactOptional(),
  tool_use_id: z.string().exactOptional(),
};

export const paymentFields = z.strictObject({
  payment_request_id: z.string(),
  checkout_url: z.string(),
  merchant_order_no: z.string(),
  /** Only for payments in TWD; `amount` (ours) is always there. */
  amount_twd: z.int().exactOptional(),
  amount: z.int(),
  currency: z.string(),
  status: z.string(),
  item_desc: z.string(),
});
