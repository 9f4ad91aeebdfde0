/** The store contract of tickets and idempotency keys. */
import { expect, test } from "vitest";

import type { Actor } from "../../src/util/refs.ts";
import type { ClosableStore } from "../../src/store/store.ts";
import { type MakeStore, newSession, newTenant, unique, isWhole } from "./harness.ts";
import { suite } from "./suite.ts";

const ROUTE = "POST /sessions";
const request = (key = unique("key"), digest = "d1") => ({ route: ROUTE, key, digest });

async function mine(
  store: ClosableStore,
  actor: Actor,
  asked: { route: string; key: string; digest: string },
) {
  const started = await store.idempotency.begin(actor, asked);
  if (started.state !== "yours") throw new Error(`it is ${started.state}`);
  return started;
}

export function gatewayContract(name: string, makeStore: MakeStore): void {
  suite(name, "tickets", makeStore, (store) => {
    test("a ticket is redeemed once, by one of many concurrent callers", async () => {
      const tenant = await newTenant(store());
      const soon = 4_000_000_000_000;
      const all = await Promise.all(
        Array.from({ length: 8 }, () => store().tickets.redeem(tenant, "one", soon)),
      );
      expect(all.filter(Boolean)).toHaveLength(1);
      expect(await store().tickets.redeem(tenant, "two", soon)).toBe(true);
      expect(await store().tickets.redeem(await newTenant(store()), "one", soon)).toBe(true);
      await expect(store().tickets.redeem("missing", "one", soon)).rejects.toMatchObject({
        code: "NOT_FOUND",
      });
      await expect(store().tickets.redeem(tenant, "x", Number.NaN)).rejects.toMatchObject({
        code: "INVALID",
      });
    });

    test.runIf(isWhole(name))("sweeps expired tickets and no others", async () => {
      const tenant = await newTenant(store());
      await store().tickets.redeem(tenant, "old", 1_000);
      await store().tickets.redeem(tenant, "older", 500);
      await store().tickets.redeem(tenant, "new", 4_000_000_000_000);
      expect(await store().tickets.sweep(1)).toBe(1);
      expect(await store().tickets.sweep(100)).toBe(1);
      expect(await store().tickets.sweep(100)).toBe(0);
      expect(await store().tickets.redeem(tenant, "new", 4_000_000_000_000)).toBe(false);
    });
  });

  suite(name, "idempotency keys", makeStore, (store) => {
    test("one of many callers gets the claim, the others are busy, and later get its response", async () => {
      const { actor } = await newSession(store());
      const asked = request();
      const all = await Promise.all(Array.from({ length: 8 }, () => store().idempotency.begin(actor, asked)));
      expect(all.map(({ state }) => state).toSorted()).toEqual([...Array(7).fill("busy"), "yours"]);
      const claim = all.flatMap((result) => (result.state === "yours" ? [result.claim] : []))[0] ?? "";
      const answer = { status: 201, body: { id: "\0 é", n: [1, null] } };
      expect(await store().idempotency.finish(actor, asked, "another", answer)).toBe(false);
      expect(await store().idempotency.finish(actor, asked, claim, answer)).toBe(true);
      expect(await store().idempotency.begin(actor, asked)).toEqual({ state: "done", answer });
      expect(await store().idempotency.finish(actor, asked, claim, answer)).toBe(false);
    });

    test("refuses another body under the same key at every stage", async () => {
      const { actor } = await newSession(store());
      const asked = request();
      const other = { ...asked, digest: "d2" };
      const { claim } = await mine(store(), actor, asked);
      expect(await store().idempotency.begin(actor, other)).toEqual({ state: "different" });
      await store().idempotency.finish(actor, asked, claim, { status: 200, body: null });
      expect(await store().idempotency.begin(actor, other)).toEqual({ state: "different" });
    });

    test("a key belongs to one user and one route", async () => {
      const { actor } = await newSession(store());
      const asked = request();
      await mine(store(), actor, asked);
      await mine(store(), { ...actor, user: "else" }, asked);
      await mine(store(), actor, { ...asked, route: "POST /other" });
      await mine(store(), { ...actor, tenant: await newTenant(store()) }, asked);
      expect(await store().idempotency.begin(actor, asked)).toEqual({ state: "busy" });
      await expect(store().idempotency.begin({ ...actor, tenant: "none" }, asked)).rejects.toMatchObject({
        code: "NOT_FOUND",
      });
    });

    test("a released claim can be taken again under the same id", async () => {
      const { actor } = await newSession(store());
      const asked = request();
      const first = await mine(store(), actor, asked);
      await store().idempotency.release(actor, asked, "another");
      expect(await store().idempotency.begin(actor, asked)).toEqual({ state: "busy" });
      await store().idempotency.release(actor, asked, first.claim);
      const second = await mine(store(), actor, asked);
      expect(second.id).toBe(first.id);
      expect(second.claim).not.toBe(first.claim);
      const answer = { status: 200, body: 1 };
      expect(await store().idempotency.finish(actor, asked, first.claim, answer)).toBe(false);
      expect(await store().idempotency.finish(actor, asked, second.claim, answer)).toBe(true);
    });

    test.runIf(isWhole(name))("a response is erased with its session and with its user", async () => {
      const { actor, ref } = await newSession(store());
      const [about, made, plain] = [request(), request(), request()];
      const inSession = { ...about, session: ref.session };
      await mine(store(), actor, inSession);
      const { claim } = await mine(store(), actor, made);
      const answer = { status: 201, body: "made", session: ref.session };
      expect(await store().idempotency.finish(actor, made, claim, answer)).toBe(true);
      const claimed = await mine(store(), actor, plain);
      await store().idempotency.finish(actor, plain, claimed.claim, { status: 200, body: "plain" });
      await store().sessions.remove(ref);
      await mine(store(), actor, about);
      await mine(store(), actor, made);
      expect(await store().idempotency.begin(actor, plain)).toMatchObject({ state: "done" });
      await store().sessions.removeUser(actor.tenant, actor.user);
      await mine(store(), actor, plain);
    });

    test("refuses an unknown session and a response that is too large", async () => {
      const { actor, ref } = await newSession(store());
      const foreign = await newSession(store());
      for (const session of ["none", foreign.ref.session])
        await expect(store().idempotency.begin(actor, { ...request(), session })).rejects.toMatchObject({
          code: "NOT_FOUND",
        });
      const asked = { ...request(), session: ref.session };
      const { claim } = await mine(store(), actor, asked);
      const large = { status: 200, body: "x".repeat(256 * 1024) };
      await expect(store().idempotency.finish(actor, asked, claim, large)).rejects.toMatchObject({
        code: "TOO_LARGE",
      });
      await expect(
        store().idempotency.finish(actor, asked, claim, { status: 200, body: 1, session: "none" }),
      ).rejects.toMatchObject({ code: "NOT_FOUND" });
      expect(await store().idempotency.begin(actor, asked)).toEqual({ state: "busy" });
      for (const bad of [{ key: "" }, { key: "x".repeat(257) }, { key: "a\0" }, { route: "" }])
        await expect(store().idempotency.begin(actor, { ...asked, ...bad })).rejects.toMatchObject({
          code: "INVALID",
        });
    });

    test("keeps every response for a day", async () => {
      const { actor } = await newSession(store());
      const asked = request();
      await mine(store(), actor, asked);
      expect(await store().idempotency.sweep(1000)).toBe(0);
      expect(await store().idempotency.begin(actor, asked)).toEqual({ state: "busy" });
    });
  });
}
