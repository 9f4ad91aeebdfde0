/**
 * `paymentRaces` tests promise 16 on PostgreSQL and Redis: notifications, answers to queries, openings, cancellations
 * and expiries of one payment arrive at the same time, repeated and in any order, over the connections of four backends.
 *
 * Invariant: a payment only moves forward and succeeds at most once. Each committed status is in the log once and in
 * order, and an outcome adds at most one message that starts the next turn.
 */
import { type Payment, paymentsOf, type ProviderReport } from "@turnstream/payments";
import { createHash, randomBytes, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { SessionRef } from "@turnstream/server";
import { systemEnv } from "@turnstream/server/internal";
import type { PaymentBackend } from "../../packages/payments/src/apply-payment.ts";
import { cancelPayment } from "../../packages/payments/src/cancel-payment.ts";
import { checkDuePayments } from "../../packages/payments/src/check-payments.ts";
import { openCheckout } from "../../packages/payments/src/checkout.ts";
import { applyReport } from "../../packages/payments/src/query-payment.ts";
import { startPaymentSandbox } from "@turnstream/payments/sandbox";
import { openBackend } from "@turnstream/testkit/backend/open-backend.ts";
import { Figures } from "./figures.ts";
import { createOrder } from "./order.ts";
import { checkPath, PAYMENT_CHECKS } from "./payment-check.ts";
import type { Figure, RunOptions, Scenario } from "./scenario.ts";
import { ACTOR, TurnEnvironment } from "./turn-environment.ts";

const BACKENDS = 4;
const INPUTS = 10;
const AT_ONCE = 4;
const LONGEST_MS = 50;
const MONEY = { amount: 1200, currency: "TWD" };
const PLACE = { turn: "t1", run: "main", block: "pay", index: 0 } as const;
const KINDS = [
  "open",
  "processing",
  "succeeded",
  "succeeded",
  "answer",
  "failed",
  "wrong",
  "refunded",
  "cancel",
  "due",
] as const;
/** These statuses start the next turn. An expired payment does so only if nothing followed it, which has its own test. */
const CONTINUING = ["succeeded", "failed", "cancelled"];

interface Asked {
  readonly ref: SessionRef;
  readonly payment: Payment;
  readonly token: string;
}

function createFigures(times: number, progress: RunOptions["progress"]) {
  const ended = { atLeast: Math.floor(times / 50) };
  return new Figures(progress, {
    payments: { exactly: times },
    inputs: { exactly: times * INPUTS },
    pending: {},
    processing: {},
    succeeded: ended,
    failed: ended,
    cancelled: ended,
    expired: ended,
    ...PAYMENT_CHECKS,
    "outcomes without exactly one message": { exactly: 0 },
    "inputs that failed": { exactly: 0 },
    "findings of the history check": { exactly: 0 },
  });
}

async function run({ times, random, progress }: RunOptions): Promise<Figure[]> {
  const figures = createFigures(times, progress);
  return TurnEnvironment.use(async (environment) => {
    const sandbox = await startPaymentSandbox({ behavior: { notify: "never" } });
    // On a busy machine the inputs of a payment wait longer for each other than the default timeouts allow.
    const database = { max: INPUTS, timeouts: { connectMs: 60_000, lockMs: 60_000 } };
    const opened = await Promise.all(
      Array.from({ length: BACKENDS }, (_, n) =>
        openBackend({ ...environment.settings(`backend-${n}`), database }),
      ),
    );
    const backends = opened.map((backend): PaymentBackend => ({
      ...backend,
      payments: { providers: [sandbox.provider()], publicUrl: "http://127.0.0.1:9" },
      env: systemEnv,
      onError: (error, { during }) => figures.report("inputs that failed", [`${during}: ${String(error)}`]),
    }));
    try {
      for (let n = 0; n < times; n += AT_ONCE) {
        const lot = Array.from({ length: Math.min(AT_ONCE, times - n) }, (_, at) => n + at);
        await Promise.all(lot.map((each) => race(environment, backends, { n: each, random, figures })));
        if (n % 40 === 0) figures.print(`${n + lot.length} of ${times}`);
      }
    } finally {
      await Promise.all(opened.map((backend) => backend.close()));
      await sandbox.close();
    }
    figures.report("findings of the history check", environment.checkHistory().findings);
    return figures.list();
  });
}

interface Race {
  readonly n: number;
  readonly random: () => number;
  readonly figures: ReturnType<typeof createFigures>;
}

async function race(
  environment: TurnEnvironment,
  backends: readonly PaymentBackend[],
  { n, random, figures }: Race,
): Promise<void> {
  const asked = await ask(environment, n % 3 === 0);
  const { ref } = asked;
  const { id } = asked.payment;
  const inputs = Array.from({ length: INPUTS }, async (_, at) => {
    // Each kind has a head start at times. Otherwise the kinds with the fewest queries would always win.
    const kind = KINDS[at === 0 ? n % KINDS.length : Math.floor(random() * KINDS.length)] ?? "due";
    const by = backends[Math.floor(random() * backends.length)] as PaymentBackend;
    if (at > 0) await sleep(random() * LONGEST_MS);
    return apply(by, asked, kind);
  });
  for (const settled of await Promise.allSettled(inputs))
    if (settled.status === "rejected") figures.report("inputs that failed", [String(settled.reason)]);
  figures.add("payments");
  figures.add("inputs", inputs.length);
  const payment = await paymentsOf(environment.backend.store).get(ref, id);
  if (payment === null) throw new Error(`payment ${id} does not exist`);
  const { events } = await environment.checkSession(ref);
  await checkPath(environment.backend, ref, payment, events, figures);
  const added = events.filter((event) => event.type === "message.add" && event.resumes === id).length;
  if (added !== (CONTINUING.includes(payment.status) ? 1 : 0))
    figures.report("outcomes without exactly one message", [`${id}: ${added} messages`]);
  figures.add(payment.status);
}

async function apply(backend: PaymentBackend, { ref, payment, token }: Asked, kind: (typeof KINDS)[number]) {
  const { id, orderNo } = payment;
  const { signal } = new AbortController();
  if (kind === "open") return openCheckout(backend, token, { signal });
  if (kind === "cancel") return cancelPayment(backend, ref, { payment: id, userId: ACTOR.user });
  if (kind === "due") return checkDuePayments(backend);
  const isPaid = kind === "succeeded" || kind === "answer";
  const report: ProviderReport = {
    orderNo,
    status: isPaid || kind === "wrong" ? "succeeded" : kind,
    paid: isPaid ? MONEY : kind === "wrong" ? { ...MONEY, amount: 1 } : kind === "refunded" ? MONEY : null,
    providerRef: null,
    // The answer to a query has the event of the notification.
    event: `${orderNo}:${isPaid ? "succeeded" : kind}`,
    reason: null,
  };
  const evidence = kind === "answer" ? null : Buffer.from(report.event);
  return applyReport(backend, report, { provider: "sandbox", evidence });
}

/** Commits a payment as a worker does. */
async function ask(environment: TurnEnvironment, isOverdue: boolean): Promise<Asked> {
  const ref = await environment.createSession();
  const id = `pay_${randomUUID()}`;
  const token = randomBytes(32).toString("base64url");
  const order = {
    id,
    orderNo: `TS${randomBytes(12).toString("hex").toUpperCase()}`,
    tokenHash: createHash("sha256").update(token).digest("hex"),
    ...MONEY,
    provider: "sandbox",
    description: "Deposit",
    continues: true,
    expiresMs: isOverdue ? 1 : 3_600_000,
  };
  const payment = await environment.backend.store.transaction(async (tx) => {
    await tx.interactions.request(ref, { id, kind: "payment", ...PLACE, request: {} });
    return createOrder(tx, ref, order);
  });
  return { ref, payment, token };
}

export const paymentRaces: Scenario = {
  promise: 16,
  about: "applies notifications, answers, openings, cancellations and expiries of a payment at the same time",
  times: 1_000,
  short: 40,
  run,
};
