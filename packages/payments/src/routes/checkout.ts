/**
 * `checkoutRoutes` serve the pages around a payment: the checkout page, the page to which the provider sends the user
 * back, and the status that this page polls.
 * Invariant: the token in the path is the only authorization. Only POST opens a checkout: HEAD, GET, prefetches and link
 * previews change nothing. What the browser brings from the provider is ignored; the status comes from the store and
 * from the provider itself. An error is a page too, and never contains its cause.
 */
import { z } from "zod";
import type { PaymentBackend } from "../apply-payment.ts";
import type { ResolvedPaymentOptions } from "../payment-options.ts";
import { openCheckout, readCheckout } from "../checkout.ts";
import { refreshPayment } from "../query-payment.ts";
import type { Payment } from "../store/payments-part.ts";
import {
  defineRoute,
  type GatewayContext,
  RequestError,
  type Route,
  type RouteContext,
  type RouteResult,
  sleep,
} from "@turnstream/server/internal";
import {
  type PaymentPageContext,
  renderCheckoutPage,
  renderLeavingPage,
  renderMessagePage,
  renderReturnPage,
} from "../pages/payment-page.ts";
import type { Page } from "../pages/render-page.ts";
import { selectPageStrings } from "../pages/select-page-strings.ts";

const CHECKOUT_PATH = "/payments/checkout/{token}";
const RETURN_PATH = "/payments/return/{token}";
const NONCE_BYTES = 18;
/** How long a page waits for the provider's answer before it shows what the store has. */
const REFRESH_TIMEOUT_MS = 3_000;

type Context = RouteContext<unknown, unknown>;

type PageBackend = GatewayContext & PaymentBackend;

export function checkoutRoutes(payments: ResolvedPaymentOptions): readonly Route[] {
  const backendOf = (context: GatewayContext): PageBackend => ({ ...context, payments });
  const show = defineRoute({
    method: "GET",
    path: CHECKOUT_PATH,
    summary:
      "The page of a payment. A visible page opens the checkout by itself; requesting it changes nothing.",
    scope: null,
    ignoresQuery: true,
    handle: (routeContext) => servePage(routeContext, backendOf(routeContext.context), showCheckout),
  });

  const open = defineRoute({
    method: "POST",
    path: CHECKOUT_PATH,
    summary:
      "Opens the checkout: the payment becomes `processing`, and the browser continues at the provider.",
    scope: null,
    ignoresQuery: true,
    handle: (routeContext) =>
      servePage(routeContext, backendOf(routeContext.context), async (page, payment, backend) => {
        if (isPrefetch(routeContext)) return showCheckout(page, payment, backend);
        const opened = await openCheckout(backend, page.token, { signal: routeContext.signal });
        const { step } = opened;
        if (step === null) return showCheckout(page, opened.payment, backend);
        if (step.type === "form") return toResult(renderLeavingPage(page, step));
        return { status: 303, headers: { location: step.url, "cache-control": "no-store" } };
      }),
  });

  const returnGet = defineRoute({
    method: "GET",
    path: RETURN_PATH,
    summary: "The page to which the provider sends the user back. It shows the status that the server knows.",
    scope: null,
    ignoresQuery: true,
    handle: (routeContext) => showReturn(routeContext, backendOf(routeContext.context)),
  });

  const returnPost = defineRoute({
    method: "POST",
    path: RETURN_PATH,
    summary: "The same page for providers that send the browser back with a form. Its body is not read.",
    scope: null,
    ignoresQuery: true,
    handle: (routeContext) => showReturn(routeContext, backendOf(routeContext.context)),
  });

  const status = defineRoute({
    method: "GET",
    path: "/payments/status/{token}",
    summary: "Returns the status of the payment. The return page polls it.",
    scope: null,
    responseSchema: z.strictObject({ status: z.string() }),
    // Does not ask the provider: a page polls for minutes, and providers lock shops that ask too often.
    async handle({ context, params }) {
      const payment = await readCheckout(context, params["token"] ?? "");
      if (payment === null) throw new RequestError("NOT_FOUND", "The payment does not exist.");
      return { status: 200, json: { status: payment.status } };
    },
  });
  return [show, open, returnGet, returnPost, status];
}

function showReturn(routeContext: Context, backend: PageBackend): Promise<RouteResult> {
  const { isHead } = routeContext;
  return servePage(routeContext, backend, async (page, payment) =>
    toResult(renderReturnPage(page, isHead ? payment : await refresh(backend, payment))),
  );
}

async function showCheckout(
  page: PaymentPageContext,
  payment: Payment,
  { payments }: PageBackend,
): Promise<RouteResult> {
  const provider = payments.providers.find(({ name }) => name === payment.provider);
  return toResult(renderCheckoutPage(page, payment, provider?.formOrigin ?? null));
}

/** Browsers mark requests that they send before the user asks for the page. */
function isPrefetch({ headers }: Context): boolean {
  return ["sec-purpose", "purpose", "x-purpose", "x-moz"].some((name) =>
    /prefetch|prerender|preview/i.test(headers.get(name) ?? ""),
  );
}

/** Finds the payment of the token. Whatever fails is reported to the operator and shown to the user as a page. */
async function servePage(
  { params, headers }: Context,
  backend: PageBackend,
  work: (page: PaymentPageContext, payment: Payment, backend: PageBackend) => Promise<RouteResult>,
): Promise<RouteResult> {
  const token = params["token"] ?? "";
  const nonce = Buffer.from(backend.env.randomBytes(NONCE_BYTES)).toString("base64url");
  const pageFor = (locale: string | null): PaymentPageContext => ({
    strings: selectPageStrings(locale, headers.get("accept-language")),
    nonce,
    token,
    now: backend.env.now(),
  });
  let locale: string | null = null;
  try {
    const payment = await readCheckout(backend, token);
    if (payment === null) return toResult(renderMessagePage(pageFor(null), 404));
    locale = payment.locale;
    return await work(pageFor(locale), payment, backend);
  } catch (error) {
    backend.onError(error, { during: "a payment page" });
    return toResult(renderMessagePage(pageFor(locale), 503, token));
  }
}

/** Asks the provider about an open payment, once. Returns the stored payment if the answer takes too long. */
async function refresh(backend: PageBackend, payment: Payment): Promise<Payment> {
  if (payment.status !== "processing") return payment;
  const { tenant, session, id } = payment;
  const asked = refreshPayment(backend, { tenant, session }, id).catch((error: unknown) => {
    backend.onError(error, { during: `asking about payment ${id}` });
    return payment;
  });
  return Promise.race([asked, sleep(REFRESH_TIMEOUT_MS, { unref: true }).then(() => payment)]);
}

function toResult({ status: code, headers, text }: Page): RouteResult {
  return { status: code, headers, bytes: Buffer.from(text) };
}
