/**
 * Tests the state machine of payments: its table, 10,000 orders of inputs, and when payments are checked. The table of
 * docs/payments.md is the same.
 */
import { readFileSync } from "node:fs";

import { assertCases, type CaseCounts, leastSeen } from "@turnstream/conformance/support/cases.ts";
import { TRANSITIONS } from "@turnstream/protocol/writer";
import fc from "fast-check";
import { describe, expect, test } from "vitest";

import { checkAfterChange, nextCheck, type PaymentCheck } from "../../src/store/payment-checks.ts";
import {
  INPUT_ACTORS,
  isFinalPayment,
  PAYMENT_TABLE,
  type PaymentInput,
  type PaymentInputType,
  type PaymentState,
  type PaymentStatus,
  resolvePayment,
} from "../../src/store/payment-transitions.ts";

const PAYMENT_INPUTS = Object.keys(INPUT_ACTORS) as PaymentInputType[];
const CASES: CaseCounts = { push: 10_000, full: 100_000 };
const MONEY = { amount: 100, currency: "TWD" };
const START: PaymentState = {
  ...MONEY,
  provider: "a",
  status: "pending",
  refundedAmount: 0,
  flag: null,
  isOverdue: false,
};

function report(type: "processing" | "succeeded" | "failed" | "refunded", more: object = {}): PaymentInput {
  const paid = type === "succeeded" || type === "refunded" ? MONEY : null;
  return {
    type,
    provider: "a",
    paid,
    providerRef: null,
    event: "e",
    reason: null,
    evidenceHash: null,
    ...more,
  };
}

interface Move {
  readonly input: PaymentInput;
  readonly isOverdue: boolean;
}

const paid = fc.record({
  amount: fc.constantFrom(100, 100, 99, 101),
  currency: fc.constantFrom("TWD", "TWD", "USD"),
});
const input: fc.Arbitrary<PaymentInput> = fc.oneof(
  fc.constantFrom<PaymentInput>(
    { type: "checkout_opened" },
    { type: "cancel" },
    { type: "expire" },
    report("processing"),
    report("succeeded"),
    report("failed"),
    report("refunded"),
  ),
  fc.record({ paid, provider: fc.constantFrom("a", "a", "b") }).map((more) => report("succeeded", more)),
  fc.nat(150).map((amount) => report("refunded", { paid: { ...MONEY, amount } })),
);

/** A notification, a query, an expiry, a cancellation and an opening, each repeated and in any order. */
const moves: fc.Arbitrary<Move[]> = fc
  .record({ inputs: fc.array(input, { maxLength: 24 }), overdueFrom: fc.nat(6) })
  .map(({ inputs, overdueFrom }) =>
    inputs.map((each, at) => ({ input: each, isOverdue: at >= overdueFrom })),
  );

test("S08 10,000 orders of inputs only move a payment forward, pay it at most once and lose no record", async () => {
  const seen = new Map<string, number>();
  await assertCases(
    fc.property(moves, (all) => {
      let payment = START;
      const path: PaymentStatus[] = ["pending"];
      let records = 0;
      let recorded = 0;
      for (const { input: given, isOverdue } of all) {
        const before = { ...payment, isOverdue };
        const resolution = resolvePayment(before, given);
        if (resolution.outcome === "mismatch") seen.set("mismatch", (seen.get("mismatch") ?? 0) + 1);
        const right =
          !("provider" in given) ||
          (given.provider === "a" &&
            (given.paid === null ||
              (given.paid.currency === "TWD" &&
                (given.type === "refunded" ? given.paid.amount <= 100 : given.paid.amount === 100))));
        // Without `expect`, which would take most of the time.
        if ((resolution.outcome === "mismatch") === right) throw new Error("mismatch");
        if (resolution.outcome !== "unchanged") recorded += 1;
        switch (resolution.outcome) {
          case "applied":
            for (const effect of resolution.effects) {
              if (effect === "flagged") payment = { ...payment, flag: "late_success" };
              else if (effect !== "refunded") {
                path.push(effect);
                payment = { ...payment, status: effect };
                continue;
              }
              seen.set(effect, (seen.get(effect) ?? 0) + 1);
            }
            if (resolution.refundedAmount < payment.refundedAmount || resolution.refundedAmount > 100)
              throw new Error("refund");
            payment = { ...payment, refundedAmount: resolution.refundedAmount };
            break;
          case "mismatch":
            payment = { ...payment, flag: resolution.flag };
            break;
          case "unchanged":
        }
        // What must never be lost: a wrong report, a larger refund, and the first success whenever it comes.
        if (!right) records += 1;
        else if (given.type === "refunded")
          records += (given.paid?.amount ?? 0) > before.refundedAmount ? 1 : 0;
        else if (given.type === "succeeded") {
          const isFirst = before.status !== "succeeded" && before.flag !== "late_success";
          records += isFirst ? 1 : 0;
          if (isFirst !== (resolution.outcome !== "unchanged"))
            throw new Error("a success was lost or repeated");
        } else if (resolution.outcome === "applied") records += 1;
        if (isFinalPayment(before.status) && payment.status !== before.status) throw new Error("not final");
        const isRepeat = resolvePayment({ ...payment, isOverdue }, given).outcome === "unchanged";
        if (right && !isRepeat) throw new Error("a repeat has an effect");
      }
      if (records !== recorded) throw new Error(`${records} records, not ${recorded}`);
      for (const [at, status] of path.slice(1).entries())
        if (TRANSITIONS.payment[path[at] ?? ""]?.includes(status) !== true) throw new Error("backwards");
      if (path.filter((status) => status === "succeeded").length > 1) throw new Error("paid twice");
      seen.set(path.at(-1) ?? "", (seen.get(path.at(-1) ?? "") ?? 0) + 1);
    }),
    CASES,
  );
  for (const kind of ["mismatch", "flagged", "refunded", "succeeded", "failed", "cancelled", "expired"])
    expect(seen.get(kind), kind).toBeGreaterThan(leastSeen(0.02, CASES));
});

/** Returns the cells of a row of a Markdown table. */
function cells(line: string): string[] {
  return line
    .split("|")
    .slice(1, -1)
    .map((cell) => cell.trim());
}

describe("the table", () => {
  const statuses = Object.keys(PAYMENT_TABLE) as PaymentStatus[];

  /** All steps of the table, as "from to". */
  const steps = statuses.flatMap((status) =>
    PAYMENT_INPUTS.flatMap((type) => {
      const path = [status, ...PAYMENT_TABLE[status][type].filter((effect) => effect in PAYMENT_TABLE)];
      return path.slice(1).map((to, from) => `${path[from]} ${to}`);
    }),
  );

  test("has exactly the steps that the protocol allows", () => {
    const allowed = Object.entries(TRANSITIONS.payment).flatMap(([from, to]) =>
      to.map((each) => `${from} ${each}`),
    );
    expect([...new Set(steps)].toSorted()).toEqual(allowed.toSorted());
  });

  test("S08 is the one of docs/payments.md", () => {
    const page = readFileSync(new URL("../../../../docs/payments.md", import.meta.url), "utf8");
    const [, section = ""] = page.split("## States\n");
    const lines = section.split("\n## ")[0]?.split("\n") ?? [];
    const rows = lines.filter((line) => /^\| `\w+` \((\w+)\) \|/.test(line)).map(cells);
    const header = cells(lines.find((line) => line.startsWith("| Input |")) ?? "");
    expect(header).toEqual(["Input", ...statuses.map((status) => `\`${status}\``)]);
    expect(rows).toEqual(
      PAYMENT_INPUTS.map((type) => [
        `\`${type}\` (${INPUT_ACTORS[type]})`,
        ...statuses.map((status) => {
          const effects = PAYMENT_TABLE[status][type];
          const written = effects.map((effect) => (effect in PAYMENT_TABLE ? `\`${effect}\`` : effect));
          return written.length === 0 ? "–" : written.join(", ");
        }),
      ]),
    );
  });
});

describe("conditions", () => {
  test("a payment expires only after its time", () => {
    expect(resolvePayment(START, { type: "expire" })).toEqual({ outcome: "unchanged" });
    const overdue = { ...START, isOverdue: true };
    expect(resolvePayment(overdue, { type: "expire" })).toEqual({
      outcome: "applied",
      effects: ["expired"],
      refundedAmount: 0,
    });
  });

  test("all differences are named, and a wrong report has no other effect", () => {
    const wrong = report("succeeded", { provider: "b", paid: { amount: 1, currency: "USD" } });
    const fields = ["amount", "currency", "provider"];
    expect(resolvePayment(START, wrong)).toEqual({ outcome: "mismatch", flag: "mismatch", fields });
    const late = { ...START, status: "expired", flag: "late_success" } as const;
    expect(resolvePayment(late, wrong)).toMatchObject({ outcome: "mismatch", flag: "late_success" });
  });
});

function paymentAt(status: PaymentStatus) {
  return { status, expiresAt: 3_600_000, flag: null };
}

describe("checks", () => {
  test("start after the checkout is opened, double, and end at the expiry time", () => {
    let check = checkAfterChange(paymentAt("pending"), paymentAt("processing"), 60_000, 1_000);
    const times: number[] = [];
    while (check !== null && check.nextCheckAt !== null && check.nextCheckAt < 3_600_000) {
      times.push(check.nextCheckAt);
      check = nextCheck({ ...paymentAt("processing"), checkMs: check.checkMs }, check.nextCheckAt);
    }
    const gaps = times.slice(1).map((time, n) => time - (times[n] ?? 0));
    expect(times[0]).toBe(61_000);
    expect(gaps.slice(0, 4)).toEqual([120_000, 240_000, 480_000, 600_000]);
    expect(check?.nextCheckAt).toBe(3_600_000);
    // The provider could not be asked: it is asked again, and not at once.
    expect(nextCheck({ ...paymentAt("processing"), checkMs: 600_000 }, 3_600_000).nextCheckAt).toBe(
      4_200_000,
    );
  });

  test("a payment that is not final always has a next check", () => {
    fc.assert(
      fc.property(
        fc.constantFrom<PaymentStatus>("pending", "processing"),
        fc.integer({ min: 1, max: 1e9 }),
        fc.nat(1e9),
        fc.nat(1e9),
        (status, checkMs, expiresAt, now) => {
          const { nextCheckAt } = nextCheck({ status, checkMs, expiresAt }, now);
          expect(nextCheckAt).toBeGreaterThan(now);
          expect(nextCheckAt).toBeLessThanOrEqual(now + 600_000);
        },
      ),
    );
  });

  test("end with the payment, except for one that expired while it was processing", () => {
    for (const to of ["succeeded", "failed"] as const)
      expect(checkAfterChange(paymentAt("processing"), paymentAt(to), 1, 0)?.nextCheckAt).toBeNull();
    for (const to of ["cancelled", "expired"] as const)
      expect(checkAfterChange(paymentAt("pending"), paymentAt(to), 1, 0)?.nextCheckAt).toBeNull();
    let check: PaymentCheck | null = checkAfterChange(paymentAt("processing"), paymentAt("expired"), 1, 0);
    const times: number[] = [];
    while (check !== null && check.nextCheckAt !== null && times.length < 100) {
      times.push(check.nextCheckAt);
      check = nextCheck({ ...paymentAt("expired"), checkMs: check.checkMs }, check.nextCheckAt);
    }
    expect(times.map((time) => time / 3_600_000)).toEqual([1, 3, 7, 15, 31]);
    const late = { ...paymentAt("expired"), flag: "late_success" } as const;
    expect(checkAfterChange(paymentAt("expired"), late, 1, 0)?.nextCheckAt).toBeNull();
    expect(checkAfterChange(paymentAt("processing"), paymentAt("processing"), 1, 0)).toBeNull();
  });
});
