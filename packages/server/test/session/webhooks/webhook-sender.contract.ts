/** The contract of sending webhooks: real HTTP receivers that fail, hang or redirect, with a clock that tests advance. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { WebhookSender } from "../../../src/session/webhooks/webhook-sender.ts";
import { type WebhookOptions, webhookOptions } from "../../../src/session/webhooks/webhook-options.ts";
import type { SessionRef } from "../../../src/util/refs.ts";
import { systemEnv } from "../../../src/util/env.ts";
import { type Harness, type MakeStore, newSession, unique } from "../../store/harness.ts";
import { type Receiver, startReceiver } from "./receiver.ts";

const waitUntil = (isTrue: () => boolean | Promise<boolean>) => vi.waitUntil(isTrue, { timeout: 60_000 });

export function webhookSenderContract(name: string, makeStore: MakeStore): void {
  let harness: Harness;
  let ref: SessionRef;
  let receivers: Receiver[];
  let senders: WebhookSender[];
  let errors: unknown[];
  beforeEach(async () => {
    harness = await makeStore();
    ({ ref } = await newSession(harness.store));
    [receivers, senders, errors] = [[], [], []];
  });
  afterEach(async () => {
    for (const sender of senders) await sender.close();
    for (const receiver of receivers) await receiver[Symbol.asyncDispose]();
    await harness.store.close();
    expect(errors).toEqual([]);
  });

  const open = async (of: SessionRef = ref) => {
    const receiver = await startReceiver();
    receivers.push(receiver);
    const created = await harness.store.webhooks.create(of.tenant, { url: `${receiver.origin}/hooks` });
    receiver.secret = created.secret;
    return { receiver, endpoint: created.endpoint.id };
  };
  const newSender = (options: WebhookOptions = {}) => {
    const allow = receivers.map(({ place }) => place);
    const sender = new WebhookSender(
      { store: harness.store, env: systemEnv, onError: (error) => errors.push(error) },
      webhookOptions.parse({ allow, ...options }),
    );
    senders.push(sender);
    return sender;
  };
  const emit = (of: SessionRef = ref) =>
    harness.store.webhooks.enqueue(of, {
      type: "turn.ended",
      key: unique("event"),
      data: { turn_id: "t1", state: "end_turn" },
    });
  const list = async (endpoint: string, of: SessionRef = ref) =>
    (await harness.store.webhooks.deliveries(of.tenant, endpoint, { limit: 50 })) ?? [];
  /** Polls until the endpoint has no delivery that is due or being sent. */
  const settled = async (sender: WebhookSender, endpoint: string, attempts: number) => {
    await sender.poll();
    await waitUntil(async () =>
      (await list(endpoint)).every((one) => one.attempts >= attempts && (one.status ?? one.error) !== null),
    );
  };

  test(`U13 ${name}: a receiver that is down for a minute gets every event once, under its id`, async () => {
    const { receiver, endpoint } = await open();
    const sender = newSender();
    receiver.status = 503;
    for (let n = 0; n < 3; n += 1) await emit();
    await settled(sender, endpoint, 1);
    const tried = receiver.asked.map(({ headers }) => headers["webhook-id"]);
    expect(new Set(tried).size).toBe(3);
    expect(receiver.received).toEqual([]);
    await harness.wait(60_000);
    receiver.status = 200;
    await sender.poll();
    await waitUntil(() => receiver.received.length === 3);
    await waitUntil(async () => (await list(endpoint)).every(({ state }) => state === "delivered"));
    expect(receiver.received.map(({ id }) => id).toSorted()).toEqual(tried.map(String).toSorted());
    for (const { isVerified, body } of receiver.received) {
      expect(isVerified).toBe(true);
      expect(body).toMatchObject({ type: "turn.ended", version: 1, data: { session_id: ref.session } });
    }
    await harness.wait(600_000);
    await sender.poll();
    expect(receiver.asked).toHaveLength(6);
  });

  test(`U13 ${name}: after the last attempt a delivery is failed, and a replay sends it again`, async () => {
    const { receiver, endpoint } = await open();
    const sender = newSender({ maxAttempts: 2 });
    receiver.status = 500;
    await emit();
    await settled(sender, endpoint, 1);
    await harness.wait(6_000);
    await settled(sender, endpoint, 2);
    await waitUntil(async () => (await list(endpoint))[0]?.state === "failed");
    const [failed] = await list(endpoint);
    expect(failed).toMatchObject({ attempts: 2, status: 500, error: null });
    receiver.status = 200;
    await harness.wait(600_000);
    await sender.poll();
    expect(receiver.received).toEqual([]);
    await harness.store.webhooks.replay(ref.tenant, endpoint, failed?.id ?? "");
    await sender.poll();
    await waitUntil(() => receiver.received.length === 1);
    expect(receiver.received[0]?.id).toBe(failed?.id);
  });

  test(`U13 ${name}: a receiver that never responds delays no other`, async () => {
    const other = (await newSession(harness.store)).ref;
    const dead = await open();
    const alive = await open(other);
    dead.receiver.status = null;
    const sender = newSender({ maxConcurrentPerEndpoint: 2 });
    for (let n = 0; n < 10; n += 1) await emit();
    await sender.poll();
    await waitUntil(() => dead.receiver.asked.length === 2);
    for (let n = 0; n < 5; n += 1) await emit(other);
    await sender.poll();
    // Each delivered one frees a slot for the next without another poll.
    await waitUntil(() => alive.receiver.received.length === 5);
    // Another process may not exceed the limit of the endpoint either.
    await newSender({ maxConcurrentPerEndpoint: 2 }).poll();
    expect(dead.receiver.asked).toHaveLength(2);
  });

  test(`U13 ${name}: one slot is enough for all deliveries, one after the other`, async () => {
    const { receiver } = await open();
    const sender = newSender({ maxConcurrent: 1 });
    for (let n = 0; n < 5; n += 1) await emit();
    await sender.poll();
    await waitUntil(() => receiver.received.length === 5);
    expect(receiver.asked).toHaveLength(5);
  });

  test(`U13 ${name}: internal addresses are refused unless allowed, and redirects are not followed`, async () => {
    const { receiver, endpoint } = await open();
    await emit();
    const closed = newSender({ allow: [] });
    await closed.poll();
    await waitUntil(async () => (await list(endpoint))[0]?.state === "failed");
    expect((await list(endpoint))[0]).toMatchObject({ attempts: 1, status: null, error: "BLOCKED" });
    expect(receiver.asked).toEqual([]);
    receiver.status = 302;
    await harness.store.webhooks.replay(ref.tenant, endpoint, (await list(endpoint))[0]?.id ?? "");
    const sender = newSender();
    await sender.poll();
    await waitUntil(async () => (await list(endpoint))[0]?.error === "TOO_MANY_REDIRECTS");
    expect(receiver.asked.map(({ path }) => path)).toEqual(["/hooks"]);
  });

  test(`U13 ${name}: closing aborts requests, and another process sends them at once`, async () => {
    const { receiver, endpoint } = await open();
    receiver.status = null;
    await emit();
    const first = newSender();
    await first.poll();
    await waitUntil(() => receiver.asked.length === 1);
    await first.close();
    receiver.status = 200;
    await newSender().poll();
    await waitUntil(async () => (await list(endpoint))[0]?.state === "delivered");
    expect(receiver.received).toHaveLength(1);
  });
}
