/**
 * `paymentKill` tests promises 16, 17 and 28 for payments through real processes: two gateways, two workers, the
 * payment sandbox, PostgreSQL and Redis. A gateway or worker is killed with -9 at every step of a payment, and
 * notifications are lost, late, repeated, reordered and forged.
 */
import { SEED } from "@turnstream/conformance/support/cases.ts";
import { findingFigures, noFindings } from "./payment-check.ts";
import { type Found, MOMENTS, type Moment, PaymentRound } from "./payment-round.ts";
import { PaymentEnvironment } from "./payment-environment.ts";
import type { Figure, RunOptions, Scenario } from "./scenario.ts";

/** Workers ask only when a round makes a payment due, so that the round chooses how a result arrives. */
const QUERY_AFTER_MS = 600_000;

async function run({ times, random, progress }: RunOptions): Promise<Figure[]> {
  const found: Found = {
    kills: Object.fromEntries(MOMENTS.map((moment) => [moment, 0])) as Record<Moment, number>,
    endings: { succeeded: 0, failed: 0, cancelled: 0, expired: 0 },
    between: 0,
    opened: 0,
    flagged: 0,
    disturbed: 0,
    forged: 0,
    accepted: 0,
    ...noFindings(),
  };
  return PaymentEnvironment.use({ queryAfterMs: QUERY_AFTER_MS }, async (environment) => {
    for (let n = 0; n < times; n++) {
      // A short run has only a few moments, and each seed has others.
      const moment = MOMENTS[(n + SEED) % MOMENTS.length] ?? "next turn: started";
      await PaymentRound.run(environment, { name: `p${n}`, moment, random, found });
      const { kills: _, ...rest } = found;
      progress(`${n + 1} of ${times} (${moment}): ${JSON.stringify(rest)}`.slice(0, 400));
    }
    for (const problem of [...found.wrong, ...found.unshown, ...found.turns, ...found.illegal].slice(0, 20))
      progress(problem);
    const orders = (await environment.sandbox.orders()).length;
    const { running, journal } = await environment.turns.countLeftovers();
    return figuresOf(found, { times, orders, running, journal });
  });
}

interface Totals {
  readonly times: number;
  readonly orders: number;
  readonly running: number;
  readonly journal: number;
}

function figuresOf(found: Found, { times, orders, running, journal }: Totals): Figure[] {
  const share = Math.floor((times / MOMENTS.length) * 0.8);
  const committed = MOMENTS.filter((moment) => moment.endsWith(": committed")).length - 1;
  const { succeeded, failed, cancelled, expired } = found.endings;
  return [
    ...MOMENTS.map((moment) => ({
      figure: `kills at ${moment}`,
      value: found.kills[moment],
      atLeast: share,
    })),
    {
      figure: "kills between a commit and the log, or between the log and a commit",
      value: found.between,
      atLeast: Math.floor(share * committed * 0.8),
    },
    { figure: "payments", value: succeeded + failed + cancelled + expired, exactly: times },
    { figure: "succeeded", value: succeeded },
    { figure: "failed", value: failed },
    { figure: "cancelled", value: cancelled },
    { figure: "expired", value: expired },
    { figure: "of these, paid after their expiry and flagged", value: found.flagged },
    { figure: "results whose notification was lost, late, repeated or reordered", value: found.disturbed },
    { figure: "forged notifications", value: found.forged, atLeast: 1 },
    { figure: "forged notifications that were accepted", value: found.accepted, exactly: 0 },
    { figure: "orders at the provider beyond one per payment", value: orders - found.opened, exactly: 0 },
    ...findingFigures(found),
    { figure: "turns left running", value: running, exactly: 0 },
    { figure: "journal rows left", value: journal, exactly: 0 },
  ];
}

export const paymentKill: Scenario = {
  promise: 28,
  about: "kills gateways and workers with -9 at every step of a payment, and disturbs its notifications",
  times: 120,
  short: 2,
  run,
};
