/** The store contract of payments: orders, what is recorded about them, checks and flags. */
import { paymentsOf } from "../../src/store/payments-of.ts";

import fc from "fast-check";
import { expect, test } from "vitest";

import type { NewPayment, Payment } from "../../src/store/payments-part.ts";
import type { SessionRef } from "../../../server/src/util/refs.ts";
import type { PaymentInput, ReportInput } from "../../src/store/payment-transitions.ts";
import { type MakeStore, newSession, newTenant, unique } from "../../../server/test/store/harness.ts";
import { anInteraction } from "../../../server/test/store/interactions.contract.ts";
import {
  aPayment,
  aReport,
  checkHistory,
  EVIDENCE,
  inputsOf,
  MONEY,
  newPayment,
} from "../../../server/test/store/test-payments.ts";
import { BAD_COUNTS, BAD_IDS, taken } from "../../../server/test/store/arguments.contract.ts";
import { suite } from "../../../server/test/store/suite.ts";

function refund(amount: number): ReportInput {
  return aReport("refunded", { paid: { ...MONEY, amount } });
}

export function paymentsContract(name: string, makeStore: MakeStore, permutations = 50): void {
  suite(name, "payments", makeStore, (store, advance) => {
    test.each(BAD_IDS)("refuses an invalid id in every argument: %j", async (bad) => {
      const { ref } = await newSession(store());
      const payments = paymentsOf(store());
      expect(
        await taken([
          () => payments.get(ref, bad),
          () => payments.getInTenant(ref.tenant, bad),
          () => payments.byOrderNo(bad),
          () => payments.byToken(bad),
          () => payments.changes(ref, bad),
          () => payments.apply(bad, { type: "expire" }),
          () => payments.apply("o", { type: "cancel", by: bad }),
          () => payments.setProviderRef(ref, "p", bad),
          () => payments.resolveFlag(ref.tenant, "p", { by: bad, note: "" }),
          () => payments.get({ ...ref, tenant: bad }, "p"),
          () => payments.get({ ...ref, session: bad }, "p"),
        ]),
      ).toEqual([]);
    });

    test("refuses invalid numbers", async () => {
      const { ref } = await newSession(store());
      const payments = paymentsOf(store());
      for (const bad of BAD_COUNTS)
        expect(
          await taken([
            () => payments.claimQuery(ref, "p", bad),
            () => payments.list(ref, { before: bad }),
            () => payments.flagged(ref.tenant, { before: bad }),
          ]),
        ).toEqual([]);
    });

    const apply = (orderNo: string, input: PaymentInput) => paymentsOf(store()).apply(orderNo, input);

    test("stores a payment unchanged, and once", async () => {
      const { ref } = await newSession(store());
      const { wanted, payment } = await newPayment(store(), ref);
      const { queryAfterMs: _, expiresMs, tokenHash, ...stored } = wanted;
      expect(payment).toMatchObject({
        ...ref,
        ...stored,
        status: "pending",
        providerRef: null,
        changedAt: null,
      });
      expect(payment).toMatchObject({ refundedAmount: 0, flag: null, flaggedAt: null, flagNote: null });
      expect(Math.abs(payment.expiresAt - payment.createdAt - expiresMs)).toBeLessThan(30_000);
      expect(JSON.stringify(payment)).not.toContain(tokenHash);
      expect(await paymentsOf(store()).create(ref, wanted)).toEqual({ created: false, payment });
      for (const read of [
        paymentsOf(store()).get(ref, wanted.id),
        paymentsOf(store()).getInTenant(ref.tenant, wanted.id),
        paymentsOf(store()).byToken(tokenHash),
        paymentsOf(store()).byOrderNo(wanted.orderNo),
      ])
        expect(await read).toEqual(payment);
      const next = anInteraction("payment");
      await store().interactions.request(ref, next);
      for (const other of [
        { amount: 2000 },
        { provider: "stripe" },
        { tokenHash: unique("token") },
        { orderNo: unique("order") },
        { id: next.id, tokenHash: unique("token") },
        { id: next.id, orderNo: unique("order") },
      ]) {
        const refused = paymentsOf(store()).create(ref, { ...wanted, ...other });
        await expect(refused).rejects.toMatchObject({ code: "EXISTS" });
      }
    });

    test("an order number and a token are unique over all tenants, an id in its tenant", async () => {
      const { ref } = await newSession(store());
      const { ref: other } = await newSession(store());
      const { wanted } = await newPayment(store(), ref);
      const { id, orderNo, tokenHash } = wanted;
      for (const same of [{ orderNo }, { tokenHash }])
        await expect(newPayment(store(), other, same)).rejects.toMatchObject({ code: "EXISTS" });
      const { payment } = await newPayment(store(), other, { id });
      expect(await paymentsOf(store()).getInTenant(other.tenant, id)).toEqual(payment);
      const session = unique("session");
      await store().sessions.create({ tenant: ref.tenant, user: "an" }, { id: session });
      const second = newPayment(store(), { tenant: ref.tenant, session }, { id });
      await expect(second).rejects.toMatchObject({ code: "EXISTS" });
    });

    test("refuses invalid amounts, currencies and durations", async () => {
      const { ref } = await newSession(store());
      const bad: Partial<NewPayment>[] = [
        ...[0, -1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 60].map((amount) => ({ amount })),
        ...["twd", ""].map((currency) => ({ currency })),
        { expiresMs: -1 },
        { queryAfterMs: 0 },
      ];
      for (const more of bad)
        await expect(newPayment(store(), ref, more)).rejects.toMatchObject({ code: "INVALID" });
    });

    test("a payment belongs to an interaction of its kind", async () => {
      const { ref } = await newSession(store());
      const refused = paymentsOf(store()).create(ref, aPayment());
      await expect(refused).rejects.toMatchObject({ code: "NOT_FOUND" });
      const form = anInteraction("form");
      await store().interactions.request(ref, form);
      const wrong = paymentsOf(store()).create(ref, aPayment({ id: form.id }));
      await expect(wrong).rejects.toMatchObject({ code: "INVALID" });
    });

    test("S08 a payment and its interaction change together, step by step, with the hash of the evidence", async () => {
      const { ref } = await newSession(store());
      const { wanted } = await newPayment(store(), ref);
      const { orderNo, id } = wanted;
      const report = aReport("succeeded", { providerRef: "g1", reason: "ok \0" });
      const result = await apply(orderNo, report);
      const row = {
        actor: "provider",
        by: null,
        input: "succeeded",
        outcome: "changed",
        evidenceHash: EVIDENCE,
      };
      const stated = { provider: "newebpay", paid: MONEY, providerRef: "g1", reason: "ok \0" };
      expect(result).toMatchObject({
        outcome: "changed",
        payment: { status: "succeeded", providerRef: "g1" },
        interaction: { id, status: "succeeded", version: 2 },
        changes: [
          { version: 1, status: "processing" },
          { version: 2, status: "succeeded" },
        ],
        recorded: [
          { n: 1, ...row, ...stated, from: "pending", to: "processing", event: null },
          { n: 2, ...row, ...stated, from: "processing", to: "succeeded", event: report.event },
        ],
        fields: [],
      });
      await checkHistory(store(), ref, id, [result]);
      const payment = "payment" in result ? result.payment : null;
      expect(await paymentsOf(store()).get(ref, id)).toEqual(payment);
      expect(await store().interactions.changes(ref, id)).toEqual("changes" in result ? result.changes : []);
    });

    test("an interaction of a payment changes only with its payment", async () => {
      const { ref } = await newSession(store());
      const asked = anInteraction("payment");
      await store().interactions.request(ref, asked);
      for (const to of ["processing", "succeeded", "cancelled", "expired"]) {
        const change = store().interactions.change(ref, { id: asked.id, to });
        await expect(change).rejects.toMatchObject({ code: "INVALID" });
      }
    });

    test("records who cancelled, and only a pending payment can be cancelled", async () => {
      const { ref } = await newSession(store());
      const first = await newPayment(store(), ref);
      expect(await apply(first.wanted.orderNo, { type: "cancel", by: "an" })).toMatchObject({
        outcome: "changed",
        payment: { status: "cancelled" },
        recorded: [{ actor: "user", by: "an", input: "cancel", evidenceHash: null, event: null, paid: null }],
        changes: [{ status: "cancelled", by: "an" }],
      });
      const second = await newPayment(store(), ref);
      await apply(second.wanted.orderNo, { type: "checkout_opened" });
      expect(await apply(second.wanted.orderNo, { type: "cancel", by: "an" })).toMatchObject({
        outcome: "unchanged",
        payment: { status: "processing" },
      });
    });

    test("expires a payment only after its time", async () => {
      const { ref } = await newSession(store());
      const { wanted } = await newPayment(store(), ref, { expiresMs: 600_000 });
      expect(await apply(wanted.orderNo, { type: "expire" })).toMatchObject({ outcome: "unchanged" });
      await advance(700_000);
      expect(await apply(wanted.orderNo, { type: "expire" })).toMatchObject({
        outcome: "changed",
        payment: { status: "expired" },
        recorded: [{ actor: "server", input: "expire", from: "pending", to: "expired" }],
      });
    });

    test("another amount, currency or provider changes no status, and is flagged", async () => {
      const { ref } = await newSession(store());
      const { wanted, payment } = await newPayment(store(), ref);
      const { orderNo, id } = wanted;
      const wrong: [ReportInput, string[]][] = [
        [aReport("succeeded", { paid: { ...MONEY, amount: 1998 } }), ["amount"]],
        [aReport("succeeded", { paid: { amount: 1, currency: "USD" } }), ["amount", "currency"]],
        [aReport("succeeded", { provider: "stripe", providerRef: "theirs" }), ["provider"]],
        [aReport("refunded", { paid: { ...MONEY, amount: 2000 } }), ["amount"]],
      ];
      for (const [report, fields] of wrong) {
        const result = await apply(orderNo, report);
        expect(result).toMatchObject({ outcome: "mismatch", fields, changes: [] });
        expect(result).toMatchObject({
          recorded: [{ outcome: "mismatch", paid: report.paid, to: "pending" }],
        });
        expect(await apply(orderNo, report)).toMatchObject({ outcome: "unchanged" });
      }
      const { flaggedAt, ...now } = (await paymentsOf(store()).get(ref, id)) as Payment;
      expect({ ...now, flaggedAt: null }).toEqual({ ...payment, flag: "mismatch" });
      expect(flaggedAt).toBeGreaterThanOrEqual(payment.createdAt);
      expect(await paymentsOf(store()).changes(ref, id)).toHaveLength(wrong.length);
      expect(await apply(orderNo, aReport("succeeded"))).toMatchObject({ outcome: "changed" });
    });

    test("refuses reports that can't be stored", async () => {
      const { ref } = await newSession(store());
      const { wanted } = await newPayment(store(), ref);
      const bad: Partial<ReportInput>[] = [
        { paid: null },
        { paid: { ...MONEY, amount: -1 } },
        { event: "" },
        { event: "x".repeat(201) },
        { reason: "x".repeat(501) },
        { evidenceHash: "none" },
      ];
      for (const more of bad) {
        const refused = apply(wanted.orderNo, aReport("succeeded", more));
        await expect(refused).rejects.toMatchObject({ code: "INVALID" });
      }
      expect(await paymentsOf(store()).changes(ref, wanted.id)).toEqual([]);
    });

    test("S08 a success after the payment was closed is recorded and flagged once, until an operator resolves it", async () => {
      const { ref } = await newSession(store());
      const { wanted } = await newPayment(store(), ref);
      const { orderNo, id } = wanted;
      await apply(orderNo, { type: "cancel" });
      const report = aReport("succeeded", { providerRef: "g1" });
      expect(await apply(orderNo, report)).toMatchObject({
        outcome: "flagged",
        payment: { status: "cancelled", flag: "late_success", providerRef: "g1" },
        recorded: [{ outcome: "flagged", from: "cancelled", to: "cancelled", evidenceHash: EVIDENCE }],
        changes: [],
      });
      expect(await apply(orderNo, report)).toMatchObject({ outcome: "unchanged" });
      expect(await apply(orderNo, aReport("succeeded"))).toMatchObject({ outcome: "unchanged" });
      expect(await paymentsOf(store()).flagged(ref.tenant)).toMatchObject([{ id, flag: "late_success" }]);
      const by = { by: "key_1", note: "paid back \0" };
      const resolved = await paymentsOf(store()).resolveFlag(ref.tenant, id, by);
      expect(resolved).toMatchObject({
        resolved: true,
        payment: { flag: "late_success", flagResolvedBy: "key_1", flagNote: "paid back \0" },
      });
      const again = await paymentsOf(store()).resolveFlag(ref.tenant, id, { by: "key_2", note: "" });
      expect(again).toEqual({ resolved: false, payment: resolved?.payment });
      expect(await paymentsOf(store()).flagged(ref.tenant)).toEqual([]);
      expect(await apply(orderNo, aReport("succeeded"))).toMatchObject({ outcome: "unchanged" });
      const mismatch = aReport("succeeded", { paid: { ...MONEY, amount: 1 } });
      expect(await apply(orderNo, mismatch)).toMatchObject({
        payment: { flag: "late_success", flagResolvedAt: null, flagNote: null },
      });
      const { wanted: other } = await newPayment(store(), ref);
      const unflagged = await paymentsOf(store()).resolveFlag(ref.tenant, other.id, by);
      expect(unflagged).toMatchObject({ resolved: false, payment: { flag: null, flagNote: null } });
      expect(await paymentsOf(store()).resolveFlag(ref.tenant, "nothing", by)).toBeNull();
    });

    test("the refunded sum only grows, and a refund implies a success", async () => {
      const { ref } = await newSession(store());
      const { wanted } = await newPayment(store(), ref);
      const { orderNo, id } = wanted;
      // The refund arrives before the success.
      expect(await apply(orderNo, refund(500))).toMatchObject({
        outcome: "refunded",
        payment: { status: "succeeded", refundedAmount: 500 },
        recorded: [
          { outcome: "changed", to: "processing", input: "refunded", event: null },
          { outcome: "changed", to: "succeeded", input: "refunded", event: null },
          { outcome: "refunded", from: "succeeded", to: "succeeded", paid: { amount: 500 } },
        ],
        changes: [{ status: "processing" }, { status: "succeeded" }],
      });
      expect(await apply(orderNo, aReport("succeeded"))).toMatchObject({ outcome: "unchanged" });
      expect(await apply(orderNo, refund(400))).toMatchObject({ outcome: "unchanged" });
      expect(await apply(orderNo, refund(1999))).toMatchObject({ outcome: "refunded" });
      expect(await paymentsOf(store()).get(ref, id)).toMatchObject({
        status: "succeeded",
        refundedAmount: 1999,
      });
      const { wanted: closed } = await newPayment(store(), ref);
      await apply(closed.orderNo, { type: "cancel" });
      expect(await apply(closed.orderNo, refund(700))).toMatchObject({
        outcome: "refunded",
        payment: { status: "cancelled", flag: "late_success", refundedAmount: 700 },
        recorded: [{ outcome: "flagged" }, { outcome: "refunded", to: "cancelled" }],
        changes: [],
      });
    });

    test("a report counts once, also if it arrives several times at once", async () => {
      const { ref } = await newSession(store());
      const { wanted } = await newPayment(store(), ref);
      const report = aReport("succeeded");
      const results = await Promise.all([1, 2, 3, 4].map(() => apply(wanted.orderNo, report)));
      const outcomes = results.map(({ outcome }) => outcome).toSorted();
      expect(outcomes).toEqual(["changed", "unchanged", "unchanged", "unchanged"]);
      // Another payment may use the same name for an event.
      const { wanted: other } = await newPayment(store(), ref);
      expect(await apply(other.orderNo, report)).toMatchObject({ outcome: "changed" });
      expect(await apply("nothing", report)).toEqual({ outcome: "unknown" });
    });

    test(`inputs in ${permutations} orders, repeated and at once, only move payments forward`, async () => {
      const { ref } = await newSession(store());
      const seen = new Map<string, number>();
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.nat({ max: 8 }), { minLength: 3, maxLength: 16 }),
          fc.nat(2),
          fc.boolean(),
          async (picks, together, overdue) => {
            const expiresMs = overdue ? 0 : 3_600_000;
            const { wanted } = await newPayment(store(), ref, { expiresMs });
            const all = inputsOf(wanted.orderNo);
            const inputs = picks.map((at) => all[at] as PaymentInput);
            const one = (input: PaymentInput) => apply(wanted.orderNo, input);
            // The first few concurrently, the rest in sequence.
            const results = await Promise.all(inputs.slice(0, together + 1).map(one));
            for (const input of inputs.slice(together + 1)) results.push(await one(input));
            const rows = await checkHistory(store(), ref, wanted.id, results);
            for (const { outcome, to } of rows) {
              const kind = outcome === "changed" ? to : outcome;
              seen.set(kind, (seen.get(kind) ?? 0) + 1);
            }
            const flagged = rows.some(({ outcome }) => outcome === "flagged" || outcome === "mismatch");
            const payment = await paymentsOf(store()).get(ref, wanted.id);
            expect(payment?.flag !== null).toBe(flagged);
            expect(payment?.refundedAmount).toBe(
              rows.some(({ outcome }) => outcome === "refunded") ? 500 : 0,
            );
          },
        ),
        { numRuns: permutations },
      );
      // A small number of orders may leave out a kind by chance.
      if (permutations < 500) return;
      for (const kind of ["succeeded", "failed", "cancelled", "expired", "mismatch", "flagged", "refunded"])
        expect(seen.get(kind), kind).toBeGreaterThan(0);
    });

    const dueOf = async (ref: SessionRef) => {
      const lots = await Promise.all([1, 2, 3].map(() => paymentsOf(store()).due({ limit: 1000 })));
      const rows = lots.flat().filter(({ session }) => session === ref.session);
      return rows.map(({ id, overdue }) => ({ id, overdue }));
    };

    test("returns each payment for checking at growing intervals, and at its expiry", async () => {
      const { ref } = await newSession(store());
      const times = { expiresMs: 3_600_000, queryAfterMs: 60_000 };
      const { wanted: open } = await newPayment(store(), ref, times);
      const { wanted: paid } = await newPayment(store(), ref, times);
      const { wanted: pending } = await newPayment(store(), ref, times);
      for (const { orderNo } of [open, paid]) await apply(orderNo, { type: "checkout_opened" });
      expect(await dueOf(ref)).toEqual([]);
      await apply(paid.orderNo, aReport("succeeded"));
      await advance(61_000);
      expect(await dueOf(ref)).toEqual([{ id: open.id, overdue: false }]);
      await advance(61_000);
      expect(await dueOf(ref)).toEqual([]);
      await advance(60_000);
      expect(await dueOf(ref)).toEqual([{ id: open.id, overdue: false }]);
      await advance(3_500_000);
      expect((await dueOf(ref)).toSorted((a, b) => a.id.localeCompare(b.id))).toEqual(
        [open, pending].map(({ id }) => ({ id, overdue: true })).toSorted((a, b) => a.id.localeCompare(b.id)),
      );
      for (const { orderNo } of [open, pending]) await apply(orderNo, { type: "expire" });
      await expect(paymentsOf(store()).due({ limit: 0 })).rejects.toMatchObject({ code: "INVALID" });
    });

    test("checks a payment that expired while it was processing for about a day, until its success is found", async () => {
      const { ref } = await newSession(store());
      const { wanted } = await newPayment(store(), ref, { expiresMs: 60_000 });
      const { wanted: found } = await newPayment(store(), ref, { expiresMs: 60_000 });
      for (const { orderNo } of [wanted, found]) await apply(orderNo, { type: "checkout_opened" });
      await advance(61_000);
      expect(await dueOf(ref)).toHaveLength(2);
      for (const { orderNo } of [wanted, found]) await apply(orderNo, { type: "expire" });
      await advance(3_601_000);
      expect(await dueOf(ref)).toHaveLength(2);
      await apply(found.orderNo, aReport("succeeded"));
      let checks = 0;
      for (let quarter = 0; quarter < 16; quarter += 1) {
        await advance(6 * 3_600_000);
        const due = await dueOf(ref);
        if (due.length > 0) expect(due).toEqual([{ id: wanted.id, overdue: true }]);
        checks += due.length;
      }
      expect(checks).toBe(4);
    });

    test("one caller per interval may ask the provider", async () => {
      const { ref } = await newSession(store());
      const { wanted } = await newPayment(store(), ref);
      const claim = () => paymentsOf(store()).claimQuery(ref, wanted.id, 600_000);
      const first = await Promise.all([1, 2, 3].map(claim));
      expect(first.filter(Boolean)).toHaveLength(1);
      expect(await claim()).toBe(false);
      await advance(700_000);
      expect(await claim()).toBe(true);
      expect(await paymentsOf(store()).claimQuery({ ...ref, tenant: "else" }, wanted.id, 0)).toBe(false);
    });

    test("the first number of a provider stays", async () => {
      const { ref } = await newSession(store());
      const { wanted } = await newPayment(store(), ref);
      for (const number of ["cs_1", "cs_2"]) await paymentsOf(store()).setProviderRef(ref, wanted.id, number);
      await apply(wanted.orderNo, aReport("succeeded", { providerRef: "pi_1" }));
      expect(await paymentsOf(store()).get(ref, wanted.id)).toMatchObject({ providerRef: "cs_1" });
      expect(await paymentsOf(store()).changes(ref, wanted.id)).toMatchObject([
        { providerRef: "pi_1" },
        { providerRef: "pi_1" },
      ]);
    });

    test("lists payments page by page, newest first", async () => {
      const { ref } = await newSession(store());
      const made: string[] = [];
      for (let n = 0; n < 5; n += 1) {
        const { wanted } = await newPayment(store(), ref);
        made.unshift(wanted.id);
        await apply(wanted.orderNo, aReport("succeeded", { paid: { ...MONEY, amount: 1 } }));
      }
      for (const list of [
        (page: object) => paymentsOf(store()).list(ref, page),
        (page: object) => paymentsOf(store()).flagged(ref.tenant, page),
      ]) {
        const first = await list({ limit: 3 });
        const rest = await list({ limit: 3, before: first.at(-1)?.n });
        expect([...first, ...rest].map(({ id }) => id)).toEqual(made);
        expect((await list({})).map(({ id }) => id)).toEqual(made);
        await expect(list({ limit: 0 })).rejects.toMatchObject({ code: "INVALID" });
      }
    });

    test("other tenants see and change nothing", async () => {
      const { ref } = await newSession(store());
      const { wanted, payment } = await newPayment(store(), ref);
      const { id } = wanted;
      const tenant = await newTenant(store());
      const foreign = { tenant, session: ref.session };
      expect(await paymentsOf(store()).get(foreign, id)).toBeNull();
      expect(await paymentsOf(store()).getInTenant(tenant, id)).toBeNull();
      expect(await paymentsOf(store()).list(foreign)).toEqual([]);
      expect(await paymentsOf(store()).changes(foreign, id)).toEqual([]);
      expect(await paymentsOf(store()).flagged(tenant)).toEqual([]);
      expect(await paymentsOf(store()).resolveFlag(tenant, id, { by: "k", note: "" })).toBeNull();
      await paymentsOf(store()).setProviderRef(foreign, id, "theirs");
      await expect(paymentsOf(store()).create(foreign, wanted)).rejects.toMatchObject({ code: "NOT_FOUND" });
      expect(await paymentsOf(store()).get(ref, id)).toEqual(payment);
    });

    test("are erased with their session, and a user's id with the user", async () => {
      const { ref } = await newSession(store());
      const { wanted } = await newPayment(store(), ref, { expiresMs: 0 });
      const { orderNo, id, tokenHash } = wanted;
      await apply(orderNo, { type: "cancel", by: "an" });
      await store().sessions.removeUser(ref.tenant, "an");
      expect(await paymentsOf(store()).changes(ref, id)).toMatchObject([{ actor: "user", by: null }]);
      const { wanted: second } = await newPayment(store(), ref, { expiresMs: 0 });
      await store().sessions.remove(ref);
      for (const read of [paymentsOf(store()).byOrderNo(orderNo), paymentsOf(store()).byToken(tokenHash)])
        expect(await read).toBeNull();
      expect(await paymentsOf(store()).changes(ref, id)).toEqual([]);
      expect(await apply(second.orderNo, aReport("succeeded"))).toEqual({ outcome: "unknown" });
      await advance(5);
      expect(await dueOf(ref)).toEqual([]);
    });
  });
}
