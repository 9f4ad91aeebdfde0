/**
 * `webhookKill` tests promise 28 for webhooks: every committed event is delivered at least once, under one id. Workers
 * are killed with -9 while they send: before the receiver responds, and right after its response, which the worker could
 * not record.
 */
import { decideApproval, type SessionRef } from "@turnstream/server";
import { until } from "@turnstream/testkit/util/until.ts";
import { approvalPlan, createDecision, waitForApprovals } from "./approval-turn.ts";
import { Figures } from "./figures.ts";
import type { Figure, RunOptions, Scenario } from "./scenario.ts";
import { ACTOR, TurnEnvironment } from "./turn-environment.ts";
import { checkDeliveries, DELIVERY_CHECKS } from "./webhook-check.ts";
import { type IncomingWebhook, WebhookReceiver } from "./webhook-receiver.ts";

const WORKERS = 2;
const REPLACE_MS = 250;
/** Each turn requests an approval, gets a decision, and ends. */
const EVENTS = 3;
/** When the worker dies: instead of the response, or right after it. */
const MOMENTS = ["kills before the response", "kills after the response"] as const;
type Moment = (typeof MOMENTS)[number];

async function run({ times, progress }: RunOptions): Promise<Figure[]> {
  const figures = new Figures(progress, {
    "kills before the response": { exactly: Math.ceil(times / 2) },
    "kills after the response": { exactly: Math.floor(times / 2) },
    "committed events": { exactly: times * EVENTS },
    "events that arrived more than once": { atLeast: Math.floor(times / 4) },
    ...DELIVERY_CHECKS,
  });
  return TurnEnvironment.use(async (environment) => {
    let aim: Moment | null = null;
    /** @returns true if the worker that sends is killed now, before it has time to do more */
    const kill = (moment: Moment, { sender }: IncomingWebhook): boolean => {
      const victim = environment.readyWorkers.find(({ name }) => name === sender);
      if (aim !== moment || victim === undefined) return false;
      victim.signal("SIGKILL");
      aim = null;
      figures.add(moment);
      return true;
    };
    const receiver = await WebhookReceiver.start({
      onRequest: (webhook) => !kill("kills before the response", webhook),
      onAccepted: (webhook) => void kill("kills after the response", webhook),
    });
    await receiver.subscribe(environment.backend.store, ACTOR.tenant);
    const keepWorkers = () => environment.keepWorkers(WORKERS, { asks: true, receiver: receiver.place });
    // Replaces killed workers, and those that were too slow for their lease.
    const replacing = setInterval(keepWorkers, REPLACE_MS);
    try {
      for (let n = 0; n < times; n++) {
        await until("a worker", () => environment.readyWorkers.length > 0);
        aim = MOMENTS[n % 2] as Moment;
        const ref = await environment.createSession();
        await requestAndDecide(environment, ref);
        await until("a worker to be killed while it sends", () => aim === null, { everyMs: 5 });
        await environment.untilIdle(ref);
        figures.print(`${n + 1} of ${times}`);
      }
      await checkDeliveries(environment, receiver, figures);
    } finally {
      clearInterval(replacing);
      await receiver.close();
    }
    const bodies = [...receiver.accepted.values()];
    figures.add("events that arrived more than once", bodies.filter((each) => each.length > 1).length);
    return figures.list();
  });
}

async function requestAndDecide(environment: TurnEnvironment, ref: SessionRef): Promise<void> {
  await environment.send(ref, approvalPlan(ref.session, 1, 300));
  for (const asked of await waitForApprovals(environment, ref, 1))
    await decideApproval(environment.backend, ref, createDecision(asked, "reject", ACTOR.user));
}

export const webhookKill: Scenario = {
  promise: 28,
  about: "kills a worker with -9 while it sends a webhook: every committed event arrives, under one id",
  times: 20,
  short: 4,
  run,
};
