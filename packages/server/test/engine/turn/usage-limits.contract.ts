/**
 * The contract of limits on tokens and cost for running turns: no model call starts once the user, the API key or the
 * tenant has used what the day or month allows. So each running turn exceeds the limit by at most one model step.
 */
import { randomUUID } from "node:crypto";
import { listBlocks, type Turn } from "@turnstream/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { script } from "../../../src/models/script-parts.ts";
import { scriptedModel } from "../../../src/models/scripted-model.ts";
import { type AgentOptions, defineAgent } from "../../../src/agent/define/agent.ts";
import { tool } from "../../../src/agent/define/tool.ts";
import { BUILT_IN_STRINGS } from "../../../src/strings/catalogs.ts";
import type { OwnerLimits } from "../../../src/session/limit-exceeded.ts";
import { sendMessage } from "../../../src/session/messages/send.ts";
import type { UsageLimits, UseScope } from "../../../src/store/rules/limits.ts";
import type { SessionRef } from "../../../src/util/refs.ts";
import { type HarnessBackend, TurnHarness } from "../turn-harness.ts";

/** What one model step uses: tokens, and the cost at `PRICING`. */
const STEP = { inputTokens: 10, outputTokens: 5 };
const STEP_TOKENS = 15;
const PRICING = { inputPerMillion: 100_000, outputPerMillion: 100_000 };
const NONE = {
  queuedMessages: null,
  runningTurns: null,
  storedBytes: null,
  tokensPerDay: null,
  tokensPerMonth: null,
  costPerDay: null,
  costPerMonth: null,
};

function limitsOf(user: TurnHarness, scope: UseScope, limits: Partial<UsageLimits>): OwnerLimits {
  const owner = { ...user.actor, apiKey: `key-of-${user.actor.tenant}` };
  return { owner, user: NONE, key: NONE, tenant: NONE, [scope]: { ...NONE, ...limits } };
}

async function send(user: TurnHarness, ref: SessionRef, limits: OwnerLimits, options = {}) {
  const id = `m-${randomUUID()}`;
  await sendMessage(user.backend, ref, { id, text: "go", userId: user.actor.user, limits, options });
  return () => user.ended(ref, (turn) => turn.message?.id === id);
}

const noticeOf = (turn: Turn) => listBlocks(turn).at(-1);

export function usageLimitsContract(makeBackend: () => Promise<HarnessBackend>): void {
  describe("limits on tokens and cost", () => {
    let harness: TurnHarness;
    let calls: number;
    beforeEach(async () => {
      harness = await TurnHarness.open(await makeBackend());
      calls = 0;
    });
    afterEach(() => harness.close());

    /** An agent whose model never stops to call a tool. */
    function endless(options: Partial<AgentOptions> = {}) {
      // Concurrent turns take their steps at about the same time.
      const more = tool({
        idempotent: true,
        run: () => new Promise<string>((resolve) => setImmediate(resolve, "more")),
      });
      const model = scriptedModel(() => {
        calls++;
        return [script.toolCall("more"), script.finish(STEP)];
      });
      const limits = { maxSteps: 60 };
      return defineAgent({ name: "a", model, title: false, limits, tools: { more }, ...options });
    }

    it.each([
      ["tokensPerDay", 40, "tokens_per_day"],
      ["costPerMonth", 4, "cost_per_month"],
    ] as const)("a turn ends before the model call after %s is reached", async (name, value, limit) => {
      await harness.worker([endless({ pricing: PRICING })]);
      const limits = limitsOf(harness, "user", { [name]: value });
      const turn = await (await send(harness, await harness.session(), limits))();
      // 15, 30 and 45 tokens: the third step exceeds the limit, and none follows.
      expect([turn.status, calls, turn.usage?.total_tokens]).toEqual(["error", 3, 45]);
      expect(noticeOf(turn)).toMatchObject({
        kind: "notice",
        text: BUILT_IN_STRINGS.en.errors.USAGE_LIMIT_REACHED,
        template: { code: "USAGE_LIMIT_REACHED" },
        error: {
          code: "USAGE_LIMIT_REACHED",
          can_retry: true,
          details: { limit, scope: "user", retry_after_ms: expect.any(Number) as number },
        },
      });
      expect(harness.errors).toEqual([]);
    });

    it.each(["user", "key", "tenant"] as const)(
      "five concurrent turns of a %s exceed a limit by at most one model step each",
      async (scope) => {
        const [turns, limit] = [5, 150];
        const other = harness.as({ ...harness.actor, user: "another user" });
        const users = scope === "user" ? [harness, harness] : [harness, other];
        const ended = await Promise.all(
          Array.from({ length: turns }, async (_, n) => {
            const user = users[n % 2] ?? harness;
            return send(user, await user.session(), limitsOf(user, scope, { tokensPerDay: limit }));
          }),
        );
        // A model call that starts while others run sees what they have used, and not only what has ended.
        await harness.worker([endless()]);
        for (const turn of await Promise.all(ended.map((end) => end())))
          expect(noticeOf(turn)).toMatchObject({
            error: { code: "USAGE_LIMIT_REACHED", details: { scope } },
          });
        const { tenant } = harness.actor;
        const days = await harness.backend.store.usage.list(tenant, "2020-01-01", "2099-01-01");
        const used = days.reduce((sum, day) => sum + day.total_tokens, 0);
        expect(used).toBe(calls * STEP_TOKENS);
        expect(used).toBeGreaterThanOrEqual(limit);
        expect(used).toBeLessThan(limit + turns * STEP_TOKENS);
      },
    );

    it("a message that was queued below the limit calls no model after it", async () => {
      let titles = 0;
      const title = scriptedModel(() => {
        titles++;
        return [script.text("A title")];
      });
      const ref = await harness.session();
      const limits = limitsOf(harness, "user", { tokensPerDay: 10 });
      const first = await send(harness, ref, limits);
      const second = await send(harness, ref, limits);
      await harness.worker([endless({ title: { model: title } })]);
      expect(noticeOf(await first())).toMatchObject({ error: { code: "USAGE_LIMIT_REACHED" } });
      const before = [calls, titles];
      expect(noticeOf(await second())).toMatchObject({ error: { code: "USAGE_LIMIT_REACHED" } });
      expect([calls, titles]).toEqual(before);
    });

    it("a sub-agent at the limit ends the whole turn", async () => {
      const main = scriptedModel(() => {
        calls++;
        return [script.toolCall("helper", { task: "x" }), script.finish(STEP)];
      });
      const helper = endless({ name: "helper", description: "helps" });
      await harness.worker([endless({ model: main, tools: {}, subAgents: { helper } })]);
      const limits = limitsOf(harness, "user", { tokensPerMonth: 40 });
      const turn = await (await send(harness, await harness.session(), limits))();
      expect([turn.status, calls]).toEqual(["error", 3]);
      expect(noticeOf(turn)).toMatchObject({ run: "main", error: { code: "USAGE_LIMIT_REACHED" } });
    });

    it("the notice is in the user's language", async () => {
      const limits = limitsOf(harness, "user", { tokensPerDay: 1 });
      const sent = new Map<string | undefined, () => Promise<Turn>>();
      for (const [locale, { errors }] of Object.entries(BUILT_IN_STRINGS))
        sent.set(
          errors.USAGE_LIMIT_REACHED,
          await send(harness, await harness.session(), limits, { locale }),
        );
      const used = { turns: 1, calls: 1, input_tokens: 1, output_tokens: 0, total_tokens: 1 };
      const { tenant, user } = harness.actor;
      await harness.backend.store.usage.add(tenant, { key: "earlier", user, ...used });
      await harness.worker([endless()]);
      for (const [text, ended] of sent) expect(noticeOf(await ended())).toMatchObject({ text });
      expect([sent.size, calls]).toEqual([4, 0]);
    });
  });
}
