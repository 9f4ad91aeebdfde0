/**
 * `paymentKill` tests promises 16, 17 and 28 for payments through real processes: two gateways, two workers, the
 * payment sandbox, PostgreSQL and Redis. A gateway or worker is killed with -9 at every step of a payment, and
 * notifications are lost, late, repeated, reordered and forged.
 */
import { SEED } from "@turnstream/conformance/support/cases.ts";
import { PaymentEnvironment } from "./payment-environment.ts";
import { createFigures, MOMENTS, PaymentRound } from "./payment-round.ts";
import type { Scenario } from "./scenario.ts";

/** Workers ask only when a round makes a payment due, so that the round chooses how a result arrives. */
const QUERY_AFTER_MS = 600_000;

export const paymentKill: Scenario = {
  promise: 28,
  about: "kills gateways and workers with -9 at every step of a payment, and disturbs its notifications",
  times: 120,
  short: 2,
  run: ({ times, random, progress }) =>
    PaymentEnvironment.use({ queryAfterMs: QUERY_AFTER_MS }, async (environment) => {
      const figures = createFigures(times, progress);
      for (let n = 0; n < times; n++) {
        // A short run has only a few moments, and each seed has others.
        const moment = MOMENTS[(n + SEED) % MOMENTS.length] ?? "next turn: started";
        await PaymentRound.run(environment, { name: `p${n}`, moment, random, figures });
        figures.print(`${n + 1} of ${times} (${moment})`);
      }
      const orders = (await environment.sandbox.orders()).length;
      const { running, journal } = await environment.turns.countLeftovers();
      figures.add("orders at the provider beyond one per payment", orders);
      figures.add("turns left running", running);
      figures.add("journal rows left", journal);
      figures.report("findings of the history check", environment.turns.checkHistory().findings);
      return figures.list();
    }),
};
