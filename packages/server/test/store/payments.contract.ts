/** The store contract of payment orders and of notices from payment gateways. */
import { TRANSITIONS } from "@turnstream/protocol/writer";
import fc from "fast-check";
import { expect, test } from "vitest";

import type { ApplyResult, NewOrder, Order, OrderTransition } from "../../src/store/ports/payments.ts";
import type { SessionRef } from "../../src/store/refs.ts";
import type { StorePorts } from "../../src/store/store.ts";
import { type MakeStore, newSession, newTenant, unique } from "./harness.ts";
import { anInteraction } from "./interactions.contract.ts";
import { suite } from "./suite.ts";

const MONEY = { amount: 1999, currency: "TWD" };

export async function newOrder(
  store: StorePorts,
  ref: SessionRef,
  more: Partial<NewOrder> = {},
): Promise<{ wanted: NewOrder; order: Order }> {
  const interaction = anInteraction("payment");
  await store.interactions.request(ref, interaction);
  const wanted: NewOrder = {
    id: unique("payment"),
    interaction: interaction.id,
    orderNo: unique("order"),
    ...MONEY,
    gateway: "newebpay",
    description: "Two tickets \0",
    checkMs: 60_000,
    ...more,
  };
  const { order } = await store.payments.create(ref, wanted);
  return { wanted, order };
}

/** Each status as a gateway, a poll, a timer or a user can report it. */
function transitionsOf(orderNo: string): OrderTransition[] {
  const notice = (event: string) => ({ gateway: "newebpay", event: `${orderNo}/${event}`, body: { event } });
  return [
    { orderNo, to: "processing" },
    { orderNo, to: "processing", notice: notice("began") },
    { orderNo, to: "succeeded", paid: MONEY, notice: notice("paid") },
    { orderNo, to: "succeeded", paid: MONEY, gatewayRef: "polled" },
    { orderNo, to: "succeeded", paid: { ...MONEY, amount: 1 }, notice: notice("wrong") },
    { orderNo, to: "failed", notice: notice("failed") },
    { orderNo, to: "expired" },
    { orderNo, to: "cancelled", by: "an" },
  ];
}

export function paymentsContract(name: string, makeStore: MakeStore, permutations = 50): void {
  suite(name, "payments", makeStore, (store, wait) => {
    test("stores an order unchanged, and once", async () => {
      const { ref } = await newSession(store());
      const { wanted, order } = await newOrder(store(), ref, { expiresMs: 60_000 });
      const { checkMs: _, expiresMs: __, ...stored } = wanted;
      expect(order).toMatchObject({
        ...ref,
        ...stored,
        status: "pending",
        gatewayRef: null,
        changedAt: null,
      });
      expect(await store().payments.create(ref, wanted)).toEqual({ created: false, order, early: [] });
      expect(await store().payments.get(ref, wanted.id)).toEqual(order);
      expect(await store().payments.byOrderNo(ref.tenant, wanted.orderNo)).toEqual(order);
      const next = anInteraction("payment");
      await store().interactions.request(ref, next);
      for (const other of [
        { amount: 2000 },
        { id: unique("payment"), interaction: next.id },
        { id: unique("payment"), orderNo: unique("order") },
        { interaction: next.id, orderNo: unique("order") },
      ]) {
        const refused = store().payments.create(ref, { ...wanted, ...other });
        await expect(refused).rejects.toMatchObject({ code: "EXISTS" });
      }
    });

    test("an order number is unique within its tenant", async () => {
      const { ref } = await newSession(store());
      const { ref: other } = await newSession(store());
      const { wanted } = await newOrder(store(), ref);
      const { order } = await newOrder(store(), other, { orderNo: wanted.orderNo });
      expect(order.session).toBe(other.session);
    });

    test("amounts are whole and positive", async () => {
      const { ref } = await newSession(store());
      const bad = [0, -1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 60].map((amount) => ({ amount }));
      for (const money of [...bad, { currency: "twd" }, { currency: "" }]) {
        await expect(newOrder(store(), ref, money)).rejects.toMatchObject({ code: "INVALID" });
      }
    });

    test("an order belongs to a requested payment", async () => {
      const { ref } = await newSession(store());
      await expect(newOrder(store(), ref, { interaction: "nothing" })).rejects.toMatchObject({
        code: "NOT_FOUND",
      });
      const form = anInteraction("form");
      await store().interactions.request(ref, form);
      await expect(newOrder(store(), ref, { interaction: form.id })).rejects.toMatchObject({
        code: "INVALID",
      });
    });

    test("the order and its interaction change together, step by step", async () => {
      const { ref } = await newSession(store());
      const { wanted } = await newOrder(store(), ref);
      const { orderNo, interaction } = wanted;
      const move: OrderTransition = {
        orderNo,
        to: "succeeded",
        paid: MONEY,
        gatewayRef: "g1",
        body: { card: "1" },
      };
      const result = await store().payments.apply(ref.tenant, move);
      expect(result).toMatchObject({
        outcome: "won",
        order: { status: "succeeded", gatewayRef: "g1" },
        interaction: { id: interaction, status: "succeeded", version: 2 },
        changes: [
          { version: 1, status: "processing" },
          { version: 2, status: "succeeded", body: { card: "1" } },
        ],
      });
      expect(await store().interactions.get(ref, interaction)).toMatchObject({
        status: "succeeded",
        version: 2,
      });
      const changes = result.outcome === "won" ? result.changes : [];
      expect(await store().interactions.changes(ref, interaction)).toEqual(changes);
      const change = store().interactions.change(ref, { id: interaction, to: "cancelled" });
      await expect(change).rejects.toMatchObject({ code: "INVALID" });
    });

    test("a request without an order can be cancelled, and then gets no order", async () => {
      const { ref } = await newSession(store());
      const asked = anInteraction("payment");
      await store().interactions.request(ref, asked);
      for (const to of ["processing", "succeeded", "expired"]) {
        const change = store().interactions.change(ref, { id: asked.id, to });
        await expect(change).rejects.toMatchObject({ code: "INVALID" });
      }
      const wrong = { id: asked.id, to: "cancelled", expectVersion: 3 };
      expect(await store().interactions.change(ref, wrong)).toMatchObject({
        applied: false,
        reason: "version",
      });
      const cancelled = await store().interactions.change(ref, { id: asked.id, to: "cancelled", by: "an" });
      expect(cancelled).toMatchObject({
        applied: true,
        change: { status: "cancelled", by: "an", version: 1 },
      });
      expect(await store().interactions.change(ref, { id: asked.id, to: "cancelled" })).toMatchObject({
        applied: false,
        reason: "status",
      });
      await expect(newOrder(store(), ref, { interaction: asked.id })).rejects.toMatchObject({
        code: "CONFLICT",
      });
      expect(await store().interactions.list(ref, { pending: true })).toMatchObject([
        { kind: "payment", status: "pending" },
      ]);
    });

    test("refuses another amount, currency or gateway", async () => {
      const { ref } = await newSession(store());
      const { wanted, order } = await newOrder(store(), ref);
      const { orderNo } = wanted;
      const paid = (more: object): OrderTransition => ({
        orderNo,
        to: "succeeded",
        paid: { ...MONEY, ...more },
      });
      const notice = { gateway: "stripe", event: unique("event"), body: {} };
      const wrong: [OrderTransition, string[]][] = [
        [paid({ amount: 1998 }), ["amount"]],
        [paid({ amount: 1999.5, currency: "USD" }), ["amount", "currency"]],
        [{ ...paid({}), gateway: "stripe" }, ["gateway"]],
        [{ ...paid({}), notice }, ["gateway"]],
      ];
      for (const [move, fields] of wrong) {
        expect(await store().payments.apply(ref.tenant, move)).toEqual({
          outcome: "mismatch",
          order,
          fields,
        });
      }
      const bare = { orderNo, to: "succeeded" } as OrderTransition;
      await expect(store().payments.apply(ref.tenant, bare)).rejects.toMatchObject({ code: "INVALID" });
      expect(await store().payments.byOrderNo(ref.tenant, orderNo)).toEqual(order);
    });

    test("a notice counts once and is stored unchanged", async () => {
      const { ref } = await newSession(store());
      const { wanted } = await newOrder(store(), ref);
      const { orderNo } = wanted;
      const notice = { gateway: "newebpay", event: unique("event"), body: { raw: "a=1&b=\0" } };
      const move: OrderTransition = { orderNo, to: "processing", notice };
      expect(await store().payments.apply(ref.tenant, move)).toMatchObject({ outcome: "won" });
      const again = await Promise.all([1, 2, 3].map(() => store().payments.apply(ref.tenant, move)));
      for (const result of again) expect(result).toMatchObject({ outcome: "repeated", order: { orderNo } });
      const { event, ...rest } = notice;
      expect(await store().payments.notices(ref, orderNo)).toEqual([
        { ...rest, event, orderNo, outcome: "won", receivedAt: expect.any(Number) },
      ]);
      const huge = { ...notice, event: unique("event"), body: "x".repeat(300_000) };
      const refused = store().payments.apply(ref.tenant, { ...move, notice: huge });
      await expect(refused).rejects.toMatchObject({ code: "TOO_LARGE" });
    });

    test("a notice that arrives before its order is not lost", async () => {
      const { ref } = await newSession(store());
      const orderNo = unique("order");
      const notice = { gateway: "newebpay", event: unique("event"), body: { early: true } };
      const move: OrderTransition = { orderNo, to: "succeeded", paid: MONEY, notice };
      expect(await store().payments.apply(ref.tenant, move)).toEqual({ outcome: "unknown" });
      expect(await store().payments.apply(ref.tenant, move)).toEqual({ outcome: "unknown" });
      const asked = anInteraction("payment");
      await store().interactions.request(ref, asked);
      const { early } = await store().payments.create(ref, {
        id: unique("payment"),
        interaction: asked.id,
        orderNo,
        ...MONEY,
        gateway: "newebpay",
        description: "",
        checkMs: 0,
      });
      expect(early).toMatchObject([{ event: notice.event, body: { early: true }, outcome: "unknown" }]);
      expect(await store().payments.apply(ref.tenant, move)).toMatchObject({ outcome: "won" });
      expect(await store().payments.apply(ref.tenant, move)).toMatchObject({ outcome: "repeated" });
    });

    test("prunes notices of orders that never come", async () => {
      const { ref } = await newSession(store());
      const notice = { gateway: "newebpay", event: unique("event"), body: {} };
      const move: OrderTransition = { orderNo: unique("order"), to: "failed", notice };
      await store().payments.apply(ref.tenant, move);
      await wait(5);
      expect(await store().payments.pruneNotices({ olderThanMs: 60_000, limit: 10 })).toBe(0);
      expect(await store().payments.pruneNotices({ olderThanMs: 0, limit: 10 })).toBe(1);
    });

    test("notices in any order and number only move the status forward", async () => {
      const { ref } = await newSession(store());
      let settled = 0;
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.nat({ max: 7 }), { minLength: 3, maxLength: 16 }),
          fc.nat(2),
          async (picks, together) => {
            const { wanted } = await newOrder(store(), ref);
            const transitions = transitionsOf(wanted.orderNo);
            const moves = picks.map((at) => transitions[at] as OrderTransition);
            const results: ApplyResult[] = [];
            // The first few concurrently, the rest in sequence.
            const apply = (move: OrderTransition) => store().payments.apply(ref.tenant, move);
            results.push(...(await Promise.all(moves.slice(0, together + 1).map(apply))));
            for (const move of moves.slice(together + 1)) results.push(await apply(move));
            const changes = await store().interactions.changes(ref, wanted.interaction);
            const path = ["pending", ...changes.map(({ status }) => status)];
            expect(changes.map(({ version }) => version)).toEqual(changes.map((_, at) => at + 1));
            for (const [at, status] of path.slice(1).entries()) {
              expect(TRANSITIONS.payment[path[at] ?? ""]).toContain(status);
            }
            const won = results.filter(({ outcome }) => outcome === "won");
            const steps = won.flatMap((result) => (result.outcome === "won" ? result.changes : []));
            expect(steps.toSorted((a, b) => a.version - b.version)).toEqual(changes);
            const order = await store().payments.byOrderNo(ref.tenant, wanted.orderNo);
            expect(order?.status).toBe(path.at(-1));
            const succeeded = path.filter((status) => status === "succeeded").length;
            expect(succeeded).toBeLessThanOrEqual(1);
            settled += succeeded;
          },
        ),
        { numRuns: permutations },
      );
      expect(settled).toBeGreaterThan(0);
    });

    test("returns each order for polling at intervals, until it is final", async () => {
      const { ref } = await newSession(store());
      const made: NewOrder[] = [];
      for (const more of [{ checkMs: 0, expiresMs: 0 }, { checkMs: 0 }, { checkMs: 60_000 }]) {
        made.push((await newOrder(store(), ref, more)).wanted);
      }
      await wait(5);
      const ours = async (againMs: number) => {
        const lots = await Promise.all([1, 2, 3].map(() => store().payments.stale({ limit: 1000, againMs })));
        const rows = lots.flat().filter(({ session }) => session === ref.session);
        return rows.map(({ id, overdue }) => ({ id, overdue }));
      };
      const [first, second] = made;
      expect(await ours(60_000)).toEqual([
        { id: first?.id, overdue: true },
        { id: second?.id, overdue: false },
      ]);
      expect(await ours(60_000)).toEqual([]);
      const { wanted } = await newOrder(store(), ref, { checkMs: 0 });
      await wait(5);
      await store().payments.apply(ref.tenant, { orderNo: wanted.orderNo, to: "cancelled" });
      expect(await ours(0)).toEqual([]);
      await expect(store().payments.stale({ limit: 0, againMs: 1 })).rejects.toMatchObject({
        code: "INVALID",
      });
    });

    test("other tenants see and change nothing", async () => {
      const { ref } = await newSession(store());
      const { wanted, order } = await newOrder(store(), ref);
      const other = await newTenant(store());
      const foreign = { tenant: other, session: ref.session };
      expect(await store().payments.get(foreign, wanted.id)).toBeNull();
      expect(await store().payments.byOrderNo(other, wanted.orderNo)).toBeNull();
      expect(await store().payments.apply(other, { orderNo: wanted.orderNo, to: "cancelled" })).toEqual({
        outcome: "unknown",
      });
      expect(await store().payments.notices(foreign, wanted.orderNo)).toEqual([]);
      await expect(store().payments.create(foreign, wanted)).rejects.toMatchObject({ code: "NOT_FOUND" });
      expect(await store().payments.get(ref, wanted.id)).toEqual(order);
    });

    test("are erased with their session, including notices", async () => {
      const { ref } = await newSession(store());
      const { wanted } = await newOrder(store(), ref, { checkMs: 0 });
      const notice = { gateway: "newebpay", event: unique("event"), body: {} };
      await store().payments.apply(ref.tenant, { orderNo: wanted.orderNo, to: "processing", notice });
      await store().sessions.remove(ref);
      expect(await store().payments.byOrderNo(ref.tenant, wanted.orderNo)).toBeNull();
      expect(await store().payments.notices(ref, wanted.orderNo)).toEqual([]);
      await wait(5);
      const stale = await store().payments.stale({ limit: 1000, againMs: 60_000 });
      expect(stale.filter(({ session }) => session === ref.session)).toEqual([]);
    });
  });
}
