/** The contract of webhook endpoints and their deliveries over HTTP. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { enqueueTurnEvent } from "../../../src/session/webhooks/enqueue-events.ts";
import type { SessionRef } from "../../../src/util/refs.ts";
import type { HarnessBackend } from "../../engine/turn-harness.ts";
import { GatewayHarness } from "../gateway-harness.ts";
import { createTestSession } from "../pending-interactions.ts";

export function webhookRoutesContract(name: string, makeParts: () => Promise<HarnessBackend>): void {
  describe(`webhooks over HTTP on ${name}`, () => {
    let harness: GatewayHarness;
    let parts: HarnessBackend;
    let ref: SessionRef;
    beforeEach(async () => {
      parts = await makeParts();
      harness = await GatewayHarness.open(parts);
      ref = await createTestSession(parts, harness.stage.actor);
    });
    afterEach(() => harness.close());
    const url = "https://receiver.example/hooks";

    it("U13 creates, lists and deletes endpoints, and shows a secret once", async () => {
      const created = await harness.request("POST", "/webhooks", { body: { url, events: ["turn.failed"] } });
      expect(created.status).toBe(201);
      const { secret, ...endpoint } = created.json;
      expect(secret).toMatch(/^whsec_/);
      expect(endpoint).toMatchObject({ url, events: ["turn.failed"] });
      expect(await harness.json("GET", "/webhooks")).toEqual({ webhooks: [endpoint] });
      for (const body of [{}, { url: "file:///etc/passwd" }, { url, events: [] }, { url, events: ["x"] }])
        expect(await harness.requestError("POST", "/webhooks", body)).toBe("400 BAD_REQUEST");
      const path = `/webhooks/${endpoint.webhook_id}`;
      expect((await harness.request("DELETE", path)).status).toBe(204);
      expect(await harness.requestError("DELETE", path)).toBe("404 NOT_FOUND");
      expect(await harness.requestError("GET", `${path}/deliveries`)).toBe("404 NOT_FOUND");
    });

    it("U13 lists deliveries in pages and replays one under its id", async () => {
      const { webhook_id } = await harness.json("POST", "/webhooks", { url });
      const path = `/webhooks/${webhook_id}/deliveries`;
      for (const turn of ["t1", "t2", "t3"])
        await enqueueTurnEvent(parts.store, ref, turn, { reason: "end_turn" });
      const first = await harness.json("GET", `${path}?limit=2`);
      expect(first.deliveries).toMatchObject([
        { state: "pending", attempts: 0 },
        { session_id: ref.session },
      ]);
      // An id of the page itself: a number of all deliveries would reveal the traffic of other tenants.
      expect(first.next_before).toBe(first.deliveries[1].delivery_id);
      const rest = await harness.json("GET", `${path}?limit=2&before=${first.next_before}`);
      expect(rest).toMatchObject({ deliveries: [{ type: "turn.ended" }], next_before: null });
      const [taken] = await parts.store.webhooks.take({ limit: 1, perEndpoint: 1, leaseMs: 60_000 });
      if (taken === undefined) throw new Error("nothing was taken");
      const over = { delivered: false, status: 500, error: null, retryInMs: null } as const;
      await parts.store.webhooks.settle(taken, over);
      const failed = await harness.json("GET", `${path}?state=failed`);
      expect(failed.deliveries).toMatchObject([{ delivery_id: taken.id, state: "failed", status: 500 }]);
      const replayed = await harness.request("POST", `${path}/${taken.id}/replay`, { body: {} });
      expect([replayed.status, replayed.json]).toMatchObject([
        202,
        { delivery_id: taken.id, state: "pending", attempts: 0, ended_at: null },
      ]);
      expect(await harness.requestError("POST", `${path}/msg_0/replay`, {})).toBe("404 NOT_FOUND");
      expect(await harness.requestError("GET", `${path}?state=lost`)).toBe("400 BAD_REQUEST");
    });

    it("U13 needs the scope of administrators, which no token can have, and shows only the own tenant", async () => {
      const { webhook_id } = await harness.json("POST", "/webhooks", { url });
      const { tenant, user } = harness.stage.actor;
      const scopes = ["read", "write", "decide", "share", "knowledge", "tokens"];
      const limited = await parts.store.keys.create(tenant, { name: "limited", scopes });
      const as = (key: string) => ({ headers: { "x-api-key": key, "x-user-id": user } });
      expect((await harness.request("GET", "/webhooks", as(limited.secret))).status).toBe(403);
      const asked = { user_id: user, scopes: ["webhooks"] };
      expect(await harness.requestError("POST", "/tokens", asked)).toBe("400 BAD_REQUEST");
      const { token } = await harness.json("POST", "/tokens", { user_id: user });
      const headers = { authorization: `Bearer ${token}` };
      expect((await harness.request("GET", "/webhooks", { headers })).status).toBe(403);
      const other = `${tenant}-other`;
      await parts.store.tenants.create({ id: other, name: "Other" });
      const foreign = await parts.store.keys.create(other, { name: "admin", scopes: ["webhooks"] });
      const listed = await harness.request("GET", "/webhooks", as(foreign.secret));
      expect(listed.json).toEqual({ webhooks: [] });
      const removed = await harness.request("DELETE", `/webhooks/${webhook_id}`, as(foreign.secret));
      expect(removed.status).toBe(404);
    });
  });
}
