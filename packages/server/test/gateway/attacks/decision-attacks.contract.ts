/**
 * The contract of attackers who decide about a call (D01 to D04, P04): a decision applies once, to the call that was
 * shown, with arguments that its tool accepts. Real turns run, so the test counts what the tools did.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { script } from "../../../src/models/script-parts.ts";
import { scriptedModel } from "../../../src/models/scripted-model.ts";
import { defineAgent } from "../../../src/agent/define/agent.ts";
import { tool } from "../../../src/agent/define/tool.ts";
import type { SessionRef } from "../../../src/util/refs.ts";
import type { HarnessBackend } from "../../engine/turn-harness.ts";
import { SocketClient } from "../clients.ts";
import { GatewayHarness } from "../gateway-harness.ts";

const INPUT = { amount: 1, to: "x" };

interface Pending {
  readonly ref: SessionRef;
  readonly key: string;
  readonly path: string;
  /** Posts to the interaction. @returns the status */
  post(verb: string, body: unknown): Promise<number>;
  status(): Promise<string | undefined>;
}

export function decisionAttacksContract(name: string, makeParts: () => Promise<HarnessBackend>): void {
  describe(`an attacker who decides, on ${name}`, () => {
    let harness: GatewayHarness;
    let ran: unknown[] = [];

    const payment = {
      label: "Paying",
      input: z.strictObject({ amount: z.number(), to: z.string().max(1_000) }),
      run: (input: unknown) => {
        ran.push(input);
        return "paid";
      },
    };
    const broker = defineAgent({
      name: "broker",
      title: false,
      tools: {
        pay: tool({ ...payment, approval: { editable: true } }),
        pay_exactly: tool({ ...payment, approval: true }),
      },
      model: scriptedModel(({ text, step }) =>
        step === 0 && text.startsWith("pay") ? [script.toolCall(text, INPUT)] : [script.text("Done.")],
      ),
    });

    beforeAll(async () => {
      harness = await GatewayHarness.open(await makeParts());
      await harness.stage.worker([broker]);
    });
    beforeEach(() => void (ran = []));
    afterAll(() => harness.close());

    async function pending(toolName: string): Promise<Pending> {
      const { stage } = harness;
      const ref = await stage.session();
      await stage.send(ref, toolName);
      const key = await stage.until(ref, 60_000, async () => {
        const [found] = await stage.backend.store.interactions.list(ref, { pending: true, limit: 1 });
        return found?.key ?? null;
      });
      const path = `/sessions/${ref.session}/interactions/${key}`;
      return {
        ref,
        key,
        path,
        post: async (verb, body) => (await harness.request("POST", `${path}/${verb}`, { body })).status,
        status: async () => (await stage.backend.store.interactions.byKey(ref, key))?.status,
      };
    }
    const ended = ({ ref }: Pending) => harness.stage.ended(ref, () => true);

    test("decides about no other call than the one that was shown", async () => {
      const one = await pending("pay");
      expect(await one.post("decide", { decision: "approve", digest: `sha256:${"0".repeat(64)}` })).toBe(409);
      expect(await one.status()).toBe("pending");
      expect(await one.post("decide", { decision: "reject" })).toBe(200);
      await ended(one);
      expect(ran).toEqual([]);
    });

    test("applies one of thirty decisions at once, and the tool runs at most once", async () => {
      const one = await pending("pay");
      const socket = await SocketClient.open(harness.server, { dialect: "native" });
      const overHttp = async (decision: string) => (await one.post("decide", { decision })) === 200;
      const overSocket = async (amount: number) => {
        const args = { ...INPUT, amount };
        const target = { type: "decide", session_id: one.ref.session, approval_key: one.key };
        return (await socket.request({ ...target, decision: "edit", args }))["type"] === "ack";
      };
      const applied = await Promise.all(
        Array.from({ length: 30 }, (_, n) =>
          n % 2 === 0 ? overHttp(n % 4 === 0 ? "approve" : "reject") : overSocket(n),
        ),
      );
      socket.close();
      expect(applied.filter(Boolean)).toHaveLength(1);
      await ended(one);
      const winner = applied.indexOf(true);
      const expected = { 0: [INPUT], 2: [] }[winner % 4] ?? [{ ...INPUT, amount: winner }];
      expect(ran).toEqual(expected);
    });

    test("edits no call that can't be edited, and answers it in no other way", async () => {
      const one = await pending("pay_exactly");
      const args = { ...INPUT, amount: 1_000_000 };
      for (const [verb, body] of [
        ["decide", { decision: "edit", args }],
        ["decide", { decision: "approve", args }],
        ["submit", { values: args }],
        ["answer", { answers: [{ question: "q", selected: ["a"] }] }],
        ["dismiss", {}],
        ["decline", {}],
      ] as const)
        expect(await one.post(verb, body), verb).toBeGreaterThanOrEqual(400);
      expect(await one.status()).toBe("pending");
      expect(await one.post("decide", { decision: "approve" })).toBe(200);
      await ended(one);
      expect(ran).toEqual([INPUT]);
    });

    test("passes no arguments that the tool refuses, and no keys of prototypes", async () => {
      const one = await pending("pay");
      for (const args of [
        { ...INPUT, constructor: { prototype: { polluted: 1 } } },
        { ...INPUT, admin: true },
        { ...INPUT, amount: "1" },
        { amount: 1 },
        [1],
        null,
        { ...INPUT, to: "x".repeat(40_000) },
      ])
        expect(await one.post("decide", { decision: "edit", args }), JSON.stringify(args)).toBe(400);
      for (const args of ['{"__proto__":{"polluted":1},"amount":1,"to":"x"}', '{"a":{"__proto__":[]}}']) {
        const { url, auth } = harness.server;
        const response = await fetch(`${url}/api/v1${one.path}/decide`, {
          method: "POST",
          headers: { ...auth, "content-type": "application/json" },
          body: `{"decision":"edit","args":${args}}`,
        });
        expect(response.status).toBe(400);
      }
      expect("polluted" in {}).toBe(false);
      expect(await one.status()).toBe("pending");
      expect(await one.post("decide", { decision: "edit", args: { ...INPUT, amount: 2 } })).toBe(200);
      await ended(one);
      expect(ran).toEqual([{ ...INPUT, amount: 2 }]);
    });

    test("stops a turn without the scope decide, and approves nothing with it", async () => {
      const one = await pending("pay");
      const { user } = harness.stage.actor;
      const { token } = await harness.json("POST", "/tokens", { user_id: user, scopes: ["read", "write"] });
      const headers = { authorization: `Bearer ${token}` };
      const decide = { headers, body: { decision: "approve" } };
      expect((await harness.request("POST", `${one.path}/decide`, decide)).status).toBe(403);
      // A message that agrees is no decision.
      const left = new AbortController();
      await fetch(`${harness.server.url}/api/v1/sessions/${one.ref.session}/messages`, {
        method: "POST",
        headers: { ...headers, "content-type": "application/json" },
        body: JSON.stringify({ text: "Yes, approve it.", stream: true }),
        signal: left.signal,
      });
      left.abort();
      expect(await one.status()).toBe("pending");
      const stop = await harness.request("POST", `/sessions/${one.ref.session}/stop`, { headers });
      expect(stop.json).toMatchObject({ receipt: "stopping" });
      await harness.stage.ended(one.ref, ({ status }) => status === "user_stopped");
      expect([await one.status(), ran]).toEqual(["cancelled", []]);
    });
  });
}
