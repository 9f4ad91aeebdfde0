/**
 * `webhookOutage` tests promise 28 for a product that is notified while no client is connected: users send a message and
 * leave, and the product's receiver is down for a minute. Afterwards the product learns of the approvals that wait,
 * decides them over HTTP, and learns how the turns ended. Gateway and worker are processes.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Endpoint } from "@turnstream/conformance/clients/connections.ts";
import type { SessionRef } from "@turnstream/server";
import { runSql } from "@turnstream/testkit/servers/run-sql.ts";
import { until } from "@turnstream/testkit/util/until.ts";
import { approvalPlan } from "./approval-turn.ts";
import { Figures } from "./figures.ts";
import { GatewayEnvironment } from "./gateway-environment.ts";
import type { Figure, RunOptions, Scenario } from "./scenario.ts";
import { ACTOR, type TurnEnvironment } from "./turn-environment.ts";
import { ARRIVAL_MS, checkDeliveries, DELIVERY_CHECKS } from "./webhook-check.ts";
import { WebhookReceiver } from "./webhook-receiver.ts";

const SESSIONS = 5;
/** The approval is requested and decided, and the turn ends. */
const EVENTS = ["interaction.requested", "interaction.updated", "turn.ended"];
const DOWN_MS = 60_000;
/** For a run with one outage, as in CI. The second attempt comes after 2.5 to 5 seconds. */
const SHORT_DOWN_MS = 2_000;

async function run({ times, progress }: RunOptions): Promise<Figure[]> {
  const figures = new Figures(progress, {
    "committed events": { exactly: times * SESSIONS * EVENTS.length },
    "events sent more than once until they arrived": { atLeast: times * SESSIONS },
    "errors of gateways and workers": { exactly: 0 },
    ...DELIVERY_CHECKS,
  });
  return GatewayEnvironment.use(async (environment) => {
    const { turns } = environment;
    const receiver = await WebhookReceiver.start();
    try {
      const endpoint = environment.endpoint(await environment.launchGateway());
      await turns.launchReadyWorkers(1, { asks: true, receiver: receiver.place });
      await receiver.subscribe(turns.backend.store, ACTOR.tenant);
      for (let n = 1; n <= times; n++) {
        const downSince = performance.now();
        await receiver.close();
        const refs = await Promise.all(Array.from({ length: SESSIONS }, () => turns.createSession()));
        await Promise.all(refs.map((ref) => sendAndLeave(endpoint, ref)));
        await untilTried(turns, refs);
        const downMs = times === 1 ? SHORT_DOWN_MS : DOWN_MS;
        await sleep(Math.max(0, downMs - (performance.now() - downSince)));
        await receiver.open();
        await untilReceived(receiver, refs, EVENTS.slice(0, 1));
        await Promise.all(refs.map((ref) => decide(endpoint, receiver, ref)));
        await untilReceived(receiver, refs, EVENTS);
        figures.print(`${n} of ${times}`);
      }
      await checkDeliveries(turns, receiver, figures);
    } finally {
      await receiver.close();
    }
    const repeated = "select 1 from webhook_deliveries where attempts > 1";
    const rows = await runSql(turns.backend.databaseUrl, repeated);
    figures.add("events sent more than once until they arrived", rows.length);
    figures.report("errors of gateways and workers", environment.failures);
    return figures.list();
  });
}

/** Sends a message as a page does, and disconnects as soon as the server has accepted it. */
async function sendAndLeave(endpoint: Endpoint, { session }: SessionRef): Promise<void> {
  const page = new AbortController();
  const text = JSON.stringify(approvalPlan(session, 1, 300));
  await post(endpoint, `/sessions/${session}/messages`, { text, stream: true }, page.signal);
  page.abort();
}

/** Decides the approval that the receiver was notified of. */
async function decide(
  endpoint: Endpoint,
  { bodies }: WebhookReceiver,
  { session }: SessionRef,
): Promise<void> {
  const asked = bodies.find(({ type, data }) => type === EVENTS[0] && data.session_id === session);
  const path = `/sessions/${session}/interactions/${String(asked?.data["interaction_id"])}/decide`;
  await post(endpoint, path, { decision: "reject" });
}

async function post(
  { url, headers }: Endpoint,
  path: string,
  body: object,
  signal?: AbortSignal,
): Promise<void> {
  const response = await fetch(`${url}/api/v1${path}`, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify(body),
    ...(signal && { signal }),
  });
  if (!response.ok) throw new Error(`POST ${path}: ${response.status} ${await response.text()}`);
}

/** Waits until every session has a webhook that could not be delivered. */
async function untilTried({ backend }: TurnEnvironment, refs: readonly SessionRef[]): Promise<void> {
  const sessions = refs.map(({ session }) => `'${session}'`).join();
  const tried = `select distinct session_id from webhook_deliveries
    where state = 'pending' and error = 'UNREACHABLE' and session_id in (${sessions})`;
  const isTried = async () => (await runSql(backend.databaseUrl, tried)).length === refs.length;
  await until("a failed attempt for every approval", isTried, { timeoutMs: ARRIVAL_MS });
}

async function untilReceived(
  receiver: WebhookReceiver,
  refs: readonly SessionRef[],
  types: readonly string[],
): Promise<void> {
  const isReceived = () => {
    const received = new Set(receiver.bodies.map(({ type, data }) => `${data.session_id} ${type}`));
    return refs.every(({ session }) => types.every((type) => received.has(`${session} ${type}`)));
  };
  await until(`${types.join(", ")} of every session`, isReceived, { timeoutMs: ARRIVAL_MS, everyMs: 20 });
}

export const webhookOutage: Scenario = {
  promise: 28,
  about: "stops the receiver of webhooks for a minute while no client is connected: every event arrives",
  times: 3,
  short: 1,
  run,
};
