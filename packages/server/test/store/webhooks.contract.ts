/** The store contract of webhooks: endpoints, deliveries in the transaction of their change, leases and replays. */
import { expect, test } from "vitest";

import { MAX_ENDPOINTS, type WebhookEvent } from "../../src/store/webhooks.ts";
import type { ClosableStore } from "../../src/store/store.ts";
import { type MakeStore, newSession, newTenant, unique } from "./harness.ts";
import { anInteraction } from "./interactions.contract.ts";
import { suite } from "./suite.ts";

const URL_A = "https://receiver.example/hooks";
const QUERY = { limit: 100, perEndpoint: 100, leaseMs: 60_000 };
const DELIVERED = { delivered: true, status: 200, error: null } as const;

function anEvent(key: string = unique("event"), type: WebhookEvent["type"] = "turn.ended"): WebhookEvent {
  return { type, key, data: { turn_id: "t1", state: "end_turn" } };
}

/** Takes what is due for one endpoint, and leaves the deliveries of other tests alone. */
async function takeOf(store: ClosableStore, endpoint: string, query: Partial<typeof QUERY> = {}) {
  const taken = await store.webhooks.take({ ...QUERY, ...query });
  return taken.filter((delivery) => delivery.endpoint === endpoint);
}

export function webhooksContract(name: string, makeStore: MakeStore): void {
  suite(name, "webhooks", makeStore, (store, advance) => {
    const subscribe = async () => {
      const { actor, ref } = await newSession(store());
      const { endpoint, secret } = await store().webhooks.create(ref.tenant, { url: URL_A });
      return { actor, ref, endpoint, secret };
    };

    test("U13 an endpoint belongs to its tenant, and its secret is returned once", async () => {
      const { ref, endpoint, secret } = await subscribe();
      expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
      expect(endpoint).toMatchObject({ url: URL_A, events: null });
      expect(await store().webhooks.list(ref.tenant)).toEqual([endpoint]);
      expect(JSON.stringify(await store().webhooks.list(ref.tenant))).not.toContain(secret);
      const other = await newTenant(store());
      expect(await store().webhooks.list(other)).toEqual([]);
      expect(await store().webhooks.remove(other, endpoint.id)).toBe(false);
      expect(await store().webhooks.deliveries(other, endpoint.id, { limit: 5 })).toBeNull();
      expect(await store().webhooks.remove(ref.tenant, endpoint.id)).toBe(true);
      expect(await store().webhooks.remove(ref.tenant, endpoint.id)).toBe(false);
      await expect(store().webhooks.create("nowhere", { url: URL_A })).rejects.toMatchObject({
        code: "NOT_FOUND",
      });
    });

    test("U13 a repeated creation with one id returns the same endpoint, and another tenant can't have it", async () => {
      const tenant = await newTenant(store());
      const id = unique("wh");
      const first = await store().webhooks.create(tenant, { id, url: URL_A, events: ["turn.failed"] });
      expect(await store().webhooks.create(tenant, { id, url: URL_A })).toEqual(first);
      for (const [owner, url] of [
        [tenant, "https://other.example/"],
        [await newTenant(store()), URL_A],
      ] as const)
        await expect(store().webhooks.create(owner, { id, url })).rejects.toMatchObject({ code: "EXISTS" });
    });

    test("U13 refuses invalid URLs, events and more endpoints than the maximum", async () => {
      const tenant = await newTenant(store());
      const refused = async (endpoint: object) =>
        expect(store().webhooks.create(tenant, endpoint as never)).rejects.toMatchObject({ code: "INVALID" });
      for (const url of [
        "",
        "ftp://a.example/",
        "https://user:pw@a.example/",
        "not a url",
        "https://a.example/ x",
      ])
        await refused({ url });
      await refused({ url: `https://a.example/${"x".repeat(2_048)}` });
      await refused({ url: URL_A, events: [] });
      await refused({ url: URL_A, events: ["turns"] });
      const many = Array.from({ length: MAX_ENDPOINTS + 2 }, () =>
        store().webhooks.create(tenant, { url: URL_A }),
      );
      const made = (await Promise.allSettled(many)).filter(({ status }) => status === "fulfilled");
      expect(made).toHaveLength(MAX_ENDPOINTS);
      expect(await store().webhooks.list(tenant)).toHaveLength(MAX_ENDPOINTS);
    });

    test("U13 an event is delivered once to each endpoint that subscribes to it", async () => {
      const { actor, ref, endpoint, secret } = await subscribe();
      const failures = await store().webhooks.create(ref.tenant, { url: URL_A, events: ["turn.failed"] });
      const event = anEvent();
      expect(await store().webhooks.enqueue(ref, event)).toBe(1);
      expect(await store().webhooks.enqueue(ref, event)).toBe(0);
      const failed = anEvent(unique("event"), "turn.failed");
      expect(await store().webhooks.enqueue(ref, failed)).toBe(2);
      const [first, second] = await takeOf(store(), endpoint.id);
      expect(first).toMatchObject({ ...ref, user: actor.user, url: URL_A, secret, attempts: 1 });
      expect(first).toMatchObject({ type: event.type, data: event.data });
      const [other] =
        (await store().webhooks.deliveries(ref.tenant, failures.endpoint.id, { limit: 5 })) ?? [];
      // The receivers of one event can recognize it by the same id.
      expect(other?.id).toBe(second?.id);
      expect(first?.id).toMatch(/^msg_[0-9a-f]{32}$/);
      expect(await store().webhooks.enqueue({ ...ref, session: "nowhere" }, anEvent())).toBe(0);
      expect(await store().webhooks.enqueue({ ...ref, tenant: await newTenant(store()) }, anEvent())).toBe(0);
    });

    test("U13 a delivery is added with its change, or not at all", async () => {
      const { ref, endpoint } = await subscribe();
      const fails = store().transaction(async (tx) => {
        await tx.webhooks.enqueue(ref, anEvent());
        throw new Error("rolled back");
      });
      await expect(fails).rejects.toThrow("rolled back");
      expect(await store().webhooks.deliveries(ref.tenant, endpoint.id, { limit: 5 })).toEqual([]);
    });

    test("U13 a delivery is leased to one caller, and again after the lease", async () => {
      const { ref, endpoint } = await subscribe();
      for (let n = 0; n < 3; n += 1) await store().webhooks.enqueue(ref, anEvent());
      const taken = await Promise.all(Array.from({ length: 4 }, () => takeOf(store(), endpoint.id)));
      expect(taken.flat()).toHaveLength(3);
      const [late] = taken.flat();
      if (late === undefined) throw new Error("nothing was taken");
      await advance(90_000);
      const again = await takeOf(store(), endpoint.id);
      expect(again.map(({ attempts }) => attempts)).toEqual([2, 2, 2]);
      // The first caller is too late: the delivery has another claim now.
      expect(await store().webhooks.settle(late, DELIVERED)).toBe(false);
      for (const delivery of again) expect(await store().webhooks.settle(delivery, DELIVERED)).toBe(true);
      await advance(90_000);
      expect(await takeOf(store(), endpoint.id)).toEqual([]);
    });

    test("U13 an endpoint with a long backlog takes no slots from others", async () => {
      const busy = await subscribe();
      const calm = await subscribe();
      for (let n = 0; n < 30; n += 1) await store().webhooks.enqueue(busy.ref, anEvent());
      await store().webhooks.enqueue(calm.ref, anEvent());
      const own = new Set([busy.endpoint.id, calm.endpoint.id]);
      const query = { ...QUERY, perEndpoint: 2 };
      const taken = (await store().webhooks.take(query)).filter(({ endpoint }) => own.has(endpoint));
      expect(taken.map(({ endpoint }) => endpoint).toSorted()).toEqual(
        [busy.endpoint.id, busy.endpoint.id, calm.endpoint.id].toSorted(),
      );
      // Two are being sent, so no further one is given to any process.
      expect(await takeOf(store(), busy.endpoint.id, { perEndpoint: 2 })).toEqual([]);
      const [done] = taken.filter(({ endpoint }) => endpoint === busy.endpoint.id);
      if (done === undefined) throw new Error("nothing was taken");
      await store().webhooks.settle(done, DELIVERED);
      expect(await takeOf(store(), busy.endpoint.id, { perEndpoint: 2 })).toHaveLength(1);
    });

    test("U13 a failed attempt is repeated after its delay, until it counts as failed", async () => {
      const { ref, endpoint } = await subscribe();
      await store().webhooks.enqueue(ref, anEvent());
      const [first] = await takeOf(store(), endpoint.id);
      if (first === undefined) throw new Error("nothing was taken");
      const refused = { delivered: false, status: 503, error: null } as const;
      expect(await store().webhooks.settle(first, { ...refused, retryInMs: 120_000 })).toBe(true);
      expect(await takeOf(store(), endpoint.id)).toEqual([]);
      const list = () => store().webhooks.deliveries(ref.tenant, endpoint.id, { limit: 5 });
      expect(await list()).toMatchObject([{ state: "pending", attempts: 1, status: 503, endedAt: null }]);
      await advance(130_000);
      const [second] = await takeOf(store(), endpoint.id);
      expect(second).toMatchObject({ id: first.id, attempts: 2 });
      if (second === undefined) throw new Error("nothing was taken");
      await store().webhooks.settle(second, {
        delivered: false,
        status: null,
        error: "TIMEOUT",
        retryInMs: null,
      });
      expect(await list()).toMatchObject([
        { id: first.id, state: "failed", attempts: 2, error: "TIMEOUT", nextAttemptAt: null },
      ]);
      await advance(600_000);
      expect(await takeOf(store(), endpoint.id)).toEqual([]);
    });

    test("U13 a replay sends a delivery again under its id", async () => {
      const { ref, endpoint } = await subscribe();
      await store().webhooks.enqueue(ref, anEvent());
      const [first] = await takeOf(store(), endpoint.id);
      if (first === undefined) throw new Error("nothing was taken");
      // It is being sent, so there is nothing to replay.
      expect(await store().webhooks.replay(ref.tenant, endpoint.id, first.id)).toMatchObject({ attempts: 1 });
      expect(await takeOf(store(), endpoint.id)).toEqual([]);
      await store().webhooks.settle(first, DELIVERED);
      expect(await store().webhooks.replay(await newTenant(store()), endpoint.id, first.id)).toBeNull();
      expect(await store().webhooks.replay(ref.tenant, endpoint.id, "msg_0")).toBeNull();
      expect(await store().webhooks.replay(ref.tenant, endpoint.id, first.id)).toMatchObject({
        id: first.id,
        state: "pending",
        attempts: 0,
        endedAt: null,
      });
      expect(await takeOf(store(), endpoint.id)).toMatchObject([{ id: first.id, attempts: 1 }]);
    });

    test("U13 deliveries are listed in pages, and pruned after their retention", async () => {
      const { ref, endpoint } = await subscribe();
      for (let n = 0; n < 5; n += 1) await store().webhooks.enqueue(ref, anEvent());
      const list = (page: object) =>
        store().webhooks.deliveries(ref.tenant, endpoint.id, { limit: 2, ...page });
      const first = (await list({})) ?? [];
      const second = (await list({ before: first[1]?.id })) ?? [];
      const newest = (await list({ limit: 10 })) ?? [];
      expect([...first, ...second]).toEqual(newest.slice(0, 4));
      expect(await list({ before: newest[4]?.id })).toEqual([]);
      expect(await list({ before: "msg_of_another_endpoint" })).toEqual([]);
      const taken = await takeOf(store(), endpoint.id);
      for (const delivery of taken.slice(0, 3)) await store().webhooks.settle(delivery, DELIVERED);
      expect(await list({ limit: 10, state: "delivered" })).toHaveLength(3);
      expect(await list({ limit: 10, state: "failed" })).toEqual([]);
      const old = { olderThanMs: 3_600_000, limit: 1_000 };
      await store().webhooks.prune(old);
      expect(await list({ limit: 10 })).toHaveLength(5);
      await advance(3_700_000);
      expect(await store().webhooks.prune({ ...old, limit: 1 })).toBe(1);
      await store().webhooks.prune(old);
      expect(await list({ limit: 10 })).toMatchObject([{ state: "pending" }, { state: "pending" }]);
    });

    test("U13 deliveries are erased with their session, user, endpoint and tenant", async () => {
      const { actor, ref, endpoint } = await subscribe();
      const list = () => store().webhooks.deliveries(ref.tenant, endpoint.id, { limit: 5 });
      await store().webhooks.enqueue(ref, anEvent());
      await store().sessions.remove(ref);
      expect(await list()).toEqual([]);
      const session = unique("session");
      await store().sessions.create(actor, { id: session });
      await store().webhooks.enqueue({ ...ref, session }, anEvent());
      expect(await list()).toHaveLength(1);
      await store().sessions.removeUser(ref.tenant, actor.user);
      expect(await list()).toEqual([]);
      await store().tenants.remove(ref.tenant);
      expect(await store().webhooks.list(ref.tenant)).toEqual([]);
    });

    test("refuses invalid arguments", async () => {
      const { ref, endpoint } = await subscribe();
      const { webhooks } = store();
      const calls = [
        () => webhooks.take({ ...QUERY, limit: 0 }),
        () => webhooks.take({ ...QUERY, perEndpoint: 0 }),
        () => webhooks.take({ ...QUERY, leaseMs: -1 }),
        () => webhooks.prune({ olderThanMs: -1, limit: 1 }),
        () => webhooks.deliveries(ref.tenant, endpoint.id, { limit: 101 }),
        () => webhooks.deliveries(ref.tenant, endpoint.id, { limit: 1, before: "a\0" }),
        () => webhooks.deliveries(ref.tenant, endpoint.id, { limit: 1, state: "lost" as never }),
        () => webhooks.enqueue(ref, anEvent("k", "turns")),
        () => webhooks.enqueue(ref, anEvent("")),
        () => webhooks.list("a\0"),
      ];
      for (const call of calls)
        await expect(call(), call.toString()).rejects.toMatchObject({ code: "INVALID" });
      const large = { ...anEvent(), data: { text: "x".repeat(5_000) } };
      await expect(webhooks.enqueue(ref, large)).rejects.toMatchObject({ code: "TOO_LARGE" });
    });

    test("S07 finds overdue forms of all sessions, and no other interactions", async () => {
      const { ref } = await newSession(store());
      const overdue = async () =>
        (await store().interactions.overdueForms({ limit: 1_000 }))
          .filter(({ session }) => session === ref.session)
          .map(({ id }) => id);
      const first = anInteraction("form", { deadlineMs: 60_000 });
      const second = anInteraction("form", { deadlineMs: 30_000 });
      const decided = anInteraction("form", { deadlineMs: 30_000 });
      const others = [
        anInteraction("form"),
        anInteraction("question", { deadlineMs: 30_000 }),
        anInteraction("form", { deadlineMs: 9_000_000 }),
      ];
      for (const request of [first, second, decided, ...others])
        await store().interactions.request(ref, request);
      await store().interactions.change(ref, { id: decided.id, to: "declined" });
      expect(await overdue()).toEqual([]);
      await advance(70_000);
      expect(await overdue()).toEqual([second.id, first.id]);
    });
  });
}
