/**
 * Plays the booking of document 002 with a client of the `responses` dialect, frame by frame: a form, a deposit at the
 * payment sandbox, and the turn that continues with the result. Everything is real and talks over HTTP: PostgreSQL,
 * Redis, the gateway, and the sandbox in its own process.
 */
import { payments } from "../../src/payments.ts";
import { PaymentSandboxProgram } from "@turnstream/testkit/payments/payment-sandbox-program.ts";
import { postCheckoutForm } from "@turnstream/testkit/payments/post-checkout-form.ts";
import { until } from "@turnstream/testkit/util/until.ts";
import { afterEach, beforeEach, expect, test } from "vitest";
import { script } from "../../../server/src/models/script-parts.ts";
import { scriptedModel } from "../../../server/src/models/scripted-model.ts";
import { newebPay } from "@turnstream/payments/newebpay";
import { defineAgent } from "../../../server/src/agent/define/agent.ts";
import type { SessionRef } from "../../../server/src/util/refs.ts";
import { openRealBackend } from "../../../server/test/engine/real-backend.ts";
import { StreamClient } from "../../../server/test/gateway/clients.ts";
import { GatewayHarness } from "../../../server/test/gateway/gateway-harness.ts";

const FORM = {
  id: "booking",
  title: "預約資料",
  fields: [
    { name: "name", label: "姓名", type: "shortText", required: true },
    { name: "phone", label: "手機", type: "phone", required: true },
  ],
};
const DEPOSIT = { description: "洗牙預約訂金", amount: 300, currency: "TWD" };

let sandbox: PaymentSandboxProgram;
let harness: GatewayHarness;
let ref: SessionRef;

beforeEach(async () => {
  sandbox = await PaymentSandboxProgram.launch();
  const options = {
    providers: [newebPay(sandbox.providerOptions)] as const,
    publicUrl: "http://127.0.0.1:9",
  };
  harness = await GatewayHarness.open(await openRealBackend(), { features: [payments(options)] });
  // The port is known only after the server has started.
  options.publicUrl = harness.server.url;
  // The last answer repeats the status that the model reads as the result of its call.
  const model = scriptedModel(({ prompt }) => {
    const results = prompt.filter(({ role }) => role === "tool");
    if (results.length === 0)
      return [script.text("請填寫資料。", { chunk: 99 }), script.toolCall("request_form", FORM)];
    if (results.length === 1) return [script.toolCall("request_payment", DEPOSIT)];
    const status = /"status":"(\w+):/.exec(JSON.stringify(results.at(-1)).replaceAll("\\", ""))?.[1];
    return [script.text(`付款狀態：${status}`, { chunk: 99 })];
  });
  const agent = defineAgent({
    name: "clinic",
    title: false,
    requestForms: true,
    featureTools: ["request_payment"],
    model,
  });
  await harness.stage.worker([agent], { features: [payments(options)] });
  ref = await harness.stage.session();
});
afterEach(async () => {
  await harness.close();
  await sandbox.kill();
});

/** Posts a message and reads the stream of its turn until the end. */
async function post(body: object): Promise<StreamClient> {
  const { url, auth } = harness.server;
  const stream = await StreamClient.open(`${url}/api/v1/chats/${ref.session}/messages`, {
    method: "POST",
    headers: { ...auth, "content-type": "application/json" },
    body: JSON.stringify({ ...body, stream: true }),
  });
  await stream.ended();
  return stream;
}

/** The type of every message, with what it is about. The last one of a stream is `[DONE]`. */
function outlineFrames({ messages }: StreamClient): string[] {
  return messages.map(({ data }) => {
    if (data === "[DONE]") return data;
    const { type, delta, final_text, step, interaction_type, status } = JSON.parse(data);
    const about = [delta, final_text, step?.tool_name, interaction_type, status];
    return [type.replace("response.", ""), ...about.filter((part) => part !== undefined)].join(" ");
  });
}

test("S07 S08 a form, a deposit and its result reach a client of responses frame by frame", async () => {
  const asked = await post({ message: "我想預約洗牙" });
  expect(outlineFrames(asked)).toEqual([
    "created",
    "output_text.delta 請填寫資料。",
    "reasoning_step.start request_form",
    "reasoning_step.end request_form",
    "interaction_request form",
    "[DONE]",
  ]);
  const form = await asked.frame("response.interaction_request");
  expect(form["form_schema"]).toMatchObject(FORM);

  const filled = await post({
    message: "",
    resume_form_request_id: form["form_request_id"],
    form_values: { name: "林怡君", phone: "0912 345 678" },
  });
  expect(outlineFrames(filled)).toEqual(["created", "interaction_request payment", "[DONE]"]);
  const { payment } = await filled.frame("response.interaction_request");
  const { payment_request_id: id, checkout_url: checkout, merchant_order_no: orderNo } = payment;
  expect(payment).toEqual({
    payment_request_id: id,
    checkout_url: expect.stringMatching(
      new RegExp(`^${harness.server.url}/api/v1/payments/checkout/[\\w-]{43}$`),
    ),
    merchant_order_no: expect.stringMatching(/^TS[A-Z0-9]{24}$/),
    item_desc: DEPOSIT.description,
    amount_twd: 300,
    amount: 300,
    currency: "TWD",
    status: "pending",
    deadline: expect.any(Number),
  });

  const read = async () => (await harness.json("GET", `/chats/${ref.session}/payments/${id}`)).payment;
  expect(await read()).toMatchObject({
    status: "pending",
    checkout_url: checkout,
    merchant_order_no: orderNo,
  });
  const opened = await (await fetch(checkout, { method: "POST" })).text();
  expect(await postCheckoutForm(opened)).toBe(200);
  expect(await read()).toMatchObject({ status: "processing", checkout_url: checkout });
  await sandbox.pay(orderNo);
  await until("the payment to succeed", async () => (await read()).status === "succeeded");
  expect(await read()).toMatchObject({ checkout_url: null, amount_twd: 300 });

  // The client continues the stream of the session after the last frame that it received.
  const { url, auth } = harness.server;
  const cursor = filled.messages.at(-1)?.id ?? "";
  await harness.stage.ended(ref, ({ resumes }) => resumes === id);
  const after = await StreamClient.open(`${url}/api/v1/chats/${ref.session}/events?dialect=responses`, {
    headers: { ...auth, "last-event-id": cursor },
  });
  await after.ended();
  expect(outlineFrames(after)).toEqual([
    "interaction_update payment processing",
    "interaction_update payment succeeded",
    "created",
    "output_text.delta 付款狀態：succeeded",
    "output_text.completed 付款狀態：succeeded",
    "[DONE]",
  ]);

  // The conversation keeps the record, and the sandbox was asked for one order.
  const { messages } = await harness.json("GET", `/chats/${ref.session}/history`);
  const record = messages
    .flatMap((message: { content?: unknown }) => (Array.isArray(message.content) ? message.content : []))
    .find((block: { type: string }) => block.type === "payment_request");
  expect(record).toMatchObject({
    payment: {
      merchant_order_no: orderNo,
      item_desc: DEPOSIT.description,
      amount_twd: 300,
      status: "succeeded",
    },
  });
  expect(await sandbox.orders()).toMatchObject([{ orderNo, status: "paid" }]);
});
