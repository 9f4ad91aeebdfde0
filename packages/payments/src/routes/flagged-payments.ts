/**
 * `flaggedPaymentRoutes` are for operators: they list the payments that need a decision, show one payment with all its
 * changes, and resolve a flag.
 * Invariant: every query uses the caller's tenant and needs the scope `payments`, which tokens can't have. Resolving a
 * flag changes no status and moves no money.
 */
import { restReplies } from "@turnstream/protocol/schema";
import { z } from "zod";
import { resolveFlag, toOperatorPaymentJson, toPage } from "../read-payments.ts";
import { paymentsOf } from "../store/payments-of.ts";
import type { PaymentChange } from "../store/payment-transitions.ts";
import {
  defineRoute,
  MAX_PAGE,
  pageBefore,
  pageLimit,
  RequestError,
  type Route,
  StoreError,
} from "@turnstream/server/internal";

const DEFAULT_LISTED = 50;

const text = z.string();
const time = z.int().nullable();
const operatorPayment = restReplies.payment.shape.payment.omit({ checkout_url: true }).extend({
  session_id: text,
  provider: text,
  provider_ref: text.nullable(),
  flag: z.enum(["late_success", "mismatch"]).nullable(),
  flagged_at: time,
  flag_resolved_at: time,
  flag_resolved_by: text.nullable(),
  flag_note: text.nullable(),
});
const money = z.strictObject({ amount: z.int(), currency: text });
const changeJson = z.strictObject({
  n: z.int(),
  actor: z.enum(["user", "provider", "server"]),
  by: text.nullable(),
  input: text,
  outcome: z.enum(["changed", "mismatch", "flagged", "refunded"]),
  from: text,
  to: text,
  at: z.int(),
  evidence_hash: text.nullable(),
  provider: text.nullable(),
  event: text.nullable(),
  paid: money.nullable(),
  provider_ref: text.nullable(),
  reason: text.nullable(),
});

const list = defineRoute({
  method: "GET",
  path: "/payments",
  summary: "Lists the payments of the tenant with an unresolved flag, the newest first.",
  scope: "payments",
  query: z.strictObject({
    flagged: z.literal("true"),
    before: pageBefore,
    limit: pageLimit(MAX_PAGE - 1, DEFAULT_LISTED),
  }),
  responseSchema: z.strictObject({
    payments: z.array(operatorPayment),
    has_more: z.boolean(),
    next_before: z.int().nullable(),
  }),
  async handle({ context, caller, query: { flagged: _, ...page } }) {
    const read = { ...page, limit: page.limit + 1 };
    const found = await paymentsOf(context.store).flagged(caller.tenant, read);
    const { listed, end } = toPage(found, page.limit);
    return { status: 200, json: { payments: listed.map(toOperatorPaymentJson), ...end } };
  },
});

const get = defineRoute({
  method: "GET",
  path: "/payments/{payment}",
  summary: "Returns one payment of the tenant with its changes, the oldest first.",
  scope: "payments",
  responseSchema: z.strictObject({ payment: operatorPayment, changes: z.array(changeJson) }),
  async handle({ context, caller, params }) {
    const payments = paymentsOf(context.store);
    const id = params["payment"] ?? "";
    const payment = await payments.getInTenant(caller.tenant, id);
    if (payment === null) throw new StoreError("NOT_FOUND", `payment ${id}`);
    const changes = (await payments.changes(payment, id)).map(toChangeJson);
    return { status: 200, json: { payment: toOperatorPaymentJson(payment), changes } };
  },
});

const resolve = defineRoute({
  method: "POST",
  path: "/payments/{payment}/resolve",
  summary: "Resolves the flag of a payment, with a note. The status stays.",
  scope: "payments",
  body: z.strictObject({ note: text.trim().min(1) }),
  responseSchema: z.strictObject({ payment: operatorPayment }),
  async handle({ context, caller, params, body: { note } }) {
    // The audit contains no names of users, so it names the key.
    const by = caller.key ?? "";
    const result = await resolveFlag(context, caller.tenant, params["payment"] ?? "", { by, note });
    if (!result.resolved) throw new RequestError("CONFLICT", "This payment has no unresolved flag.");
    return { status: 200, json: { payment: toOperatorPaymentJson(result.payment) } };
  },
});

function toChangeJson({ evidenceHash, providerRef, ...change }: PaymentChange) {
  return { ...change, evidence_hash: evidenceHash, provider_ref: providerRef };
}

export const flaggedPaymentRoutes: readonly Route[] = [list, get, resolve];
