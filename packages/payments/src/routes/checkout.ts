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

type ServePage = (
  page: PaymentPageContext,
  payment: Payment,
  backend: PageBackend,
  context: Context,
) => Promise<RouteResult>;

export function checkoutRoutes(payments: ResolvedPaymentOptions): readonly Route[] {
  const pageRoute = (method: "GET" | "POST", path: string, summary: string, serve: ServePage): Route =>
    defineRoute({
      method,
      path,
      summary,
      scope: null,
      ignoresQuery: true,
      handle: (context) => servePage(context, { ...context.context, payments }, serve),
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
  return [
    pageRoute(
      "GET",
      CHECKOUT_PATH,
      "The page of a payment. A visible page opens the checkout by itself; requesting it changes nothing.",
      showCheckout,
    ),
    pageRoute(
      "POST",
      CHECKOUT_PATH,
      "Opens the checkout: the payment becomes `processing`, and the browser continues at the provider.",
      open,
    ),
    pageRoute(
      "GET",
      RETURN_PATH,
      "The page to which the provider sends the user back. It shows the status that the server knows.",
      showReturn,
    ),
    pageRoute(
      "POST",
      RETURN_PATH,
      "The same page for providers that send the browser back with a form. Its body is not read.",
      showReturn,
    ),
    status,
  ];
}

const showCheckout: ServePage = async (page, payment, { payments }) => {
  const provider = payments.providers.find(({ name }) => name === payment.provider);
  return toResult(renderCheckoutPage(page, payment, provider?.formOrigin ?? null));
};

const open: ServePage = async (page, payment, backend, context) => {
  if (isPrefetch(context)) return showCheckout(page, payment, backend, context);
  const { payment: opened, step } = await openCheckout(backend, page.token, { signal: context.signal });
  if (step === null) return showCheckout(page, opened, backend, context);
  if (step.type === "form") return toResult(renderLeavingPage(page, step));
  return { status: 303, headers: { location: step.url, "cache-control": "no-store" } };
};

const showReturn: ServePage = async (page, payment, backend, { isHead }) =>
  toResult(renderReturnPage(page, isHead ? payment : await refresh(backend, payment)));

/** Browsers mark requests that they send before the user asks for the page. */
function isPrefetch({ headers }: Context): boolean {
  return ["sec-purpose", "purpose", "x-purpose", "x-moz"].some((name) =>
    /prefetch|prerender|preview/i.test(headers.get(name) ?? ""),
  );
}

/** Finds the payment of the token. Whatever fails is reported to the operator and shown to the user as a page. */
async function servePage(context: Context, backend: PageBackend, serve: ServePage): Promise<RouteResult> {
  const { params, headers } = context;
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
    return await serve(pageFor(locale), payment, backend, context);
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
