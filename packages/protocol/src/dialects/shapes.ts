/**
 * `reviewConfig`, `actionRequest`, `formWaits` and `paymentFields` are schemas that frames of several dialects share.
 * Invariant: `interactions.ts` encodes exactly these shapes. A change here changes the frames of both `blocks` and
 * `responses`. Comments mark Turnstream's additions to the original formats with "Added".
 */
import { z } from "zod";
import { json } from "../events/fields.ts";
import { argumentField } from "../events/interactions.ts";

export const reviewConfig = z.strictObject({
  require_approval: z.boolean(),
  /** Added: whether the user may edit the arguments. */
  allow_edit: z.boolean().exactOptional(),
  /** Added: whether the user may allow the tool for the rest of the session. */
  allow_always: z.boolean().exactOptional(),
});

export const actionRequest = z.strictObject({
  name: z.string(),
  args: json,
  label: z.string().exactOptional(),
  /** Added: the server that the tool comes from, by the developer's name for it. */
  server: z.string().exactOptional(),
  /** Added: what that server calls the tool; an untrusted text. */
  title: z.string().exactOptional(),
  /** Added: how to show the arguments. */
  fields: z.array(argumentField).exactOptional(),
});

/** Added: fields of a blocking form. The stream continues after such a form. */
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
  /** Whole dollars; null for other currencies. */
  amount_twd: z.int().nullable(),
  /** Added: the sum in the smallest unit that payment providers accept for `currency`. */
  amount: z.int(),
  currency: z.string(),
  status: z.string(),
  item_desc: z.string(),
  /** Added: when the payment expires, in milliseconds since 1970. */
  deadline: z.int().exactOptional(),
});
