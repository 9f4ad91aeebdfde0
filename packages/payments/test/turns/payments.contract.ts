/**
 * The contract of payments that end their turn: requested by the model, a tool, a sub-agent or a stream agent, decided
 * later, and continued in the next turn.
 */
import { payments, type Payments } from "../../src/payments.ts";
import { paymentsOf } from "../../src/store/payments-of.ts";
import { afterEach, describe, expect, it } from "vitest";
import { listBlocks, type PaymentBlock, type Turn } from "@turnstream/protocol";
import { until } from "@turnstream/testkit/util/until.ts";
import type { Prompt } from "../../../server/src/models/model.ts";
import { script, type ScriptPart } from "../../../server/src/models/script-parts.ts";
import { scriptedModel } from "../../../server/src/models/scripted-model.ts";
import { hashCheckoutToken, readCheckoutToken } from "../../src/checkout-link.ts";
import type { PaymentOptions } from "../../src/payment-options.ts";
import type { ProviderReport } from "../../src/provider.ts";
import { type PaymentSandbox, startPaymentSandbox } from "@turnstream/payments/sandbox";
import { type Agent, type AgentOptions, defineAgent } from "../../../server/src/agent/define/agent.ts";
import { defineStreamAgent } from "../../../server/src/agent/define/stream-agent.ts";
import type { StreamBodyEvent } from "../../../server/src/agent/define/stream-body.ts";
import { tool } from "../../../server/src/agent/define/tool.ts";
import { submitForm } from "../../../server/src/session/interactions/submit-form.ts";
import { sendMessage } from "../../../server/src/session/messages/send.ts";
import { applyReport } from "../../src/query-payment.ts";
import { cancelPayment } from "../../src/cancel-payment.ts";
import { openCheckout } from "../../src/checkout.ts";
import type { PaymentBackend } from "../../src/apply-payment.ts";
import type { SessionRef } from "../../../server/src/util/refs.ts";
import { systemEnv } from "../../../server/src/util/env.ts";
import { outline, TurnHarness, type HarnessBackend } from "../../../server/test/engine/turn-harness.ts";

const DEPOSIT = { description: "Deposit for bed 12", amount: 1200, currency: "TWD" };
const FORM = { title: "Contact", fields: [{ name: "email", label: "E-mail", type: "email" }] } as const;

export function paymentContract(makeBackend: () => Promise<HarnessBackend>): void {
  let harness: TurnHarness;
  let sandbox: PaymentSandbox;
  let options: PaymentOptions;
  let feature: Payments;
  let prompts: Prompt[];
  const open = async (more: Partial<PaymentOptions> = {}): Promise<void> => {
    harness = await TurnHarness.open(await makeBackend());
    sandbox = await startPaymentSandbox({ behavior: { notify: "never" } });
    options = { providers: [sandbox.provider()], publicUrl: "http://localhost:9", ...more };
    feature = payments(options);
    prompts = [];
  };
  const start = (...agents: Agent[]) => harness.worker(agents, { features: [feature] });
  const backend = (): PaymentBackend => ({
    ...harness.backend,
    payments: options,
    env: systemEnv,
    onError: (error, { during }) => harness.errors.push({ error, during }),
  });
  const look = tool({ label: "Looking", idempotent: true, run: () => "free beds" });
  const desk = tool({
    label: "Opening the desk",
    idempotent: true,
    run: () => feature.request({ ...DEPOSIT, provider: "sandbox" }),
  });

  const pay = (spec: object) =>
    tool({ idempotent: true, run: () => feature.request({ ...DEPOSIT, ...spec }) });

  /** Replies `first` in its first turn and "thanks" in later ones. */
  function guide(first: readonly ScriptPart[], more: Partial<AgentOptions> = {}): Agent {
    const model = scriptedModel(({ prompt }) => {
      prompts.push(prompt);
      const isNew = !prompt.some(({ role }) => role === "assistant");
      return isNew ? first : [script.text("thanks")];
    });
    return defineAgent({
      name: "guide",
      model,
      tools: { look, desk },
      requestForms: true,
      featureTools: ["request_payment"],
      title: false,
      ...more,
    });
  }

  /** Requests a payment for a message that starts with "ask", with the message as its description. */
  function cashier(more: Partial<AgentOptions> = {}): Agent {
    const model = scriptedModel(({ prompt, text }) => {
      prompts.push(prompt);
      if (text.startsWith("Sum up")) return [script.text("The user wants a bed.")];
      if (text.startsWith("ask"))
        return [script.toolCall("request_payment", { ...DEPOSIT, description: text })];
      return [script.text(`long answer ${"x".repeat(2_000)}`)];
    });
    return defineAgent({ name: "cashier", model, featureTools: ["request_payment"], title: false, ...more });
  }

  const asked = async (ref: SessionRef, text = "book it"): Promise<{ turn: Turn; block: PaymentBlock }> => {
    const turn = await harness.ask(ref, text);
    const [block] = blocksOf(turn);
    if (block === undefined) throw new Error(outline(turn).join("\n"));
    return { turn, block };
  };
  const report = (
    { order_no: orderNo, amount, currency }: PaymentBlock,
    status: ProviderReport["status"],
    refunded = amount,
  ) => {
    const paid = status === "failed" || status === "processing" ? null : { amount: refunded, currency };
    const event = `${orderNo}-${status}-${refunded}`;
    const statement = { orderNo, status, paid, providerRef: null, event, reason: null };
    return applyReport(backend(), statement, { provider: "sandbox", evidence: Buffer.from(event) });
  };
  const nth = (ref: SessionRef, number: number): Promise<Turn> =>
    harness.ended(ref, (turn) => turn.number === number);
  const lastPrompt = (): string => JSON.stringify(prompts.at(-1));

  describe("S08 payment", () => {
    afterEach(async () => {
      await harness.close();
      await sandbox.close();
    });

    it("ends the turn outside of groups, and is committed with its order", async () => {
      await open();
      await start(
        guide([script.reasoning("hm"), script.toolCall("request_payment", DEPOSIT), script.toolCall("look")]),
      );
      const ref = await harness.session();
      const { turn, block } = await asked(ref);
      expect(turn.status).toBe("requires_interaction");
      expect(outline(turn).map((line) => line.replace(/ \{.*/, ""))).toEqual([
        "(",
        "thinking hm",
        "call hidden request_payment",
        "call look",
        "result look success free beds",
        "result hidden request_payment success ",
        ") Looking",
        "payment",
      ]);
      expect(block).toMatchObject({ ...DEPOSIT, status: "pending" });
      expect(block.order_no).toMatch(/^TS[A-Z2-7]{24}$/);
      expect(block.checkout_url).toMatch(/^http:\/\/localhost:9\/api\/v1\/payments\/checkout\/[\w-]{43}$/);
      const { store } = harness.backend;
      const row = await paymentsOf(store).get(ref, block.payment);
      expect(row).toMatchObject({
        ...DEPOSIT,
        orderNo: block.order_no,
        provider: "sandbox",
        status: "pending",
        continues: true,
        agent: "guide",
        mode: "agent",
        locale: "en",
      });
      expect(Math.abs((row?.expiresAt ?? 0) - (block.deadline ?? 0))).toBeLessThan(60_000);
      const token = readCheckoutToken(block.checkout_url) ?? "";
      expect(await paymentsOf(store).byToken(hashCheckoutToken(token))).toEqual(row);
      expect(await store.interactions.byKey(ref, block.payment)).toMatchObject({
        kind: "payment",
        status: "pending",
        request: { checkout_url: block.checkout_url },
      });
      expect(prompts).toHaveLength(1);
    });

    it.each(["succeeded", "failed"] as const)(
      "that has %s starts the next turn once, which reads it as the result of the call",
      async (status) => {
        await open();
        const other = defineAgent({ name: "other", model: scriptedModel([]) });
        await start(other, guide([script.toolCall("request_payment", DEPOSIT)]));
        const ref = await harness.session();
        const turn = await harness.ask(ref, "book it", { agent: "guide", mode: "chat" });
        const [block] = blocksOf(turn);
        if (block === undefined) throw new Error(outline(turn).join("\n"));
        await Promise.all([report(block, status), report(block, status)]);
        const next = await nth(ref, 2);
        expect(next).toMatchObject({
          resumes: block.payment,
          status: "end_turn",
          agent: "guide",
          mode: "chat",
        });
        expect(next.message).toMatchObject({ text: "", resumes: block.payment });
        // The model continues directly after the result, because there is no user message.
        expect(prompts[1]?.map(({ role }) => role)).toEqual(["user", "assistant", "tool"]);
        expect(JSON.stringify(prompts[1]?.at(-1))).toMatch(namedAs(status));
        const state = await harness.state(ref);
        expect(blocksOf(state.turns.get(0))[0]).toMatchObject({ status });
        await report(block, status);
        expect(await harness.backend.store.queuedMessages.list(ref)).toEqual([]);
        expect((await harness.state(ref)).turns.length).toBe(2);
      },
    );

    it("that the user cancels starts the next turn", async () => {
      await open();
      await start(guide([script.toolCall("desk")]));
      const ref = await harness.session();
      const { turn, block } = await asked(ref);
      expect(outline(turn)).toContain("result desk success This needs a payment.");
      const { user: userId } = harness.actor;
      await cancelPayment(backend(), ref, { payment: block.payment, userId });
      expect(await nth(ref, 2)).toMatchObject({ resumes: block.payment });
      expect(lastPrompt()).toMatch(namedAs("cancelled"));
      expect(lastPrompt()).not.toContain("paid after all");
      // A late success starts no turn. The model must not ask for the money again.
      expect(await report(block, "succeeded")).toMatchObject({ outcome: "flagged" });
      expect(await harness.ask(ref, "I have paid")).toMatchObject({ number: 3 });
      expect(lastPrompt()).toMatch(namedAs("cancelled"));
      expect(lastPrompt()).toContain("paid after all");
    });

    it("expires by the worker's periodic job, and starts the next turn", async () => {
      await open({ expiresMs: 200 });
      await start(guide([script.toolCall("request_payment", DEPOSIT)]));
      const ref = await harness.session();
      const { block } = await asked(ref);
      expect(await nth(ref, 2)).toMatchObject({ resumes: block.payment });
      expect(lastPrompt()).toMatch(namedAs("expired"));
      expect(harness.errors).toEqual([]);
    });

    it("is paid at the provider, which the worker asks if no notification arrives", async () => {
      await open({ queryAfterMs: 100 });
      await start(guide([script.toolCall("request_payment", DEPOSIT)]));
      const ref = await harness.session();
      const { block } = await asked(ref);
      const token = readCheckoutToken(block.checkout_url) ?? "";
      const { step } = await openCheckout(backend(), token, { signal: AbortSignal.timeout(60_000) });
      if (step?.type !== "form") throw new Error(`expected a form, got ${JSON.stringify(step)}`);
      await fetch(step.action, { method: "POST", body: new URLSearchParams(step.fields) });
      await sandbox.pay(block.order_no);
      expect(await nth(ref, 2)).toMatchObject({ resumes: block.payment });
      expect(lastPrompt()).toMatch(namedAs("succeeded"));
    });

    it("starts no turn with continue_after false, but later turns name it", async () => {
      await open();
      await start(guide([script.toolCall("request_payment", { ...DEPOSIT, continue_after: false })]));
      const ref = await harness.session();
      const { turn, block } = await asked(ref);
      expect(turn.status).toBe("requires_interaction");
      await report(block, "succeeded");
      expect(await harness.backend.store.queuedMessages.list(ref)).toEqual([]);
      const second = await harness.ask(ref, "and now?");
      expect(second).toMatchObject({ number: 2, resumes: null });
      expect(lastPrompt()).toMatch(namedAs("succeeded"));
    });

    it("is reported to the model as it is while the user asks something else, and when it is refunded", async () => {
      await open();
      await start(guide([script.toolCall("request_payment", DEPOSIT)]));
      const ref = await harness.session();
      const { block } = await asked(ref);
      await harness.ask(ref, "what is the weather?");
      expect(lastPrompt()).toMatch(namedAs("pending"));
      await report(block, "processing");
      await harness.ask(ref, "is it done?");
      expect(lastPrompt()).toMatch(namedAs("processing"));
      await report(block, "succeeded");
      await nth(ref, 4);
      // The payment is no longer the last message, so the prompt explains why the turn continues.
      expect(prompts.at(-1)?.at(-1)).toMatchObject({ role: "user" });
      expect(JSON.stringify(prompts.at(-1)?.at(-1))).toMatch(namedAs("succeeded"));
      await report(block, "refunded", 300);
      await harness.ask(ref, "did I get it back?");
      expect(lastPrompt()).toContain('"refunded":"NT$300"');
    });

    it.each([
      ["form", [script.toolCall("request_form", FORM), script.toolCall("request_payment", DEPOSIT)]],
      ["payment", [script.toolCall("request_payment", DEPOSIT), script.toolCall("request_form", FORM)]],
      ["payment", [script.toolCall("request_form", FORM), script.toolCall("desk"), script.toolCall("desk")]],
    ])("is limited to one form or payment at a time: %s", async (kind, calls) => {
      await open();
      await start(guide(calls));
      const ref = await harness.session();
      const turn = await harness.ask(ref, "book it");
      expect(listBlocks(turn).flatMap((block) => ("version" in block ? [block.kind] : []))).toEqual([kind]);
      const results = listBlocks(turn).filter((block) => block.kind === "tool_result");
      expect(results.filter(({ status }) => status === "success")).toHaveLength(1);
      const [block] = blocksOf(turn);
      const [form] = listBlocks(turn).filter((one) => one.kind === "form");
      if (block !== undefined) await report(block, "succeeded");
      else
        await submitForm(harness.backend, ref, {
          form: form?.form ?? "",
          values: { email: "an@example.org" },
        });
      await nth(ref, 2);
      expect(lastPrompt()).toContain("Only one request to the user");
      expect(await paymentsOf(harness.backend.store).list(ref)).toHaveLength(kind === "payment" ? 1 : 0);
    });

    it("that can't be charged is an error result for the model, and the turn continues", async () => {
      await open();
      const bad: [object, string][] = [
        [{}, "`description` must be a text"],
        [{ ...DEPOSIT, description: " " }, "`description` must be a text"],
        [{ ...DEPOSIT, description: "x".repeat(501) }, "got 501 characters"],
        [{ ...DEPOSIT, amount: 0 }, "`amount` must be a whole number of at least 1"],
        [{ ...DEPOSIT, amount: 12.5 }, "got 12.5"],
        [{ ...DEPOSIT, amount: "12" }, "`amount` must be a whole number"],
        [{ ...DEPOSIT, currency: "twd" }, "`currency` must be an ISO 4217 code"],
        [{ ...DEPOSIT, currency: "USD" }, "NewebPay charges only TWD"],
        [{ ...DEPOSIT, continue_after: "yes" }, "must be true or false"],
      ];
      await start(guide(bad.map(([input]) => script.toolCall("request_payment", input))));
      const ref = await harness.session();
      const turn = await harness.ask(ref, "go");
      expect(turn.status).toBe("end_turn");
      expect(blocksOf(turn)).toEqual([]);
      expect(lastPrompt().split("The payment is invalid").length - 1).toBe(bad.length);
      for (const [, problem] of bad) expect(lastPrompt()).toContain(problem);
      expect(await paymentsOf(harness.backend.store).list(ref)).toEqual([]);
    });

    it("of a tool that is invalid fails the call, and so does one of a worker without payments", async () => {
      await open();
      const tools = { cents: pay({ amount: 1.5 }), elsewhere: pay({ provider: "bank" }), fine: pay({}) };
      const calls = Object.keys(tools).map((name) => script.toolCall(name));
      const worker = await start(guide(calls.slice(0, 2), { tools }));
      const ref = await harness.session();
      expect((await harness.ask(ref, "go")).status).toBe("end_turn");
      expect(lastPrompt()).toContain("`amount` must be a whole number");
      expect(lastPrompt()).toContain("`provider` must be one of sandbox");
      await worker.shutdown();
      const without = { features: [{ name: "payments" }] };
      await expect(harness.worker([guide([])], without)).rejects.toThrow(
        '`featureTools` of the agent guide must be tools of the worker\'s features (none), got "request_payment"',
      );
      await harness.worker([guide(calls.slice(2), { tools, featureTools: [] })], without);
      const turn = await harness.ask(await harness.session(), "go");
      expect(turn.status).toBe("end_turn");
      expect(lastPrompt()).toContain("The worker doesn't have the feature of payment requests.");
    });

    it("is named with its state if another payment was requested since", async () => {
      await open();
      await start(cashier());
      const ref = await harness.session();
      const { block: first } = await asked(ref, "ask A");
      const { block: second } = await asked(ref, "ask B");
      await report(first, "succeeded");
      expect(await nth(ref, 3)).toMatchObject({ resumes: first.payment });
      expect(JSON.stringify(prompts.at(-1)?.at(-1))).toMatch(namedAs("succeeded", "ask A"));
      expect(lastPrompt()).toMatch(namedAs("pending", "ask B"));
      await report(second, "failed");
      expect(await nth(ref, 4)).toMatchObject({ resumes: second.payment });
      expect(lastPrompt()).toMatch(namedAs("succeeded", "ask A"));
      expect(lastPrompt()).toMatch(namedAs("failed", "ask B"));
    });

    it.each(["", "I have paid"])(
      "is known to the model if its turn was compacted before, after %j",
      async (reply) => {
        await open();
        await start(cashier({ compaction: { afterTokens: 500, keepTurns: 1 } }));
        const ref = await harness.session();
        const { block } = await asked(ref, "ask A");
        for (const text of ["one", "two", "three"]) await harness.ask(ref, text);
        expect(lastPrompt()).toContain("The user wants a bed.");
        expect(lastPrompt()).toMatch(namedAs("pending", "ask A"));
        if (reply !== "") {
          const { payment: resumes } = block;
          await sendMessage(harness.backend, ref, {
            id: "m",
            text: reply,
            resumes,
            userId: harness.actor.user,
          });
          await nth(ref, 5);
          expect(lastPrompt()).toContain(reply);
          expect(lastPrompt()).toMatch(namedAs("pending", "ask A"));
        }
        await report(block, "succeeded");
        await nth(ref, reply === "" ? 5 : 6);
        expect(lastPrompt()).toMatch(namedAs("succeeded", "ask A"));
        await harness.ask(ref, "bye");
        expect(lastPrompt()).toMatch(namedAs("succeeded", "ask A"));
        expect(lastPrompt()).not.toContain("pending:");
      },
    );

    it("of a sub-agent ends the turn too, and its siblings finish", async () => {
      await open();
      const clerk = defineAgent({
        name: "clerk",
        model: scriptedModel([[script.toolCall("desk")], [script.text("unused")]]),
        tools: { desk },
      });
      const walker = defineAgent({
        name: "walker",
        model: scriptedModel([[script.toolCall("look")], [script.text("walked")]]),
        tools: { look },
      });
      const calls = [script.toolCall("clerk", { task: "ask" }), script.toolCall("walker", { task: "walk" })];
      await start(guide(calls, { subAgents: { clerk, walker } }));
      const ref = await harness.session();
      const { turn, block } = await asked(ref);
      expect(turn.status).toBe("requires_interaction");
      expect(block.run).not.toBe("main");
      expect(turn.runs.map(({ status }) => status)).toEqual(["completed", "completed", "completed"]);
      expect(outline(turn)).toContain("result walker success walked");
      expect(prompts).toHaveLength(1);
      await report(block, "succeeded");
      await nth(ref, 2);
      expect(JSON.stringify(prompts[1]?.at(-1))).toMatch(namedAs("succeeded"));
    });

    it("of a stream agent ends the turn, and its next turns read the state in the prompt", async () => {
      await open();
      async function* paying(isNew: boolean): AsyncGenerator<StreamBodyEvent> {
        yield { type: "text.start", block: "a", part: false };
        yield { type: "text.delta", block: "a", text: isNew ? "Please pay." : "Thanks." };
        yield { type: "text.end", block: "a", final: true };
        if (isNew) yield feature.requestEvent("p", DEPOSIT);
      }
      const agent = defineStreamAgent({
        name: "own",
        title: false,
        run: ({ prompt }) => {
          prompts.push(prompt);
          return paying(prompts.length === 1);
        },
      });
      await start(agent);
      const ref = await harness.session();
      const { turn, block } = await asked(ref);
      expect(turn.status).toBe("requires_interaction");
      expect(outline(turn)).toEqual(["text final Please pay.", "payment"]);
      expect(block).toMatchObject({ ...DEPOSIT, status: "pending", call: null });
      // The body has no call, so only the note names the payment.
      await harness.ask(ref, "wait");
      expect(lastPrompt()).toMatch(namedAs("pending"));
      await report(block, "succeeded");
      expect(await nth(ref, 3)).toMatchObject({ resumes: block.payment, status: "end_turn" });
      expect(lastPrompt()).toMatch(namedAs("succeeded"));
      await harness.ask(ref, "bye");
      expect(lastPrompt()).toMatch(namedAs("succeeded"));
      expect(harness.errors).toEqual([]);
    });

    it("of a turn that the user stops is still committed, and starts a turn when it is paid", async () => {
      await open();
      let isBlocked = true;
      await start(
        defineStreamAgent({
          name: "own",
          run: async function* ({ signal }) {
            if (isBlocked) yield* requestAndWait(feature, signal);
          },
        }),
      );
      const ref = await harness.session();
      await harness.send(ref, "go");
      const { store } = harness.backend;
      await until("the payment", async () => (await paymentsOf(store).list(ref)).length === 1);
      isBlocked = false;
      await harness.stop(ref);
      const turn = await nth(ref, 1);
      expect(turn.status).toBe("user_stopped");
      const [block] = blocksOf(turn);
      if (block === undefined) throw new Error(outline(turn).join("\n"));
      expect(block.status).toBe("pending");
      await report(block, "succeeded");
      expect(await nth(ref, 2)).toMatchObject({ resumes: block.payment });
    });
  });
}

/** The part of a prompt that names the payment and its state. */
function namedAs(status: string, description = DEPOSIT.description): RegExp {
  return new RegExp(`${description}[^{}]*NT\\$1,200[^{}]*${status}:`);
}

/** A body that never ends by itself. */
async function* requestAndWait(feature: Payments, signal: AbortSignal): AsyncGenerator<StreamBodyEvent> {
  yield feature.requestEvent("p", DEPOSIT);
  await new Promise((resolve) => signal.addEventListener("abort", resolve));
}

function blocksOf(turn: Turn | undefined): PaymentBlock[] {
  return turn === undefined ? [] : listBlocks(turn).filter((block) => block.kind === "payment");
}
