/**
 * Tests a payment that an agent requests, for a client of the `responses` dialect: its stream ends with the request, and
 * the client polls the status. The payment provider is the sandbox.
 */
import { payments } from "../../src/payments.ts";
import { openRealBackend } from "../../../server/test/engine/real-backend.ts";
import { postCheckoutForm } from "@turnstream/testkit/payments/post-checkout-form.ts";
import { until } from "@turnstream/testkit/util/until.ts";
import { afterEach, beforeEach, expect, test } from "vitest";
import { script } from "../../../server/src/models/script-parts.ts";
import { scriptedModel } from "../../../server/src/models/scripted-model.ts";
import { type PaymentSandbox, startPaymentSandbox } from "@turnstream/payments/sandbox";
import { defineAgent } from "../../../server/src/agent/define/agent.ts";
import type { SessionRef } from "../../../server/src/util/refs.ts";
import { outline } from "../../../server/test/engine/turn-harness.ts";
import { StreamClient } from "../../../server/test/gateway/clients.ts";
import { GatewayHarness } from "../../../server/test/gateway/gateway-harness.ts";

let sandbox: PaymentSandbox;
let harness: GatewayHarness;
let ref: SessionRef;

beforeEach(async () => {
  sandbox = await startPaymentSandbox();
  const options = { providers: [sandbox.provider()] as const, publicUrl: "http://127.0.0.1:9" };
  harness = await GatewayHarness.open(await openRealBackend(), { features: [payments(options)] });
  options.publicUrl = harness.server.url;
  // The answer repeats the status that the model reads as the result of its call.
  const model = scriptedModel(({ step, prompt }) =>
    step === 0
      ? [script.toolCall("request_payment", { description: "Deposit", amount: 1200, currency: "TWD" })]
      : [script.text(/succeeded|cancelled|pending/.exec(JSON.stringify(prompt))?.[0] ?? "")],
  );
  await harness.stage.worker(
    [defineAgent({ name: "desk", title: false, featureTools: ["request_payment"], model })],
    {
      features: [payments(options)],
    },
  );
  ref = await harness.stage.session();
});
afterEach(async () => {
  await harness.close();
  await sandbox.close();
});

test("S08 S13 a client of responses gets the request, the stream ends, and it polls the status", async () => {
  const { url, auth } = harness.server;
  const stream = await StreamClient.open(`${url}/api/v1/chats/${ref.session}/messages`, {
    method: "POST",
    headers: { ...auth, "content-type": "application/json" },
    body: JSON.stringify({ message: "book", stream: true }),
  });
  await stream.ended();
  const request = await stream.frame("response.interaction_request");
  expect(request).toMatchObject({
    interaction_type: "payment",
    payment: { amount_twd: 1200, amount: 1200, currency: "TWD", status: "pending", item_desc: "Deposit" },
  });
  expect(stream.messages.at(-1)).toMatchObject({ data: "[DONE]" });
  const { payment_request_id: id, checkout_url: checkout, merchant_order_no: orderNo } = request["payment"];
  expect(checkout).toMatch(new RegExp(`^${url}/api/v1/payments/checkout/[\\w-]{43}$`));

  const poll = async () => (await harness.json("GET", `/chats/${ref.session}/payments/${id}`)).payment;
  expect(await poll()).toMatchObject({ status: "pending", checkout_url: checkout, amount_twd: 1200 });
  const opened = await (await fetch(checkout, { method: "POST" })).text();
  expect((await poll()).status).toBe("processing");
  expect(await postCheckoutForm(opened)).toBe(200);
  await sandbox.pay(orderNo);
  expect(await poll()).toMatchObject({ status: "succeeded", checkout_url: null });

  // The result starts the next turn.
  const turn = await harness.stage.ended(ref, ({ resumes }) => resumes === id);
  expect(outline(turn)).toContain("text final succeeded");
  // A repeated notification starts no further turn.
  await sandbox.sendNotification(orderNo);
  await until("nothing to run", async () => (await harness.stage.backend.store.running.get(ref)) === null);
  expect((await harness.stage.state(ref)).turns.length).toBe(2);
});

test("S13 a cancelled payment starts the next turn, and its events reach the session", async () => {
  await harness.stage.ask(ref, "book");
  const [payment] = (await harness.json("GET", `/sessions/${ref.session}/payments`)).payments;
  const path = `/sessions/${ref.session}/payments/${payment.payment_request_id}/cancel`;
  expect((await harness.json("POST", path, {})).payment.status).toBe("cancelled");
  const turn = await harness.stage.ended(ref, ({ resumes }) => resumes === payment.payment_request_id);
  expect(outline(turn)).toContain("text final cancelled");
  const { interactions } = await harness.json("GET", `/sessions/${ref.session}/interactions`);
  expect(interactions).toMatchObject([{ kind: "payment", status: "cancelled" }]);
});
