/**
 * Tests a deploy that adds payments, and its rollback, while turns run: workers with and without the feature share a
 * database, and no turn fails.
 */
import { once } from "node:events";
import { listBlocks, type PaymentBlock, type Turn } from "@turnstream/protocol";
import { type PaymentSandbox, startPaymentSandbox } from "@turnstream/payments/sandbox";
import { FEATURES } from "@turnstream/testkit/backend/test-features.ts";
import { afterEach, beforeEach, expect, test } from "vitest";
import { script } from "../../../server/src/models/script-parts.ts";
import { scriptedModel } from "../../../server/src/models/scripted-model.ts";
import { type Agent, defineAgent } from "../../../server/src/agent/define/agent.ts";
import { tool } from "../../../server/src/agent/define/tool.ts";
import type { WorkerOptions } from "../../../server/src/worker/options.ts";
import { createWorker, type Worker } from "../../../server/src/worker/worker.ts";
import { systemEnv } from "../../../server/src/util/env.ts";
import type { SessionRef } from "../../../server/src/util/refs.ts";
import { openRealBackend } from "../../../server/test/engine/real-backend.ts";
import { TurnHarness } from "../../../server/test/engine/turn-harness.ts";
import type { PaymentBackend } from "../../src/apply-payment.ts";
import { openCheckout } from "../../src/checkout.ts";
import { readCheckoutToken } from "../../src/checkout-link.ts";
import type { PaymentOptions } from "../../src/payment-options.ts";
import { payments } from "../../src/payments.ts";

const DEPOSIT = { description: "Deposit for bed 12", amount: 1200, currency: "TWD" };
const OTHERS = FEATURES.filter(({ name }) => name !== "payments");

let harness: TurnHarness;
let sandbox: PaymentSandbox;
let options: PaymentOptions;
let workers: Worker[];
/** The errors of each worker. */
let errors: Record<"before" | "after", string[]>;
let prompts: { by: string; text: string }[];
/** Ends the tools that wait. */
let gate: EventTarget;

beforeEach(async () => {
  harness = await TurnHarness.open(await openRealBackend());
  sandbox = await startPaymentSandbox({ behavior: { notify: "never" } });
  options = { providers: [sandbox.provider()], publicUrl: "http://localhost:9", queryAfterMs: 100 };
  [workers, prompts, errors, gate] = [[], [], { before: [], after: [] }, new EventTarget()];
});
afterEach(async () => {
  for (const worker of workers) await worker.shutdown({ drainMs: 0 });
  await harness.close();
  await sandbox.close();
});

/** The agent of one version of the app. Only the later one requests payments. */
function agentOf(version: "before" | "after"): Agent {
  const opened = once(gate, "open");
  return defineAgent({
    name: "clerk",
    title: false,
    tools: { wait: tool({ idempotent: true, run: () => opened.then(() => "waited") }) },
    featureTools: version === "after" ? ["request_payment"] : [],
    model: scriptedModel(({ text, step, prompt }) => {
      prompts.push({ by: version, text: JSON.stringify(prompt) });
      if (step > 0) return [script.text("done")];
      if (text === "wait") return [script.toolCall("wait")];
      return text === "book" ? [script.toolCall("request_payment", DEPOSIT)] : [script.text("I see.")];
    }),
  });
}

async function start(version: "before" | "after", more: Partial<WorkerOptions> = {}): Promise<Worker> {
  const { store, log, signals } = harness.backend;
  const worker = await createWorker({
    store,
    log,
    signals,
    agents: [agentOf(version)],
    features: version === "after" ? [...OTHERS, payments(options)] : OTHERS,
    pollIntervalMs: 100,
    leaseTtlMs: 60_000,
    onError: (error) => errors[version].push(String(error)),
    ...more,
  });
  workers.push(worker);
  return worker;
}

function paymentOf(turn: Turn): PaymentBlock {
  const payment = listBlocks(turn).find((block) => block.kind === "payment");
  if (payment === undefined) throw new Error(`turn ${turn.number} must have a payment`);
  return payment;
}

/** What the user does at the checkout, through a gateway with the feature. */
async function pay({ checkout_url: url, order_no: order }: PaymentBlock): Promise<void> {
  const backend: PaymentBackend = {
    ...harness.backend,
    payments: options,
    env: systemEnv,
    onError: (error) => errors.after.push(String(error)),
  };
  const signal = AbortSignal.timeout(60_000);
  const { step } = await openCheckout(backend, readCheckoutToken(url) ?? "", { signal });
  if (step?.type !== "form") throw new Error(`expected a form, got ${JSON.stringify(step)}`);
  await fetch(step.action, { method: "POST", body: new URLSearchParams(step.fields) });
  await sandbox.pay(order);
}

test("a deploy that adds payments, and its rollback, fail no turn", async () => {
  await start("before", { maxConcurrentTurns: 1 });
  const [first, second, third] = [await harness.session(), await harness.session(), await harness.session()];
  const waits = (ref: SessionRef) =>
    harness.until(ref, 60_000, ({ turns }) => {
      const calls = turns.last()?.items.toArray() ?? [];
      return calls.some((block) => block?.kind === "tool_call" && block.name === "wait") || null;
    });
  await harness.send(first, "wait");
  await waits(first);

  // The earlier worker has no free slot, so the other turns run in the later one.
  const later = await start("after");
  const payment = paymentOf(await harness.ask(second, "book"));
  expect(prompts.at(-1)?.by).toBe("after");
  await harness.send(third, "wait");
  await waits(third);

  await later.shutdown({ drainMs: 0 });
  gate.dispatchEvent(new Event("open"));
  for (const ref of [first, third]) await harness.ended(ref, ({ number }) => number === 1);

  await harness.ask(second, "what now?");
  expect(prompts.at(-1)).toMatchObject({
    by: "before",
    text: expect.stringContaining('"payment":"pending"'),
  });
  await pay(payment);
  await harness.ask(second, "I have paid");
  expect(prompts.at(-1)).toMatchObject({
    by: "before",
    text: expect.stringContaining('"payment":"processing"'),
  });

  await start("after");
  const continued = await harness.ended(second, ({ resumes }) => resumes === payment.payment);
  expect(prompts.at(-1)?.text).toMatch(/"payment":"succeeded"|succeeded: the payment provider/);

  const turns: Turn[] = [];
  for (const ref of [first, second, third]) turns.push(...(await harness.state(ref)).turns.toArray());
  expect(turns.map(({ status }) => status)).toEqual([
    "end_turn",
    "requires_interaction",
    "end_turn",
    "end_turn",
    "end_turn",
    "end_turn",
  ]);
  expect(continued.status).toBe("end_turn");
  expect(errors).toEqual({
    before: [expect.stringContaining("The database has the feature payments, and this process doesn't.")],
    after: [],
  });
});
