/**
 * `paymentNotificationRoute` receives the notifications of payment providers.
 * Invariant: the provider's signature is the only authorization, and it is verified before anything is read from the
 * store. A body has at most 64 kB. A response reveals nothing about the payment or about what was wrong. If a report
 * can't be stored, the request fails, so that the provider sends it again.
 */
import { PaymentError, type ProviderReport } from "../provider.ts";
import type { ResolvedPaymentOptions } from "../payment-options.ts";
import { applyReport } from "../query-payment.ts";
import { defineRoute, readBytes, RequestError, type Route } from "@turnstream/server/internal";

const MAX_BYTES = 64 * 1024;
const DEFAULT_REPLY = { status: 200, body: "OK" };

export function paymentNotificationRoute({ providers }: ResolvedPaymentOptions): Route {
  return defineRoute({
    method: "POST",
    path: "/payments/notify/{provider}",
    summary: "Receives the signed notifications of a payment provider, at most 64 kB.",
    scope: null,
    ignoresQuery: true,
    rawBody: true,
    async handle({ context, caller, params, headers, bytes }) {
      const provider = providers.find(({ name }) => name === params["provider"]);
      if (provider === undefined) throw new RequestError("NOT_FOUND", "No payment provider has this name.");
      if (Number(headers.get("content-length") ?? 0) > MAX_BYTES)
        throw new RequestError("TOO_LARGE", `The body must have at most ${MAX_BYTES} bytes.`);
      const body = await readBytes(bytes, MAX_BYTES);
      const during = `a notification of ${provider.name}`;
      let report: ProviderReport | null;
      try {
        report = provider.readNotification({ headers, body });
      } catch (thrown) {
        const error = withoutContent(thrown);
        context.onError(error, { during });
        if (error.code === "NOT_AUTHENTIC")
          context.reportSecurityEvent(
            { type: "signature_invalid", reason: "payment_notification", subject: provider.name },
            caller.from,
          );
        throw new RequestError("BAD_REQUEST", "The notification was not accepted.");
      }
      if (report !== null) {
        const { outcome } = await applyReport(context, report, { provider: provider.name, evidence: body });
        if (outcome === "unknown")
          context.onError(new PaymentError("MALFORMED", `There is no order ${report.orderNo}.`), { during });
      }
      const reply = provider.notificationReply ?? DEFAULT_REPLY;
      const type = { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" };
      return { status: reply.status, headers: type, bytes: Buffer.from(reply.body) };
    },
  });
}

/** The text of an error that is no `PaymentError` could contain parts of the body. */
function withoutContent(error: unknown): PaymentError {
  if (error instanceof PaymentError) return error;
  const name = error instanceof Error ? error.name : "error";
  return new PaymentError("MALFORMED", `The provider could not read a notification (${name}).`);
}
