/**
 * Kills a worker at every point of two turns, the first of which requests a payment. The payment is requested once, in
 * the log and in the store, with one order number, and its success starts one further turn that reads it.
 */
import { payments } from "../../src/payments.ts";
import { paymentsOf } from "../../src/store/payments-of.ts";
import { setTimeout as sleep } from "node:timers/promises";
import { runInParallel } from "@turnstream/testkit/util/run-in-parallel.ts";
import { expect, it } from "vitest";
import { listBlocks } from "@turnstream/protocol";
import { script } from "../../../server/src/models/script-parts.ts";
import { scriptedModel } from "../../../server/src/models/scripted-model.ts";
import { newebPay } from "@turnstream/payments/newebpay";
import type { PaymentOptions } from "../../src/payment-options.ts";
import { type Agent, defineAgent } from "../../../server/src/agent/define/agent.ts";
import { defineStreamAgent } from "../../../server/src/agent/define/stream-agent.ts";
import { tool } from "../../../server/src/agent/define/tool.ts";
import { applyReport } from "../../src/query-payment.ts";
import { systemEnv } from "../../../server/src/util/env.ts";
import { crashPoints } from "../../../server/test/engine/crash-injection.ts";
import { startCrashingTurn } from "../../../server/test/engine/crashing-turn.ts";
import { openRealBackend } from "../../../server/test/engine/real-backend.ts";
import { outline } from "../../../server/test/engine/turn-harness.ts";

const DEPOSIT = { description: "Deposit", amount: 1200, currency: "TWD" };
const keys = {
  merchantId: "MS000000001",
  hashKey: "sandbox-hash-key-32-characters--",
  hashIv: "sandbox-hash-iv.",
};
const options: PaymentOptions = { providers: [newebPay(keys)], publicUrl: "http://localhost:9" };
const feature = payments(options);

function cast(by: "model" | "tool" | "sub-agent" | "stream agent"): Agent {
  if (by === "stream agent") return streamAgent();
  const look = tool({ idempotent: true, run: () => "seen" });
  const desk = tool({ idempotent: true, run: () => feature.request(DEPOSIT) });
  const asks = by === "tool" ? script.toolCall("desk") : script.toolCall("request_payment", DEPOSIT);
  const clerk = defineAgent({
    name: "clerk",
    model: scriptedModel([[asks, script.toolCall("look")], [script.text("never")]]),
    tools: { look },
    featureTools: ["request_payment"],
  });
  const model = scriptedModel(({ prompt }) => {
    if (JSON.stringify(prompt).includes("succeeded:")) return [script.text("thanks")];
    return by === "sub-agent"
      ? [script.toolCall("clerk", { task: "ask" }), script.toolCall("look")]
      : [script.toolCall("look"), asks];
  });
  const tools = { look, desk };
  return defineAgent({
    name: "a",
    model,
    tools,
    subAgents: { clerk },
    featureTools: ["request_payment"],
    title: false,
  });
}

function streamAgent(): Agent {
  return defineStreamAgent({
    name: "a",
    title: false,
    idempotent: true,
    run: async function* ({ prompt }) {
      const isPaid = JSON.stringify(prompt).includes("succeeded:");
      if (!isPaid) yield feature.requestEvent("p", DEPOSIT);
      if (!isPaid) return;
      yield { type: "text.start", block: "a", part: false };
      yield { type: "text.delta", block: "a", text: "thanks" };
      yield { type: "text.end", block: "a", final: true };
    },
  });
}

async function play(by: Parameters<typeof cast>[0], crash: { afterCalls: number; isExecuted: boolean }) {
  const started = await startCrashingTurn(() => cast(by), crash, { features: [feature] }, openRealBackend);
  const { parts, harness, ref, died, crashPoint } = started;
  const backend = { ...parts, payments: options, env: systemEnv, onError: () => {} };
  // It reports a success as soon as the order exists, even before its turn has ended.
  const provided = new AbortController();
  const provider = (async () => {
    for (; !provided.signal.aborted; await sleep(15))
      for (const { orderNo, amount, currency } of await paymentsOf(parts.store).list(ref)) {
        const paid = { amount, currency };
        const report = { orderNo, status: "succeeded", paid, providerRef: null, event: orderNo } as const;
        await applyReport(backend, { ...report, reason: null }, { provider: "newebpay", evidence: null });
      }
  })();
  await harness.ended(ref, ({ number }) => number === 2);
  provided.abort();
  await provider;
  return { state: await harness.state(ref), died, calls: crashPoint.calls, harness, ref };
}

it.each(["model", "tool", "sub-agent", "stream agent"] as const)(
  "S08 a payment of a %s is requested once and continued once, whichever worker dies",
  async (by) => {
    const whole = await play(by, { afterCalls: Infinity, isExecuted: false });
    await whole.harness.close();
    expect(whole.calls).toBeGreaterThan(8);
    await runInParallel(crashPoints(2, whole.calls), async (afterCalls) => {
      const one = await play(by, { afterCalls, isExecuted: afterCalls % 2 === 0 });
      const what = `death after ${afterCalls} calls at ${one.died.join()}`;
      const [first, second] = one.state.turns.toArray();
      expect(one.state.turns.length, what).toBe(2);
      if (first === undefined || second === undefined) throw new Error(what);
      const blocks = listBlocks(first).filter((block) => block.kind === "payment");
      const rows = await paymentsOf(one.harness.backend.store).list(one.ref);
      expect(
        blocks.map(({ status, payment, order_no }) => ({ status, id: payment, orderNo: order_no })),
        what,
      ).toEqual(rows.map(({ status, id, orderNo }) => ({ status, id, orderNo })));
      expect(
        rows.map(({ status }) => status),
        what,
      ).toEqual(["succeeded"]);
      expect(first.status, what).toBe("requires_interaction");
      expect(second.resumes, what).toBe(rows[0]?.id);
      expect(outline(second), what).toEqual(["text final thanks"]);
      expect(one.harness.errors, what).toEqual([]);
      await one.harness.close();
    });
  },
);
