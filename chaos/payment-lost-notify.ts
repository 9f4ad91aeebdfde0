/**
 * `paymentLostNotify` tests promise 18: a lost notification is found. The provider sends no notification at all. Users
 * pay, or fail to pay, at random moments after they opened the checkout, and workers find the results by asking.
 *
 * Invariant: the first question after the result brings the right status, and the turn that follows reads it.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { runSql } from "@turnstream/testkit/servers/run-sql.ts";
import { until } from "@turnstream/testkit/util/until.ts";
import {
  checkPayment,
  type Ending,
  findingFigures,
  noFindings,
  type PaymentFindings,
} from "./payment-check.ts";
import { PaymentEnvironment } from "./payment-environment.ts";
import type { Figure, RunOptions, Scenario } from "./scenario.ts";

/** The first polling period. It doubles with every question. */
const QUERY_AFTER_MS = 1_000;
/** A worker looks every second for payments that are due, and then asks. */
const LATEST_MS = 3_000;
const CONCURRENCY = 10;

interface Found extends PaymentFindings {
  succeeded: number;
  failed: number;
  mostQueries: number;
  slowestMs: number;
}

async function run({ times, random, progress }: RunOptions): Promise<Figure[]> {
  const found: Found = {
    succeeded: 0,
    failed: 0,
    mostQueries: 0,
    slowestMs: 0,
    ...noFindings(),
  };
  return PaymentEnvironment.use({ queryAfterMs: QUERY_AFTER_MS }, async (environment) => {
    await environment.sandbox.setBehavior({ notify: "never" });
    for (let n = 0; n < times; n += CONCURRENCY) {
      await environment.keepProcesses();
      const batch = Array.from({ length: Math.min(CONCURRENCY, times - n) }, (_, at) =>
        playOne(environment, `l${n + at}`, random, found),
      );
      await Promise.all(batch);
      progress(`${Math.min(n + CONCURRENCY, times)} of ${times}: ${JSON.stringify(found)}`.slice(0, 400));
    }
    const orders = await environment.sandbox.orders();
    const notified = orders.reduce((sum, order) => sum + order.notified.length, 0);
    return [
      {
        figure: "payments whose notification was lost",
        value: found.succeeded + found.failed,
        exactly: times,
      },
      { figure: "succeeded", value: found.succeeded, atLeast: 1 },
      { figure: "failed", value: found.failed },
      { figure: "notifications that were sent", value: notified, exactly: 0 },
      { figure: "most questions until the status was right", value: found.mostQueries, atMost: 1 },
      {
        figure: "slowest right status after the question was due",
        value: Math.round(found.slowestMs),
        atMost: LATEST_MS,
        unit: "ms",
      },
      ...findingFigures(found),
    ];
  });
}

async function playOne(
  environment: PaymentEnvironment,
  name: string,
  random: () => number,
  found: Found,
): Promise<void> {
  const { turns, sandbox } = environment;
  const amount = 1 + Math.floor(random() * 100_000);
  const ending: Ending = random() < 0.7 ? "succeeded" : "failed";
  const pauseMs = random() * 3 * QUERY_AFTER_MS;
  const calls = [{ tool: "request_payment", amount }] as const;
  const plan = { name, steps: [{ think: "", text: "", calls }], final: `Done with ${name}`, paceMs: 1 };
  const ref = await turns.createSession();
  const follower = turns.follow(ref);
  await follower.untilEnded(await turns.send(ref, plan));
  const [payment] = await turns.backend.store.payments.list(ref);
  if (payment === undefined) throw new Error(`${ref.session} has no payment`);
  await environment.openCheckout(environment.gateway, await environment.readToken(ref, payment.id));
  // The user takes a while to pay, so that some results come after several questions.
  await sleep(pauseMs);
  await (ending === "succeeded" ? sandbox.pay(payment.orderNo) : sandbox.fail(payment.orderNo));
  const paidAt = Date.now();
  const before = await readCheck(environment, payment.orderNo);
  const isRight = async () => (await environment.readPayment(ref, payment.id)).status === ending;
  await until(`${payment.id} to be ${ending}`, isRight, { everyMs: 20 });
  const { changedAt } = await environment.readPayment(ref, payment.id);
  const after = await readCheck(environment, payment.orderNo);
  await follower.untilEnded(`after.${payment.id}`);
  await turns.untilIdle(ref);
  await follower.stop();
  const order = (await sandbox.orders()).find(({ orderNo }) => orderNo === payment.orderNo) ?? null;
  await checkPayment(turns, ref, order, { amount, ending, isPaidLate: false, final: plan.final }, found);
  found[ending]++;
  found.mostQueries = Math.max(found.mostQueries, Math.log2(after.everyMs / before.everyMs));
  found.slowestMs = Math.max(found.slowestMs, (changedAt ?? 0) - Math.max(before.nextAt, paidAt));
}

/** Reads when a worker asks the provider next, and the polling period, which doubles with every question. */
async function readCheck(
  { turns }: PaymentEnvironment,
  orderNo: string,
): Promise<{ readonly everyMs: number; readonly nextAt: number }> {
  const [row] = await runSql(
    turns.backend.databaseUrl,
    `select check_ms::float8 as "everyMs", coalesce(extract(epoch from next_check_at) * 1000, 0)::float8 as "nextAt"
      from payments where order_no = '${orderNo}'`,
  );
  return row as { readonly everyMs: number; readonly nextAt: number };
}

export const paymentLostNotify: Scenario = {
  promise: 18,
  about: "loses every notification of payments: the first question to the provider brings the right status",
  times: 100,
  short: 4,
  run,
};
