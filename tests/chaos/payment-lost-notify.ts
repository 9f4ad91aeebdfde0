/**
 * `paymentLostNotify` tests promise 18: a lost notification is found. The provider sends no notification at all. Users
 * pay, or fail to pay, at random moments after they opened the checkout, and workers find the results by asking.
 *
 * Invariant: the first question after the result brings the right status, and the turn that follows reads it.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { runSql } from "@turnstream/testkit/servers/run-sql.ts";
import { until } from "@turnstream/testkit/util/until.ts";
import { Figures } from "./figures.ts";
import { checkPayment, PAYMENT_CHECKS } from "./payment-check.ts";
import { createPaymentPlan, PaymentEnvironment } from "./payment-environment.ts";
import type { Figure, RunOptions, Scenario } from "./scenario.ts";

/** The first polling period. It doubles with every question. */
const QUERY_AFTER_MS = 1_000;
/** A worker looks every second for payments that are due, and then asks. */
const LATEST_MS = 3_000;
const CONCURRENCY = 10;

async function run({ times, random, progress }: RunOptions): Promise<Figure[]> {
  const figures = createFigures(times, progress);
  return PaymentEnvironment.use({ queryAfterMs: QUERY_AFTER_MS }, async (environment) => {
    await environment.sandbox.setBehavior({ notify: "never" });
    for (let n = 0; n < times; n += CONCURRENCY) {
      await environment.keepProcesses();
      const names = Array.from({ length: Math.min(CONCURRENCY, times - n) }, (_, at) => `l${n + at}`);
      await Promise.all(names.map((name) => playOne(environment, name, random, figures)));
      figures.print(`${n + names.length} of ${times}`);
    }
    for (const { notified } of await environment.sandbox.orders())
      figures.add("notifications that were sent", notified.length);
    figures.report("findings of the history check", environment.turns.checkHistory().findings);
    return figures.list();
  });
}

function createFigures(times: number, progress: RunOptions["progress"]) {
  return new Figures(progress, {
    "payments whose notification was lost": { exactly: times },
    succeeded: { atLeast: 1 },
    failed: {},
    "notifications that were sent": { exactly: 0 },
    "most questions until the status was right": { atMost: 1 },
    "slowest right status after the question was due": { atMost: LATEST_MS, unit: "ms" },
    ...PAYMENT_CHECKS,
    "findings of the history check": { exactly: 0 },
  });
}

async function playOne(
  environment: PaymentEnvironment,
  name: string,
  random: () => number,
  figures: ReturnType<typeof createFigures>,
): Promise<void> {
  const { turns, sandbox } = environment;
  const amount = 1 + Math.floor(random() * 100_000);
  const ending = random() < 0.7 ? "succeeded" : "failed";
  const plan = createPaymentPlan(name, amount);
  const ref = await turns.createSession();
  const follower = turns.follow(ref);
  await follower.untilEnded(await turns.send(ref, plan));
  const { id, orderNo } = await environment.readPayment(ref);
  await environment.openCheckout(environment.gateway, await environment.readToken(ref, id));
  // The user takes a while to pay, so that some results come after several questions.
  await sleep(random() * 3 * QUERY_AFTER_MS);
  await (ending === "succeeded" ? sandbox.pay(orderNo) : sandbox.fail(orderNo));
  const paidAt = Date.now();
  const before = await readCheck(environment, orderNo);
  const isRight = async () => (await environment.readPayment(ref)).status === ending;
  await until(`${id} to be ${ending}`, isRight, { everyMs: 20 });
  const { changedAt } = await environment.readPayment(ref);
  const after = await readCheck(environment, orderNo);
  await follower.untilEnded(`after.${id}`);
  await turns.untilIdle(ref);
  await follower.stop();
  const expected = { amount, ending, isPaidLate: false, final: plan.final } as const;
  await checkPayment(turns, ref, await environment.findOrder(orderNo), expected, figures);
  figures.add("payments whose notification was lost");
  figures.add(ending);
  figures.raise("most questions until the status was right", Math.log2(after.everyMs / before.everyMs));
  const lateMs = (changedAt ?? 0) - Math.max(before.nextAt, paidAt);
  figures.raise("slowest right status after the question was due", lateMs);
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
