/**
 * The contract of the session functions of payments, with the payment sandbox over HTTP. It runs on memory and on real
 * servers.
 */
import { paymentsOf } from "../src/store/payments-of.ts";
import { createHash, randomUUID } from "node:crypto";
import { listBlocks, type PaymentBlock } from "@turnstream/protocol";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { checkoutUrl, createCheckoutToken, createOrderNo, hashCheckoutToken } from "../src/checkout-link.ts";
import type { CheckoutStep } from "../src/provider.ts";
import { type PaymentSandbox, startPaymentSandbox } from "@turnstream/payments/sandbox";
import { archiveSession } from "../../server/src/session/archive/archive.ts";
import { readHistory } from "../../server/src/session/history/read-history.ts";
import { readSharedSession } from "../../server/src/session/history/shared-history.ts";
import { applyPayment, type PaymentBackend } from "../src/apply-payment.ts";
import { cancelPayment } from "../src/cancel-payment.ts";
import { checkDuePayments } from "../src/check-payments.ts";
import { openCheckout, readCheckout } from "../src/checkout.ts";
import { applyReport, refreshPayment } from "../src/query-payment.ts";
import { resolveFlag, toOperatorPaymentJson, toPaymentJson } from "../src/read-payments.ts";
import { TURNS_CHANNEL } from "../../server/src/session/signal-channels.ts";
import type { Signals } from "../../server/src/signals/signals.ts";
import { forkShare } from "../../server/src/store/fork/fork-share.ts";
import type { NewPayment, Payment } from "../src/store/payments-part.ts";
import { formatShareToken } from "../../server/src/store/shares.ts";
import type { Store } from "../../server/src/store/store.ts";
import { systemEnv } from "../../server/src/util/env.ts";
import { connect } from "../../server/test/signals/signals.contract.ts";
import { type SessionBackend, SessionHarness } from "../../server/test/session/session-harness.ts";
import { startTurn } from "../../server/test/store/start-turn.ts";

interface PaymentParts extends SessionBackend {
  readonly signals: Signals;
  /** Advances the clock of the store. */
  wait(ms: number): Promise<void>;
}

interface Asked {
  readonly harness: SessionHarness;
  readonly payment: Payment;
  readonly token: string;
}

const PLACE = { turn: "t1", run: "main", block: "pay", index: 0 } as const;
/** Nothing here is aborted. */
const { signal } = new AbortController();

export function paymentsContract(name: string, makeBackend: () => Promise<PaymentParts>): void {
  describe(`payments on ${name}`, () => {
    let sandbox: PaymentSandbox;
    let parts: PaymentParts;
    let backend: PaymentBackend;
    const errors: string[] = [];
    const woken: string[] = [];
    beforeAll(async () => {
      sandbox = await startPaymentSandbox({ behavior: { notify: "never" } });
      parts = await makeBackend();
      backend = {
        ...parts,
        payments: { providers: [sandbox.provider()], publicUrl: "https://chat.example.com/" },
        env: systemEnv,
        onError: (error, { during }) => errors.push(`${during}: ${String(error)}`),
      };
      parts.signals.listen(TURNS_CHANNEL, (agent) => woken.push(agent));
      await connect(parts.signals, parts.signals, TURNS_CHANNEL);
    });
    afterAll(async () => {
      await Promise.all([parts.log.close(), parts.store.close(), parts.signals.close(), sandbox.close()]);
    });

    /** A session whose turn has ended with a payment, as the runtime commits it. */
    async function ask(more: Partial<NewPayment> = {}): Promise<Asked> {
      const harness = await SessionHarness.make(parts);
      await harness.start();
      const { ref, actor } = harness;
      await parts.store.webhooks.create(actor.tenant, { url: "https://example.com/hooks" });
      const id = `pay_${randomUUID()}`;
      const token = createCheckoutToken(systemEnv);
      const money = { amount: 1200, currency: "TWD" };
      const shown = { order_no: createOrderNo(systemEnv), description: "Deposit", ...money };
      const checkout_url = checkoutUrl("https://chat.example.com", token);
      await harness.append(
        { type: "message.add", message: "m1", text: "I'd like an appointment" },
        {
          type: "turn.start",
          turn: "t1",
          number: 1,
          message: "m1",
          message_number: 1,
          agent: "clinic",
          mode: "agent",
          from_share: false,
        },
        { type: "run.start", turn: "t1", run: "main", agent: "clinic" },
        { type: "payment.request", ...PLACE, payment: id, ...shown, checkout_url },
        { type: "run.end", turn: "t1", run: "main", status: "completed" },
        { type: "turn.end", turn: "t1", reason: "requires_interaction", duration_ms: 1 },
      );
      await archiveSession(parts, ref);
      const payment = await parts.store.transaction(async (tx) => {
        await tx.interactions.request(ref, {
          id,
          kind: "payment",
          ...PLACE,
          request: { ...shown, checkout_url },
        });
        const made = await paymentsOf(tx).create(ref, {
          id,
          orderNo: shown.order_no,
          tokenHash: hashCheckoutToken(token),
          ...money,
          provider: "sandbox",
          description: shown.description,
          locale: "zh-TW",
          continues: true,
          agent: "clinic",
          mode: "agent",
          expiresMs: 3_600_000,
          queryAfterMs: 60_000,
          ...more,
        });
        return made.payment;
      });
      return { harness, payment, token };
    }

    async function open({ token }: Asked): Promise<CheckoutStep> {
      const { step } = await openCheckout(backend, token, { signal });
      if (step?.type !== "form") throw new Error(`a form was expected, got ${JSON.stringify(step)}`);
      const body = new URLSearchParams(step.fields);
      expect((await fetch(step.action, { method: "POST", body })).status).toBe(200);
      return step;
    }

    const statusOf = async ({ harness, payment }: Asked) =>
      (await paymentsOf(parts.store).get(harness.ref, payment.id))?.status;

    /** What users and operators can see of a payment, outside of its row. */
    async function effectsOf({ harness: { ref, actor }, payment: { id } }: Asked) {
      const { state } = await readHistory(parts, ref);
      const blocks = state.turns.toArray().flatMap((turn) => [...listBlocks(turn)]);
      const block = blocks.find(
        (each): each is PaymentBlock => each.kind === "payment" && each.payment === id,
      );
      const deliveries = await parts.store.webhooks.take({ limit: 100, perEndpoint: 100, leaseMs: 60_000 });
      const audit = await parts.store.audit.list(actor.tenant, { after: 0, limit: 100 });
      const queued = await parts.store.queuedMessages.list(ref);
      return {
        block: block?.status,
        by: block?.by,
        webhooks: deliveries
          .filter(({ session }) => session === ref.session)
          .map(({ type, data }) => `${type} ${data["state"] as string}`),
        audit: audit.map(({ action }) => action),
        queued: queued.map(({ id: message, resumes }) => [message, resumes]),
      };
    }

    test("S08 opening moves to processing once, and continues the same order at the provider", async () => {
      const asked = await ask();
      expect(await readCheckout(backend, asked.token)).toEqual(asked.payment);
      expect(await statusOf(asked)).toBe("pending");
      const first = await open(asked);
      const again = await Promise.all([open(asked), open(asked)]);
      expect(first.type).toBe("form");
      expect(again.map(({ type }) => type)).toEqual(["form", "form"]);
      const [order, ...more] = sandbox.orders().filter(({ orderNo }) => orderNo === asked.payment.orderNo);
      expect(more).toEqual([]);
      expect(order).toMatchObject({
        amount: 1200,
        returnUrl: `https://chat.example.com/api/v1/payments/return/${asked.token}`,
        notifyUrl: "https://chat.example.com/api/v1/payments/notify/sandbox",
      });
      expect(await paymentsOf(parts.store).changes(asked.harness.ref, asked.payment.id)).toMatchObject([
        { actor: "user", by: null, input: "checkout_opened", to: "processing", evidenceHash: null },
      ]);
      expect(await effectsOf(asked)).toEqual({
        block: "processing",
        by: null,
        webhooks: ["interaction.updated processing"],
        audit: ["payment.processing"],
        queued: [],
      });
      await expect(openCheckout(backend, "x".repeat(43), { signal })).rejects.toMatchObject({
        code: "NOT_FOUND",
      });
    });

    test("S08 a notification changes payment, block, webhook, audit and next turn together, and a repeat nothing", async () => {
      const asked = await ask();
      await open(asked);
      await sandbox.pay(asked.payment.orderNo);
      const report = await sandbox.provider().query(asked.payment, { signal });
      if (report === null) throw new Error("the sandbox doesn't know the order");
      const evidence = Buffer.from("raw bytes of the notification");
      woken.length = 0;
      const apply = () => applyReport(backend, report, { provider: "sandbox", evidence });
      const results = await Promise.all([apply(), apply(), apply()]);
      expect(results.map(({ outcome }) => outcome).toSorted()).toEqual(["changed", "unchanged", "unchanged"]);
      const hash = createHash("sha256").update(evidence).digest("hex");
      expect(
        (await paymentsOf(parts.store).changes(asked.harness.ref, asked.payment.id)).at(-1),
      ).toMatchObject({
        actor: "provider",
        from: "processing",
        to: "succeeded",
        evidenceHash: hash,
      });
      const { id } = asked.payment;
      expect(await effectsOf(asked)).toEqual({
        block: "succeeded",
        by: null,
        webhooks: ["interaction.updated processing", "interaction.updated succeeded"],
        audit: ["payment.processing", "payment.succeeded"],
        queued: [[`after.${id}`, id]],
      });
      const started = await startTurn(parts.store, asked.harness.ref, { agents: ["clinic"] });
      expect(started?.row).toMatchObject({ options: { agent: "clinic", mode: "agent", locale: "zh-TW" } });
      await expect.poll(() => woken).toContain("clinic");
      expect((await openCheckout(backend, asked.token, { signal })).step).toBeNull();
    });

    test("the owner can cancel a pending payment, and not one whose checkout is open", async () => {
      const asked = await ask();
      const { ref, actor } = asked.harness;
      const who = { payment: asked.payment.id, userId: actor.user, clientId: "key_1" };
      expect(await cancelPayment(backend, ref, who)).toMatchObject({
        applied: true,
        interaction: { status: "cancelled" },
        change: { status: "cancelled", by: actor.user },
      });
      expect(await cancelPayment(backend, ref, who)).toMatchObject({
        applied: false,
        reason: "status",
        current: { status: "cancelled" },
        change: { status: "cancelled" },
      });
      expect(await effectsOf(asked)).toMatchObject({
        block: "cancelled",
        by: actor.user,
        audit: ["payment.cancelled"],
        queued: [[`after.${asked.payment.id}`, asked.payment.id]],
      });
      expect((await openCheckout(backend, asked.token, { signal })).step).toBeNull();
      const opened = await ask();
      await open(opened);
      const late = { ...who, payment: opened.payment.id };
      expect(await cancelPayment(backend, opened.harness.ref, late)).toMatchObject({
        applied: false,
        current: { status: "processing" },
      });
      await expect(cancelPayment(backend, ref, late)).rejects.toMatchObject({ code: "NOT_FOUND" });
    });

    test("S08 a payment whose notification is lost is found by asking the provider", async () => {
      const asked = await ask();
      await open(asked);
      await sandbox.pay(asked.payment.orderNo);
      await checkDuePayments(backend);
      expect(await statusOf(asked)).toBe("processing");
      await parts.wait(61_000);
      await checkDuePayments(backend);
      expect(await statusOf(asked)).toBe("succeeded");
      expect(errors).toEqual([]);
      expect((await effectsOf(asked)).queued).toHaveLength(1);
    });

    test("a user's refresh asks the provider at most every three seconds, also about a refund", async () => {
      const asked = await ask();
      const { ref } = asked.harness;
      const refresh = () => refreshPayment(backend, ref, asked.payment.id);
      expect((await refresh()).status).toBe("pending");
      await open(asked);
      expect((await refresh()).status).toBe("processing");
      await sandbox.pay(asked.payment.orderNo);
      expect((await refresh()).status).toBe("processing");
      await parts.wait(3_100);
      expect((await refresh()).status).toBe("succeeded");
      sandbox.refund(asked.payment.orderNo, 200);
      await parts.wait(3_100);
      expect((await refresh()).refundedAmount).toBe(200);
      expect(await effectsOf(asked)).toMatchObject({
        block: "succeeded",
        webhooks: [
          "interaction.updated processing",
          "interaction.updated succeeded",
          "payment.refunded succeeded",
        ],
        audit: ["payment.processing", "payment.succeeded", "payment.refunded"],
      });
      await expect(refreshPayment(backend, ref, "nothing")).rejects.toMatchObject({ code: "NOT_FOUND" });
    });

    test("an overdue payment expires after its provider was asked, and starts a turn if nothing followed", async () => {
      const [unopened, unpaid, paid, followed] = (await Promise.all([1, 2, 3, 4].map(() => ask()))) as [
        Asked,
        Asked,
        Asked,
        Asked,
      ];
      for (const each of [unpaid, paid]) await open(each);
      await sandbox.pay(paid.payment.orderNo);
      await parts.store.queuedMessages.add(followed.harness.ref, { id: "m2", text: "something else" });
      const all = [unopened, unpaid, paid, followed];
      await parts.wait(3_601_000);
      await checkDuePayments(backend);
      const statuses = await Promise.all(all.map(statusOf));
      expect(statuses).toEqual(["expired", "expired", "succeeded", "expired"]);
      const queued = await Promise.all(
        all.map(async (each) => (await effectsOf(each)).queued.map(([id]) => id)),
      );
      const after = ({ payment }: Asked) => `after.${payment.id}`;
      expect(queued).toEqual([[after(unopened)], [after(unpaid)], [after(paid)], ["m2"]]);
      expect((await effectsOf(unpaid)).block).toBe("expired");
      expect((await openCheckout(backend, unpaid.token, { signal })).step).toBeNull();
    });

    test("a success after the payment was closed is flagged, announced and resolved by an operator", async () => {
      const asked = await ask({ continues: false });
      const { ref, actor } = asked.harness;
      const { orderNo, id } = asked.payment;
      await cancelPayment(backend, ref, { payment: id });
      const report = {
        orderNo,
        status: "succeeded" as const,
        paid: { amount: 1200, currency: "TWD" },
        providerRef: "24",
        event: "paid",
        reason: "授權成功 ".repeat(200),
      };
      const from = { provider: "sandbox", evidence: Buffer.from("late") };
      expect(await applyReport(backend, report, from)).toMatchObject({ outcome: "flagged" });
      expect(await applyReport(backend, report, from)).toMatchObject({ outcome: "unchanged" });
      expect(await effectsOf(asked)).toEqual({
        block: "cancelled",
        by: null,
        webhooks: ["interaction.updated cancelled", "payment.flagged cancelled"],
        audit: ["payment.cancelled", "payment.flagged"],
        queued: [],
      });
      const payments = paymentsOf(parts.store);
      expect(await payments.flagged(actor.tenant)).toMatchObject([{ id, flag: "late_success" }]);
      const payment = await payments.getInTenant(actor.tenant, id);
      if (payment === null) throw new Error("the payment is not there");
      expect(await payments.changes(payment, id)).toMatchObject([
        { to: "cancelled" },
        { outcome: "flagged", providerRef: "24" },
      ]);
      expect(toPaymentJson(payment, "https://secret")).toMatchObject({
        payment_request_id: id,
        amount_twd: 1200,
        status: "cancelled",
        checkout_url: null,
        refunded_amount: null,
      });
      expect(toPaymentJson(payment)).not.toHaveProperty("flag");
      expect(toOperatorPaymentJson(payment)).toMatchObject({ flag: "late_success", provider_ref: "24" });
      const by = { by: "key_1", note: "refunded by hand" };
      expect(await resolveFlag(backend, actor.tenant, id, by)).toMatchObject({ resolved: true });
      expect(await resolveFlag(backend, actor.tenant, id, by)).toMatchObject({ resolved: false });
      expect((await effectsOf(asked)).audit).toEqual([
        "payment.cancelled",
        "payment.flagged",
        "payment.flag_resolved",
      ]);
      expect(await payments.flagged(actor.tenant)).toEqual([]);
      await expect(resolveFlag(backend, actor.tenant, "nothing", by)).rejects.toMatchObject({
        code: "NOT_FOUND",
      });
    });

    test("another amount changes nothing but the flag", async () => {
      const asked = await ask();
      await open(asked);
      const { orderNo } = asked.payment;
      const money = { amount: 1, currency: "TWD" };
      const report = {
        orderNo,
        status: "succeeded" as const,
        paid: money,
        providerRef: null,
        event: "e",
        reason: null,
      };
      const result = await applyReport(backend, report, { provider: "sandbox", evidence: null });
      expect(result).toMatchObject({ outcome: "mismatch", fields: ["amount"] });
      expect(await effectsOf(asked)).toMatchObject({
        block: "processing",
        webhooks: ["interaction.updated processing", "payment.flagged processing"],
        audit: ["payment.processing", "payment.flagged"],
        queued: [],
      });
      const unknown = await applyReport(
        backend,
        { ...report, orderNo: "TSNOTHING" },
        { provider: "sandbox", evidence: null },
      );
      expect(unknown).toEqual({ outcome: "unknown" });
    });

    test("S08 a failure anywhere in the commit leaves nothing, and a repeat then has every effect once", async () => {
      const failing = ["outbox.add", "webhooks.enqueue", "queuedMessages.add", "audit.add"] as const;
      for (const method of failing) {
        const asked = await ask();
        const { orderNo, id } = asked.payment;
        const before = await effectsOf(asked);
        const paid = { amount: 1200, currency: "TWD" };
        const report = {
          type: "succeeded",
          provider: "sandbox",
          paid,
          event: "paid",
          reason: null,
          providerRef: "24",
          evidenceHash: null,
        } as const;
        const broken = { ...backend, store: failAt(parts.store, method) };
        await expect(applyPayment(broken, orderNo, report), method).rejects.toThrow("injected");
        expect(await paymentsOf(parts.store).get(asked.harness.ref, id)).toEqual(asked.payment);
        expect(await paymentsOf(parts.store).changes(asked.harness.ref, id)).toEqual([]);
        expect(await effectsOf(asked), method).toEqual(before);
        expect(await applyPayment(backend, orderNo, report)).toMatchObject({ outcome: "changed" });
        expect(await effectsOf(asked), method).toEqual({
          block: "succeeded",
          by: null,
          webhooks: ["interaction.updated processing", "interaction.updated succeeded"],
          audit: ["payment.processing", "payment.succeeded"],
          queued: [[`after.${id}`, id]],
        });
      }
    });

    test("a share and a fork show a payment that can't be opened, and the original stays as it is", async () => {
      const asked = await ask();
      const { actor, ref } = asked.harness;
      const share = await parts.store.shares.create(actor, ref.session);
      const seen = await readSharedSession(parts.store, formatShareToken(share));
      const reader = { tenant: actor.tenant, user: "reader" };
      const fork = await forkShare(parts.store, reader, share.id, { id: `fork-${randomUUID()}` });
      const forked = { tenant: actor.tenant, session: fork.id };
      const states = [seen?.state, (await readHistory(parts, forked)).state];
      for (const state of states) {
        const blocks = state?.turns.toArray().flatMap((turn) => [...listBlocks(turn)]);
        expect(blocks).toMatchObject([{ kind: "payment", status: "cancelled", checkout_url: "" }]);
      }
      const events = await parts.store.archive.events(forked, { after: 0, limit: 100 });
      expect(JSON.stringify([seen, events])).not.toContain(asked.token);
      expect(await paymentsOf(parts.store).list(forked)).toEqual([]);
      await expect(cancelPayment(backend, forked, { payment: asked.payment.id })).rejects.toMatchObject({
        code: "NOT_FOUND",
      });
      expect(await statusOf(asked)).toBe("pending");
      await open(asked);
      expect(await statusOf(asked)).toBe("processing");
    });

    test("a provider that is not configured or unavailable blocks no other payment", async () => {
      errors.length = 0;
      const missing = await ask({ provider: "missing" });
      const asked = await ask();
      await expect(openCheckout(backend, missing.token, { signal })).rejects.toMatchObject({
        code: "UNAVAILABLE",
      });
      await open(asked);
      await sandbox.fail(asked.payment.orderNo);
      await parts.wait(61_000);
      await checkDuePayments(backend);
      expect(await statusOf(asked)).toBe("failed");
      expect(await statusOf(missing)).toBe("processing");
      expect(errors.filter((text) => text.includes(missing.payment.id))).toHaveLength(1);
      expect((await refreshPayment(backend, missing.harness.ref, missing.payment.id)).status).toBe(
        "processing",
      );
    });
  });
}

/** A store whose transactions fail at one method, after it has written. */
function failAt(store: Store, method: string): Store {
  const [port = "", call = ""] = method.split(".");
  return {
    ...store,
    transaction: (work) =>
      store.transaction((tx) => {
        const original = tx[port as keyof Store] as unknown as Record<
          string,
          (...args: unknown[]) => Promise<unknown>
        >;
        const failing = async (...args: unknown[]) => {
          await original[call]?.(...args);
          throw new Error("injected");
        };
        return work({ ...tx, [port]: { ...original, [call]: failing } });
      }),
  };
}
