/**
 * `webhookKill` tests promise 28 for webhooks: every committed event is delivered at least once, under one id. Workers
 * are killed with -9 while they send: before the receiver responds, and right after its response, which the worker could
 * not record.
 */
import { decideApproval, type SessionRef } from "@turnstream/server";
import { runSql } from "@turnstream/testkit/servers/run-sql.ts";
import { until } from "@turnstream/testkit/util/until.ts";
import { approvalPlan, createDecision, waitForApprovals } from "./approval-turn.ts";
import type { Figure, RunOptions, Scenario } from "./scenario.ts";
import { ACTOR, TurnEnvironment } from "./turn-environment.ts";
import { type IncomingWebhook, WebhookReceiver } from "./webhook-receiver.ts";

const ABOUT = "kills a worker with -9 while it sends a webhook: every committed event arrives, under one id";
const WORKERS = 2;
const REPLACE_MS = 250;
/** Each turn requests an approval, gets a decision, and ends. */
const EVENTS = 3;
/** How long a killed worker's deliveries stay leased, plus the time of a busy machine. */
const REDELIVERY_MS = 150_000;

/** When the worker dies: instead of the response, or right after it. */
type Moment = "before" | "after";

class Killer {
  readonly killed = new Map<string, number>();
  readonly counts: Record<Moment, number> = { before: 0, after: 0 };
  readonly #findEnvironment: () => TurnEnvironment;
  #moment: Moment | null = null;

  constructor(findEnvironment: () => TurnEnvironment) {
    this.#findEnvironment = findEnvironment;
  }

  /** Kills the worker that sends the next webhook. */
  async killAt(moment: Moment): Promise<void> {
    this.#moment = moment;
    await until("a worker to be killed while it sends", () => this.#moment === null, { everyMs: 5 });
  }

  /** @returns true if the worker was killed instead of getting the response */
  onRequest = (webhook: IncomingWebhook): boolean => this.#kill("before", webhook);
  onAccepted = (webhook: IncomingWebhook): void => void this.#kill("after", webhook);

  #kill(moment: Moment, { id, sender }: IncomingWebhook): boolean {
    if (this.#moment !== moment) return false;
    const victim = this.#findEnvironment().workers.find(
      ({ name, hasExited }) => name === sender && !hasExited,
    );
    if (victim === undefined) return false;
    // In the same call that received the request or wrote the response: the worker has no time to do more.
    victim.signal("SIGKILL");
    this.#moment = null;
    this.counts[moment]++;
    this.killed.set(id, performance.now());
    return true;
  }
}

async function run({ times, progress }: RunOptions): Promise<Figure[]> {
  let environment: TurnEnvironment | null = null;
  const killer = new Killer(() => environment as TurnEnvironment);
  const delays = new Map<string, number>();
  const receiver = await WebhookReceiver.start({
    onRequest: (webhook) => !killer.onRequest(webhook),
    onAccepted: (webhook) => {
      const killedAt = killer.killed.get(webhook.id);
      if (killedAt !== undefined) delays.set(webhook.id, performance.now() - killedAt);
      killer.onAccepted(webhook);
    },
  });
  try {
    return await TurnEnvironment.use(async (started) => {
      environment = started;
      const { webhooks } = started.backend.store;
      const { secret } = await webhooks.create(ACTOR.tenant, { url: `http://${receiver.place}/hooks` });
      receiver.trust(secret);
      const settings = { asks: true, receiver: receiver.place };
      started.keepWorkers(WORKERS, settings);
      // Replaces killed workers, and those that were too slow for their lease.
      const replacing = setInterval(() => started.keepWorkers(WORKERS, settings), REPLACE_MS);
      try {
        const refs: SessionRef[] = [];
        for (let n = 1; n <= times; n++) {
          refs.push(await killOnce(started, killer, n % 2 === 1 ? "before" : "after"));
          progress(`${n} of ${times}: ${receiver.accepted.size} events accepted`);
        }
        await Promise.all(refs.map((ref) => started.untilIdle(ref)));
        await waitForDeliveries(started);
      } finally {
        clearInterval(replacing);
      }
      return readFigures(started, receiver, { times, killer, delays });
    });
  } finally {
    await receiver.close();
  }
}

/** Starts a turn and kills the worker that sends one of its webhooks. */
async function killOnce(environment: TurnEnvironment, killer: Killer, moment: Moment): Promise<SessionRef> {
  const isReady = () => environment.workers.some((worker) => worker.isReady && !worker.hasExited);
  await until("a worker", isReady);
  const ref = await environment.createSession();
  const killed = killer.killAt(moment);
  // The failure is reported where `killed` is awaited.
  killed.catch(() => undefined);
  await environment.send(ref, approvalPlan(ref.session, 1, 300));
  const [asked] = await waitForApprovals(environment, ref, 1);
  if (asked === undefined) throw new Error(`${ref.session} has no approval`);
  await decideApproval(environment.backend, ref, createDecision(asked, "reject", ACTOR.user));
  await killed;
  return ref;
}

async function waitForDeliveries({ backend }: TurnEnvironment): Promise<void> {
  const isComplete = async () =>
    (await runSql(backend.databaseUrl, "select 1 from webhook_deliveries where state = 'pending'")).length ===
    0;
  await until("every delivery to end", isComplete, { timeoutMs: REDELIVERY_MS });
}

async function readFigures(
  { backend }: TurnEnvironment,
  receiver: WebhookReceiver,
  found: {
    readonly times: number;
    readonly killer: Killer;
    readonly delays: ReadonlyMap<string, number>;
  },
): Promise<Figure[]> {
  const { times, killer, delays } = found;
  const rows = await runSql(backend.databaseUrl, "select id, state from webhook_deliveries");
  const committed = new Set(rows.map((row) => String(row["id"])));
  const bodies = [...receiver.accepted.values()];
  return [
    { figure: "kills before the response", value: killer.counts.before, exactly: Math.ceil(times / 2) },
    { figure: "kills after the response", value: killer.counts.after, exactly: Math.floor(times / 2) },
    { figure: "committed events", value: committed.size, exactly: times * EVENTS },
    {
      figure: "committed events that never arrived",
      value: [...committed].filter((id) => !receiver.accepted.has(id)).length,
      exactly: 0,
    },
    {
      figure: "events that arrived and were not committed",
      value: [...receiver.accepted.keys()].filter((id) => !committed.has(id)).length,
      exactly: 0,
    },
    {
      figure: "deliveries that are not recorded as delivered",
      value: rows.filter((row) => row["state"] !== "delivered").length,
      exactly: 0,
    },
    {
      figure: "events that arrived more than once, under one id",
      value: bodies.filter((each) => each.length > 1).length,
      atLeast: Math.floor(times / 4),
    },
    {
      figure: "ids with different bodies",
      value: bodies.filter((each) => new Set(each).size > 1).length,
      exactly: 0,
    },
    { figure: "wrong signatures", value: receiver.unverified, exactly: 0 },
    // An event waits for one lease per killed worker that had taken it, so this grows with the number of kills.
    {
      figure: "longest time from a kill to the next arrival of its event",
      value: Math.round(Math.max(0, ...delays.values())),
      unit: "ms",
    },
  ];
}

export const webhookKill: Scenario = { promise: 28, about: ABOUT, times: 20, short: 4, run };
