/** The contract of webhooks of whole turns: what a product receives while no client is connected. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { script } from "../../src/models/script-parts.ts";
import { scriptedModel } from "../../src/models/scripted-model.ts";
import { defineAgent } from "../../src/agent/define/agent.ts";
import { tool } from "../../src/agent/define/tool.ts";
import { decideApproval } from "../../src/session/interactions/decide-approval.ts";
import { type Receiver, startReceiver } from "../session/webhooks/receiver.ts";
import { type HarnessBackend, TurnHarness } from "../engine/turn-harness.ts";

const CANARY = "canary7c1e";

export function turnWebhooksContract(name: string, makeBackend: () => Promise<HarnessBackend>): void {
  let harness: TurnHarness;
  let receiver: Receiver;
  const open = async () => {
    harness = await TurnHarness.open(await makeBackend());
    receiver = await startReceiver();
    const { webhooks } = harness.backend.store;
    const { endpoint, secret } = await webhooks.create(harness.actor.tenant, {
      url: `${receiver.origin}/hooks`,
    });
    receiver.secret = secret;
    return endpoint.id;
  };
  const options = () => ({
    webhooks: { allow: [receiver.place], initialRetryMs: 50, maxRetryMs: 200 },
  });
  const received = (type: string) => receiver.received.filter(({ body }) => body.type === type);

  const trade = tool({
    label: CANARY,
    idempotent: true,
    approval: { timeoutMs: 60_000 },
    run: () => CANARY,
  });

  describe(`webhooks of turns on ${name}`, () => {
    afterEach(async () => {
      await harness.close();
      await receiver[Symbol.asyncDispose]();
    });

    it("U13 an approval that waits and the end of its turn are sent while no client is connected", async () => {
      await open();
      const model = scriptedModel([
        [script.text(CANARY), script.toolCall("trade", {})],
        [script.text(CANARY)],
      ]);
      const agent = defineAgent({ name: "broker", model, tools: { trade }, title: false });
      await harness.worker([agent], options());
      const ref = await harness.session();
      await harness.send(ref, CANARY);
      await vi.waitUntil(() => received("interaction.requested").length === 1, { timeout: 60_000 });
      const [asked] = received("interaction.requested");
      expect(asked?.isVerified).toBe(true);
      expect(asked?.body.data).toEqual({
        session_id: ref.session,
        user_id: harness.actor.user,
        turn_id: expect.any(String),
        interaction_id: expect.any(String),
        kind: "approval",
        state: "pending",
        deadline: expect.any(Number),
      });
      // The id is the one that the command takes.
      const key = String(asked?.body.data["interaction_id"]);
      await decideApproval(harness.backend, ref, { key, decision: "reject", reason: CANARY });
      // They are sent side by side, so either can arrive first.
      await vi.waitUntil(() => received("turn.ended").length + received("interaction.updated").length === 2, {
        timeout: 60_000,
      });
      expect(received("interaction.updated")).toMatchObject([
        { isVerified: true, body: { data: { interaction_id: key, kind: "approval", state: "rejected" } } },
      ]);
      expect(received("turn.ended")[0]?.body.data).toEqual({
        session_id: ref.session,
        user_id: harness.actor.user,
        turn_id: asked?.body.data["turn_id"],
        state: "end_turn",
        error: null,
      });
      expect(receiver.received.map(({ text }) => text).join("")).not.toContain(CANARY);
      expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(3);
    });

    it(
      "U13 a receiver that refuses connections for a while gets every event of a turn once",
      { timeout: 240_000 },
      async () => {
        const endpoint = await open();
        const model = scriptedModel([[script.toolCall("trade", {})], [script.text(CANARY)]]);
        await harness.worker(
          [defineAgent({ name: "broker", model, tools: { trade }, title: false })],
          options(),
        );
        await receiver.close();
        const ref = await harness.session();
        await harness.send(ref, "go");
        const { interactions, webhooks } = harness.backend.store;
        const key = await harness.until(
          ref,
          40_000,
          async () => (await interactions.list(ref))[0]?.key ?? null,
        );
        await decideApproval(harness.backend, ref, { key, decision: "reject" });
        await harness.ended(ref, () => true);
        const list = async () => (await webhooks.deliveries(ref.tenant, endpoint, { limit: 5 })) ?? [];
        await vi.waitUntil(async () => (await list()).every(({ attempts }) => attempts > 1), {
          timeout: 120_000,
          interval: 50,
        });
        expect((await list()).map(({ state, error }) => [state, error])).toEqual(
          Array.from({ length: 3 }, () => ["pending", "UNREACHABLE"]),
        );
        await receiver.reopen();
        await vi.waitUntil(async () => (await list()).every(({ state }) => state === "delivered"), {
          timeout: 120_000,
          interval: 50,
        });
        expect(receiver.received.map(({ body }) => body.type).toSorted()).toEqual([
          "interaction.requested",
          "interaction.updated",
          "turn.ended",
        ]);
        expect(receiver.received.every(({ isVerified }) => isVerified)).toBe(true);
      },
    );

    it("U13 a turn that fails is sent with the code of its error, also if the receiver was down meanwhile", async () => {
      const endpoint = await open();
      receiver.status = 503;
      const model = scriptedModel([[script.text(CANARY), script.error({ status: 400 })]]);
      const retry = { maxAttempts: 1 };
      await harness.worker([defineAgent({ name: "broken", model, title: false, retry })], options());
      const ref = await harness.session();
      const turn = await harness.ask(ref, "go");
      expect(turn.status).toBe("error");
      const { webhooks } = harness.backend.store;
      const list = async () => (await webhooks.deliveries(ref.tenant, endpoint, { limit: 5 })) ?? [];
      await vi.waitUntil(async () => ((await list())[0]?.attempts ?? 0) >= 2, { timeout: 60_000 });
      expect(receiver.received).toEqual([]);
      receiver.status = 204;
      await vi.waitUntil(async () => (await list())[0]?.state === "delivered", { timeout: 60_000 });
      expect(receiver.received).toMatchObject([
        { isVerified: true, body: { type: "turn.failed", data: { turn_id: turn.id, state: "error" } } },
      ]);
      expect(receiver.received[0]?.body.data["error"]).toMatch(/^[A-Z_]+$/);
      expect(new Set(receiver.asked.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
    });
  });
}
