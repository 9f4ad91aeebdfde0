/**
 * `webhookOutage` tests promise 28 for a product that is notified while no client is connected: a user sends a message and
 * leaves, and the product's receiver is down for a minute. Afterwards the product learns of the approval that waits,
 * decides it over HTTP, and learns how the turn ended. Gateway and worker are processes.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Endpoint } from "@turnstream/conformance/clients/connections.ts";
import type { SessionRef } from "@turnstream/server";
import { runSql } from "@turnstream/testkit/servers/run-sql.ts";
import { until } from "@turnstream/testkit/util/until.ts";
import { approvalPlan } from "./approval-turn.ts";
import { GatewayEnvironment } from "./gateway-environment.ts";
import type { Figure, RunOptions, Scenario } from "./scenario.ts";
import { WebhookReceiver } from "./webhook-receiver.ts";

const ABOUT = "stops the receiver of webhooks for a minute while no client is connected: every event arrives";
const SESSIONS = 5;
/** The approval is requested and decided, and the turn ends. */
const EVENTS = ["interaction.requested", "interaction.updated", "turn.ended"];
const DOWN_MS = 60_000;
/** For a run with one outage, as in CI. The second attempt comes after 2.5 to 5 seconds. */
const SHORT_DOWN_MS = 2_000;
/** Delays double, so the next attempt can be as far away as the outage was long. */
const ARRIVAL_MS = 150_000;

interface Round {
  readonly environment: GatewayEnvironment;
  readonly endpoint: Endpoint;
  readonly receiver: WebhookReceiver;
}

async function run({ times, progress }: RunOptions): Promise<Figure[]> {
  const receiver = await WebhookReceiver.start();
  try {
    return await GatewayEnvironment.use(async (environment) => {
      const endpoint = environment.endpoint(await environment.launchGateway());
      await environment.turns.launchReadyWorkers(1, { asks: true, receiver: receiver.place });
      const { secret } = await call<{ secret: string }>(endpoint, "POST", "/webhooks", {
        url: `http://${receiver.place}/hooks`,
      });
      receiver.trust(secret);
      let longestMs = 0;
      for (let n = 1; n <= times; n++) {
        const downMs = times === 1 ? SHORT_DOWN_MS : DOWN_MS;
        const tookMs = await sufferOutage({ environment, endpoint, receiver }, downMs);
        longestMs = Math.max(longestMs, tookMs);
        progress(`${n} of ${times}: the last event arrived ${tookMs} ms after the outage`);
      }
      return readFigures(environment, receiver, { times, longestMs });
    });
  } finally {
    await receiver.close();
  }
}

/** @returns how long after the outage the last request arrived */
async function sufferOutage(round: Round, downMs: number): Promise<number> {
  const { environment, endpoint, receiver } = round;
  const refs = await Promise.all(Array.from({ length: SESSIONS }, () => environment.createSession()));
  const downSince = performance.now();
  await receiver.close();
  await Promise.all(refs.map((ref) => sendAndLeave(endpoint, ref)));
  const isTried = async () => (await countTried(environment, refs)) === SESSIONS;
  await until("a failed attempt for every approval", isTried, { timeoutMs: ARRIVAL_MS });
  await sleep(Math.max(0, downMs - (performance.now() - downSince)));
  await receiver.open();
  const upSince = performance.now();
  await untilReceived(round, refs, EVENTS.slice(0, 1));
  const tookMs = Math.round(performance.now() - upSince);
  const asked = new Set(refs.map(({ session }) => session));
  for (const { type, data } of receiver.bodies)
    if (type === "interaction.requested" && asked.has(data.session_id))
      await call(
        endpoint,
        "POST",
        `/sessions/${data.session_id}/interactions/${String(data["interaction_id"])}/decide`,
        { decision: "reject" },
      );
  await untilReceived(round, refs, EVENTS);
  return tookMs;
}

/** Sends a message as a page does, and disconnects as soon as the server has accepted it. */
async function sendAndLeave({ url, headers }: Endpoint, { session }: SessionRef): Promise<void> {
  const page = new AbortController();
  const text = JSON.stringify(approvalPlan(session, 1, 300));
  const response = await fetch(`${url}/api/v1/sessions/${session}/messages`, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify({ text, stream: true }),
    signal: page.signal,
  });
  if (!response.ok) throw new Error(`the message was refused: ${response.status} ${await response.text()}`);
  page.abort();
}

async function call<Reply>(
  { url, headers }: Endpoint,
  method: string,
  path: string,
  body: object,
): Promise<Reply> {
  const response = await fetch(`${url}/api/v1${path}`, {
    method,
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as Reply;
}

/** Counts the sessions of a round with a webhook that could not be delivered yet. */
async function countTried({ turns }: GatewayEnvironment, refs: readonly SessionRef[]): Promise<number> {
  const rows = await runSql(
    turns.backend.databaseUrl,
    "select distinct session_id from webhook_deliveries where state = 'pending' and error = 'UNREACHABLE'",
  );
  const tried = new Set(rows.map((row) => String(row["session_id"])));
  return refs.filter(({ session }) => tried.has(session)).length;
}

async function untilReceived(
  { receiver }: Round,
  refs: readonly SessionRef[],
  types: readonly string[],
): Promise<void> {
  const isReceived = () => {
    const received = new Set(receiver.bodies.map(({ type, data }) => `${data.session_id} ${type}`));
    return refs.every(({ session }) => types.every((type) => received.has(`${session} ${type}`)));
  };
  await until(`${types.join(", ")} of every session`, isReceived, { timeoutMs: ARRIVAL_MS, everyMs: 20 });
}

async function readFigures(
  { turns, failures }: GatewayEnvironment,
  receiver: WebhookReceiver,
  { times, longestMs }: { readonly times: number; readonly longestMs: number },
): Promise<Figure[]> {
  const { databaseUrl } = turns.backend;
  const isComplete = async () =>
    (await runSql(databaseUrl, "select 1 from webhook_deliveries where state = 'pending'")).length === 0;
  await until("every result to be recorded", isComplete);
  const rows = await runSql(databaseUrl, "select id, attempts, state from webhook_deliveries");
  return [
    { figure: "committed events", value: rows.length, exactly: times * SESSIONS * EVENTS.length },
    {
      figure: "events sent more than once until they arrived",
      value: rows.filter((row) => Number(row["attempts"]) > 1).length,
      atLeast: times * SESSIONS,
    },
    {
      figure: "committed events that never arrived",
      value: rows.filter((row) => !receiver.accepted.has(String(row["id"]))).length,
      exactly: 0,
    },
    {
      figure: "events that arrived more than once, under one id",
      value: [...receiver.accepted.values()].filter((each) => each.length > 1).length,
    },
    {
      figure: "deliveries that are not recorded as delivered",
      value: rows.filter((row) => row["state"] !== "delivered").length,
      exactly: 0,
    },
    { figure: "wrong signatures", value: receiver.unverified, exactly: 0 },
    { figure: "errors of gateways", value: failures.length, exactly: 0 },
    { figure: "longest time from the end of an outage to the last request", value: longestMs, unit: "ms" },
  ];
}

export const webhookOutage: Scenario = {
  promise: 28,
  about: ABOUT,
  times: 3,
  short: 1,
  isInEveryPush: true,
  run,
};
