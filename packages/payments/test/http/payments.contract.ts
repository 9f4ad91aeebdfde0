/**
 * The contract of payments over HTTP: the checkout and return pages, notifications, commands and operator routes. The
 * payment provider is the sandbox, which speaks NewebPay's wire over real HTTP.
 */
import { payments } from "../../src/payments.ts";
import { paymentsOf } from "../../src/store/payments-of.ts";
import { randomUUID } from "node:crypto";
import { readAllEvents } from "@turnstream/testkit/backend/read-all-events.ts";
import { postCheckoutForm } from "@turnstream/testkit/payments/post-checkout-form.ts";
import { until } from "@turnstream/testkit/util/until.ts";
import { restReplies } from "@turnstream/protocol/schema";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { PAGE_STRINGS } from "../../src/pages/select-page-strings.ts";
import { PaymentError, type PaymentProvider } from "../../src/provider.ts";
import { type PaymentSandbox, startPaymentSandbox } from "@turnstream/payments/sandbox";
import { systemEnv } from "../../../server/src/util/env.ts";
import type { SessionRef } from "../../../server/src/util/refs.ts";
import type { HarnessBackend } from "../../../server/test/engine/turn-harness.ts";
import { SocketClient } from "../../../server/test/gateway/clients.ts";
import { createTestSession } from "../../../server/test/gateway/pending-interactions.ts";
import { requestTestPayment, type TestPayment } from "../../../server/test/gateway/pending-payments.ts";
import type { TestResponse } from "../../../server/test/gateway/test-server.ts";
import {
  openTransport,
  type TransportName,
  type TransportServer,
} from "../../../server/test/gateway/transports.ts";

const { en } = PAGE_STRINGS as { en: (typeof PAGE_STRINGS)[string] };

export function paymentsContract(
  name: string,
  transport: TransportName,
  makeParts: () => Promise<HarnessBackend>,
): void {
  describe(`payments over ${transport} on ${name}`, () => {
    let sandbox: PaymentSandbox;
    let server: TransportServer;
    let parts: HarnessBackend;
    let ref: SessionRef;
    let queries: number;
    /** Fails every checkout while it is not null. */
    let outage: PaymentError | null;

    beforeEach(async () => {
      sandbox = await startPaymentSandbox();
      queries = 0;
      outage = null;
      const provider = sandbox.provider();
      const counted: PaymentProvider = {
        ...provider,
        query(order, options) {
          queries += 1;
          return provider.query(order, options);
        },
        async checkout(order, options) {
          if (outage !== null) throw outage;
          return provider.checkout(order, options);
        },
      };
      const redirecting: PaymentProvider = {
        ...provider,
        name: "redirecting",
        formOrigin: "https://pay.example",
        checkout: async ({ orderNo }) => ({
          step: { type: "redirect", url: `https://pay.example/${orderNo}` },
          providerRef: `ref-${orderNo}`,
        }),
      };
      parts = await makeParts();
      const providers = [counted, redirecting] as const;
      // The port is known only after the server has started.
      const options = { providers, publicUrl: "http://127.0.0.1:9" };
      server = await openTransport(transport, parts, { features: [payments(options)] });
      options.publicUrl = server.url;
      ref = await createTestSession(parts, server.actor);
    });
    afterEach(async () => {
      await server.close();
      await sandbox.close();
      await parts.signals.close();
      await parts.log.close();
      await parts.store.close();
    });

    const page = (method: string, path: string, headers: Record<string, string> = {}, body?: string) =>
      server.send(`/api/v1/payments/${path}`, {
        method,
        headers,
        redirect: "manual",
        ...(body === undefined ? {} : { body }),
      });
    const at = ({ id }: Pick<TestPayment, "id">, end = "") => `/sessions/${ref.session}/payments/${id}${end}`;
    const statusOf = async ({ id }: TestPayment) => (await paymentsOf(parts.store).get(ref, id))?.status;
    const changesOf = async ({ id }: TestPayment) =>
      (await paymentsOf(parts.store).changes(ref, id)).map(
        ({ input, outcome, to }) => `${input} ${outcome} ${to}`,
      );
    /** The statuses that clients of the session received. */
    const written = async () =>
      (await readAllEvents(parts, ref)).flatMap((event) =>
        event.type === "payment.update" ? [event.status] : [],
      );
    /** Opens the checkout and sends the form to the sandbox, as a browser does. */
    const open = async ({ token }: TestPayment) => {
      const opened = await page("POST", `checkout/${token}`);
      expect([opened.status, await postCheckoutForm(opened.text)]).toEqual([200, 200]);
      return opened;
    };
    test("S08 HEAD, GET, prefetches and previews of the checkout page change nothing", async () => {
      const payment = await requestTestPayment(parts, ref);
      const path = `checkout/${payment.token}`;
      expectPage(await page("GET", path), 200, en.continueButton);
      expectPage(await page("GET", `${path}?fbclid=x&fbclid=y`), 200, payment.orderNo);
      expect(await page("HEAD", path)).toMatchObject({ status: 200, text: "" });
      for (const [header, value] of [
        ["sec-purpose", "prefetch;prerender"],
        ["purpose", "prefetch"],
        ["x-purpose", "preview"],
        ["x-moz", "prefetch"],
      ] as const) {
        expectPage(await page("GET", path, { [header]: value }), 200, en.continueButton);
        expectPage(await page("POST", path, { [header]: value }), 200, en.continueButton);
      }
      expect([await statusOf(payment), await changesOf(payment), sandbox.orders()]).toEqual([
        "pending",
        [],
        [],
      ]);
      expect(await written()).toEqual([]);
    });

    test("S08 opening moves to processing once, and opening again continues the same provider order", async () => {
      const payment = await requestTestPayment(parts, ref);
      const opened = await open(payment);
      expect(opened.headers.get("content-security-policy")).toContain(`form-action 'self' ${sandbox.url};`);
      await open(payment);
      await Promise.all([open(payment), open(payment)]);
      expect(await statusOf(payment)).toBe("processing");
      expect(await changesOf(payment)).toEqual(["checkout_opened changed processing"]);
      expect(sandbox.orders()).toMatchObject([{ orderNo: payment.orderNo, amount: 2400, status: "open" }]);
      expect(await written()).toEqual(["processing"]);
      expectPage(await page("GET", `checkout/${payment.token}`), 200, en.continueButton);
    });

    test("S08 a provider with its own page gets the browser by redirect", async () => {
      const payment = await requestTestPayment(parts, ref, { provider: "redirecting" });
      const shown = await page("GET", `checkout/${payment.token}`);
      expect(shown.headers.get("content-security-policy")).toContain(
        "form-action 'self' https://pay.example;",
      );
      const opened = await page("POST", `checkout/${payment.token}`);
      expect([opened.status, opened.headers.get("location")]).toEqual([
        303,
        `https://pay.example/${payment.orderNo}`,
      ]);
      expect(await paymentsOf(parts.store).get(ref, payment.id)).toMatchObject({
        status: "processing",
        providerRef: `ref-${payment.orderNo}`,
      });
    });

    test("S08 a paid payment succeeds by notification, and the return page ignores the browser", async () => {
      const payment = await requestTestPayment(parts, ref);
      await open(payment);
      const forged = new URLSearchParams({ Status: "SUCCESS", TradeInfo: "00", TradeSha: "00" }).toString();
      const form = { "content-type": "application/x-www-form-urlencoded" };
      const back = `return/${payment.token}`;
      for (const response of [
        await page("POST", back, form, forged),
        await page("GET", `${back}?Status=SUCCESS&Status=SUCCESS`),
      ])
        expectPage(response, 200, en.statuses.processing.title);
      expect(await statusOf(payment)).toBe("processing");
      await sandbox.pay(payment.orderNo);
      expect(sandbox.orders()).toMatchObject([{ notified: [200] }]);
      expectPage(await page("POST", back, form, forged), 200, en.statuses.succeeded.title);
      const status = await page("GET", `status/${payment.token}`);
      expect([status.status, status.json]).toEqual([200, { status: "succeeded" }]);
      const done = await page("POST", `checkout/${payment.token}`);
      expectPage(done, 200, en.statuses.succeeded.title);
      expect(done.text).not.toContain("<form");
      expect(await changesOf(payment)).toEqual([
        "checkout_opened changed processing",
        "succeeded changed succeeded",
      ]);
      expect(await written()).toEqual(["processing", "succeeded"]);
    });

    test("S08 the return page finds a payment whose notification was lost", async () => {
      const payment = await requestTestPayment(parts, ref);
      await open(payment);
      sandbox.behavior = { notify: "never" };
      await sandbox.pay(payment.orderNo);
      expect(await page("HEAD", `return/${payment.token}`)).toMatchObject({ status: 200, text: "" });
      expect([await statusOf(payment), queries]).toEqual(["processing", 0]);
      expectPage(await page("GET", `return/${payment.token}`), 200, en.statuses.succeeded.title);
      expect(await statusOf(payment)).toBe("succeeded");
    });

    test("S08 duplicated and reordered notifications change a payment once, and never backwards", async () => {
      const payment = await requestTestPayment(parts, ref);
      await open(payment);
      sandbox.behavior = { notify: "twice" };
      await sandbox.pay(payment.orderNo);
      for (let n = 0; n < 3; n++) expect(await sandbox.sendNotification(payment.orderNo)).toBe(200);
      // A failure that arrives after the success is about an earlier attempt.
      expect(await sandbox.sendNotification(payment.orderNo, { status: "MPG03009" })).toBe(200);
      expect(await statusOf(payment)).toBe("succeeded");
      expect(await written()).toEqual(["processing", "succeeded"]);
    });

    test("S08 a forged notification changes nothing, and its response reveals nothing", async () => {
      const payment = await requestTestPayment(parts, ref);
      await open(payment);
      const forgeries = [
        { form: { TradeSha: "0".repeat(64) } },
        { form: { TradeInfo: "00" } },
        { result: { MerchantID: "MS000000002" } },
        { form: { MerchantID: "MS000000002", TradeSha: "" } },
      ];
      for (const forgery of forgeries)
        expect(await sandbox.sendNotification(payment.orderNo, { status: "SUCCESS", ...forgery })).toBe(400);
      const bodies = [
        "",
        "x",
        "TradeInfo=&TradeSha=",
        "{}",
        "%",
        "TradeInfo=a&TradeInfo=b",
        "\u0000".repeat(1_000),
      ];
      const answers = new Set<string>();
      for (const body of bodies) {
        const answer = await page("POST", "notify/sandbox", {}, body);
        expect([answer.status, answer.json.error]).toEqual([400, "BAD_REQUEST"]);
        answers.add(answer.text);
      }
      expect(answers.size).toBe(1);
      expect(await changesOf(payment)).toEqual(["checkout_opened changed processing"]);
      const logged = server.errors.filter(({ during }) => during === "a notification of sandbox");
      expect(logged).toHaveLength(forgeries.length + bodies.length);
      const { hashKey, hashIv } = sandbox.providerOptions;
      for (const { error } of logged) {
        expect(error).toBeInstanceOf(PaymentError);
        for (const secret of [hashKey, hashIv, payment.token]) expect(String(error)).not.toContain(secret);
      }
    });

    test("S08 a notification with another amount is flagged and changes nothing", async () => {
      const payment = await requestTestPayment(parts, ref);
      await open(payment);
      const result = { Amt: 24, TradeNo: "1", PayTime: "2026-11-16 18:00:00" };
      const wrong = { status: "SUCCESS", result };
      expect(await sandbox.sendNotification(payment.orderNo, wrong)).toBe(200);
      expect(await paymentsOf(parts.store).get(ref, payment.id)).toMatchObject({
        status: "processing",
        flag: "mismatch",
      });
      expect(await written()).toEqual(["processing"]);
    });

    test("a notification for an unknown provider, or one that is too large, is refused before it is read", async () => {
      const unknown = await page("POST", "notify/stripe", {}, "x");
      expect([unknown.status, unknown.json.error]).toEqual([404, "NOT_FOUND"]);
      const large = await page("POST", "notify/sandbox", {}, "x".repeat(64 * 1024 + 1));
      expect([large.status, large.json.error]).toEqual([413, "TOO_LARGE"]);
      expect((await page("POST", "notify/sandbox", {}, "x".repeat(64 * 1024))).status).toBe(400);
      expect((await page("GET", "notify/sandbox")).status).toBe(405);
    });

    test("S13 the owner cancels a pending payment once, over HTTP", async () => {
      const payment = await requestTestPayment(parts, ref);
      const guest = { ...server.auth, "x-user-id": "guest" };
      const other = `${server.actor.tenant}-other`;
      await parts.store.tenants.create({ id: other, name: "Other" });
      const { secret } = await parts.store.keys.create(other, { name: "k", scopes: [] });
      const foreign = { "x-api-key": secret, "x-user-id": server.actor.user };
      for (const headers of [guest, foreign])
        for (const end of ["", "/cancel", "/refresh"]) {
          const method = end === "" ? "GET" : "POST";
          const asked = end === "" ? { headers } : { headers, body: {} };
          const refused = await server.request(method, at(payment, end), asked);
          expect([refused.status, refused.json.error]).toEqual([404, "NOT_FOUND"]);
        }
      // Another session of the same user doesn't have the payment either.
      const second = await createTestSession(parts, server.actor);
      const elsewhere = `/sessions/${second.session}/payments/${payment.id}/cancel`;
      expect((await server.request("POST", elsewhere, { body: {} })).status).toBe(404);
      expect(await statusOf(payment)).toBe("pending");

      const cancelled = await server.request("POST", at(payment, "/cancel"), { body: {} });
      expect(cancelled.status, cancelled.text).toBe(200);
      expect(restReplies.payment.parse(cancelled.json).payment).toMatchObject({
        status: "cancelled",
        checkout_url: null,
      });
      const again = await server.request("POST", at(payment, "/cancel"), { body: {} });
      expect([again.status, again.json.error]).toEqual([409, "INTERACTION_CLOSED"]);
      expect(await written()).toEqual(["cancelled"]);
      const closed = await page("POST", `checkout/${payment.token}`);
      expectPage(closed, 200, en.statuses.cancelled.title);
      expect([closed.text.includes("<form"), await statusOf(payment), sandbox.orders()]).toEqual([
        false,
        "cancelled",
        [],
      ]);
    });

    test("S13 a payment can't be cancelled from processing on", async () => {
      const payment = await requestTestPayment(parts, ref);
      await open(payment);
      const refused = await server.request("POST", at(payment, "/cancel"), { body: {} });
      expect([refused.status, refused.json]).toMatchObject([
        409,
        { error: "INTERACTION_CLOSED", message: "This payment is already processing and can't be changed." },
      ]);
      await sandbox.pay(payment.orderNo);
      expect((await server.request("POST", at(payment, "/cancel"), { body: {} })).status).toBe(409);
      expect(await statusOf(payment)).toBe("succeeded");
    });

    test("S13 S08 the commands of a socket cancel and refresh a payment", async () => {
      const [first, second] = [await requestTestPayment(parts, ref), await requestTestPayment(parts, ref)];
      const client = await SocketClient.open(server);
      const send = (type: string, { id }: TestPayment) =>
        client.request({ type, session_id: ref.session, payment_request_id: id });
      expect(await send("cancel_payment", first)).toMatchObject({ type: "ack", payment_status: "cancelled" });
      expect(await send("cancel_payment", first)).toMatchObject({ error: "INTERACTION_CLOSED" });
      expect(await send("refresh_payment", second)).toMatchObject({ type: "ack", payment_status: "pending" });
      await open(second);
      sandbox.behavior = { notify: "never" };
      await sandbox.pay(second.orderNo);
      expect(await send("refresh_payment", second)).toMatchObject({ payment_status: "succeeded" });
      for (const type of ["cancel_payment", "refresh_payment"])
        expect(await send(type, { ...first, id: "nothing" })).toMatchObject({ error: "NOT_FOUND" });
      client.close();
    });

    test("S08 refreshing asks the provider at most every 3 seconds", async () => {
      const payment = await requestTestPayment(parts, ref);
      const refresh = () => server.request("POST", at(payment, "/refresh"), { body: {} });
      expect((await refresh()).json.payment.status).toBe("pending");
      expect(queries).toBe(0);
      await open(payment);
      const asked = await Promise.all(Array.from({ length: 10 }, refresh));
      for (const { json } of asked) expect(restReplies.payment.parse(json).payment.status).toBe("processing");
      await page("GET", `return/${payment.token}`);
      await page("GET", `status/${payment.token}`);
      // The requests take longer than three seconds on a slow machine, but not each of them.
      expect(queries).toBeGreaterThan(0);
      expect(queries).toBeLessThan(asked.length);
      sandbox.behavior = { notify: "never" };
      await sandbox.pay(payment.orderNo);
      await until("the provider to be asked again", async () => {
        const { json } = await refresh();
        return json.payment.status === "succeeded";
      });
      expect(await written()).toEqual(["processing", "succeeded"]);
    });

    test("S13 S08 payments are listed and read at any time, by the names of the responses dialect too", async () => {
      const requested: TestPayment[] = [];
      for (let n = 0; n < 3; n++) requested.push(await requestTestPayment(parts, ref));
      const usd = await requestTestPayment(parts, ref, { currency: "USD", amount: 1_250 });
      const seen: string[] = [];
      for (let before = ""; ;) {
        const found = await server.request("GET", `/sessions/${ref.session}/payments?limit=2${before}`);
        const listed = restReplies.payments.parse(found.json);
        seen.push(...listed.payments.map((payment) => payment.payment_request_id));
        if (!listed.has_more) break;
        before = `&before=${listed.next_before}`;
      }
      expect(seen).toEqual([usd, ...requested.toReversed()].map(({ id }) => id));
      const { chat_id } = (await server.request("GET", `/sessions/${ref.session}`)).json;
      const [first] = requested as [TestPayment];
      const read = await server.request("GET", `/chats/${chat_id}/payments/${first.id}`);
      expect(restReplies.payment.parse(read.json).payment).toMatchObject({
        payment_request_id: first.id,
        merchant_order_no: first.orderNo,
        item_desc: "Deposit for 3 beds",
        amount: 2400,
        currency: "TWD",
        amount_twd: 2400,
        status: "pending",
        checkout_url: expect.stringContaining(first.token) as string,
        changed_at: null,
        refunded_amount: null,
      });
      const other = (await server.request("GET", at(usd))).json.payment;
      expect(other).toMatchObject({ amount: 1_250, currency: "USD", amount_twd: null });
      await open(first);
      await sandbox.fail(first.orderNo);
      const polled = await server.request("GET", `/chats/${chat_id}/payments/${first.id}`);
      expect(polled.json.payment).toMatchObject({ status: "failed", checkout_url: null });
      expect(JSON.stringify(polled.json)).not.toContain("flag");
    });

    test("S08 a success after the expiry is flagged for operators, who resolve it", async () => {
      const payment = await requestTestPayment(parts, ref, { expiresMs: 4_000 });
      await open(payment);
      await until("the payment to expire", async () => {
        await paymentsOf(parts.store).apply(payment.orderNo, { type: "expire" });
        return (await statusOf(payment)) === "expired";
      });
      expectPage(await page("GET", `checkout/${payment.token}`), 200, en.statuses.expired.title);
      await sandbox.pay(payment.orderNo);
      expect(await statusOf(payment)).toBe("expired");
      expect((await page("GET", `return/${payment.token}`)).text).toContain("don&#39;t pay again");

      const { tenant, user } = server.actor;
      const keyWith = async (scopes: string[]) => {
        const { key, secret } = await parts.store.keys.create(tenant, { name: "k", scopes });
        return { id: key.id, headers: { "x-api-key": secret, "x-user-id": "linh@example.org" } };
      };
      const { id: keyId, headers } = await keyWith(["payments"]);
      const listed = await server.request("GET", "/payments?flagged=true", { headers });
      expect(listed.json).toMatchObject({
        payments: [
          {
            payment_request_id: payment.id,
            session_id: ref.session,
            provider: "sandbox",
            status: "expired",
            flag: "late_success",
            flag_resolved_at: null,
          },
        ],
        has_more: false,
        next_before: null,
      });
      expect(listed.text).not.toContain("checkout_url");
      const shown = await server.request("GET", `/payments/${payment.id}`, { headers });
      expect(shown.json.changes).toMatchObject([
        { n: 1, actor: "user", input: "checkout_opened", to: "processing", evidence_hash: null },
        { n: 2, actor: "server", input: "expire", to: "expired" },
        { n: 3, actor: "provider", input: "succeeded", outcome: "flagged", to: "expired" },
      ]);
      expect(shown.json.changes[2].evidence_hash).toMatch(/^[0-9a-f]{64}$/);

      const resolve = (as: Record<string, string>, body: object = { note: "Refunded at the provider." }) =>
        server.request("POST", `/payments/${payment.id}/resolve`, { headers: as, body });
      const others = SCOPES_WITHOUT_PAYMENTS;
      expect((await resolve((await keyWith(others)).headers)).status).toBe(403);
      const token = await server.request("POST", "/tokens", { body: { user_id: user } });
      const bearer = { authorization: `Bearer ${token.json.token}` };
      for (const [method, path] of [
        ["GET", "/payments?flagged=true"],
        ["GET", `/payments/${payment.id}`],
        ["POST", `/payments/${payment.id}/resolve`],
      ] as const)
        expect((await server.request(method, path, { headers: bearer })).status).toBe(403);
      const asked = { user_id: user, scopes: ["payments"] };
      expect((await server.request("POST", "/tokens", { body: asked })).status).toBe(400);
      const other = `tenant-${randomUUID()}`;
      await parts.store.tenants.create({ id: other, name: "Other" });
      const { secret } = await parts.store.keys.create(other, { name: "k", scopes: ["payments"] });
      expect((await resolve({ "x-api-key": secret })).status).toBe(404);
      const empty = await server.request("GET", "/payments?flagged=true", {
        headers: { "x-api-key": secret },
      });
      expect(empty.json.payments).toEqual([]);

      for (const body of [{}, { note: " " }, { note: "x".repeat(2_001) }])
        expect((await resolve(headers, body)).status).toBe(400);
      const resolved = await resolve(headers);
      expect([resolved.status, resolved.json.payment]).toMatchObject([
        200,
        { status: "expired", flag_resolved_by: keyId, flag_note: "Refunded at the provider." },
      ]);
      const again = await resolve(headers);
      expect([again.status, again.json.error]).toEqual([409, "CONFLICT"]);
      expect((await server.request("GET", "/payments?flagged=true", { headers })).json.payments).toEqual([]);
      const notes = await parts.store.audit.list(tenant, { after: 0, limit: 100 });
      expect(notes.map(({ action }) => action)).toContain("payment.flag_resolved");
    });

    test("S08 every page is in the language of the payment, else of the browser", async () => {
      for (const [locale, strings] of Object.entries(PAGE_STRINGS)) {
        const payment = await requestTestPayment(parts, ref, { locale });
        const shown = await page("GET", `checkout/${payment.token}`, { "accept-language": "fr" });
        expectPage(shown, 200, strings.continueButton);
        expect(shown.text).toContain(`<html lang="${locale}">`);
        expectPage(await page("GET", `return/${payment.token}`), 200, strings.statuses.pending.title);
        const unknown = { "accept-language": locale };
        for (const path of ["checkout/x", "return/x", `checkout/${"x".repeat(43)}`])
          expectPage(await page("GET", path, unknown), 404, strings.notFound.title);
        expectPage(await page("POST", "checkout/x", unknown), 404, strings.notFound.title);
      }
      const missing = await page("GET", "status/x");
      expect([missing.status, missing.json.error]).toEqual([404, "NOT_FOUND"]);
    });

    test("S08 an expired payment can't be opened, and its page shows that", async () => {
      const payment = await requestTestPayment(parts, ref, { expiresMs: 1 });
      await until("the expiry", async () => {
        const found = await paymentsOf(parts.store).get(ref, payment.id);
        return found !== null && systemEnv.now() > found.expiresAt;
      });
      for (const method of ["GET", "POST"]) {
        const shown = await page(method, `checkout/${payment.token}`);
        expectPage(shown, 200, en.statuses.expired.title);
        expect(shown.text).not.toContain("<form");
      }
      expect([await statusOf(payment), sandbox.orders()]).toEqual(["expired", []]);
    });

    test("S08 an unreachable provider gives a page that offers to try again", async () => {
      const payment = await requestTestPayment(parts, ref);
      outage = new PaymentError("UNAVAILABLE", "secret-cause");
      const failed = await page("POST", `checkout/${payment.token}`);
      expectPage(failed, 503, en.unavailable.title);
      expect(failed.text).not.toContain("secret-cause");
      expect(failed.text).toContain(`href="${payment.token}"`);
      expect(server.errors).toContainEqual({ error: outage, during: "a payment page" });
      outage = null;
      await open(payment);
      expect(await changesOf(payment)).toEqual(["checkout_opened changed processing"]);
    });
  });
}

/** Expects a page with every header, and without anything that it would load. */
function expectPage(response: TestResponse, status: number, text: string): void {
  expect(response.status, response.text).toBe(status);
  expect(response.text).toContain(text);
  expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
  expect(response.headers.get("cache-control")).toBe("no-store");
  expect(response.headers.get("referrer-policy")).toBe("no-referrer");
  expect(response.headers.get("x-robots-tag")).toBe("noindex");
  const policy = response.headers.get("content-security-policy") ?? "";
  const nonce = /script-src 'nonce-([\w-]{24})'/.exec(policy)?.[1] ?? "";
  expect(policy).toMatch(/^default-src 'none'; .*frame-ancestors 'none'$/);
  for (const [, found] of response.text.matchAll(/<(?:script|style) nonce="([^"]*)"/g))
    expect(found).toBe(nonce);
  expect(response.text).not.toMatch(/ src=|url\(|@import|<link/);
}

const SCOPES_WITHOUT_PAYMENTS = ["read", "write", "decide", "share", "knowledge", "webhooks", "tokens"];
