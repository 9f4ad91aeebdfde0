/**
 * The contract of approvals: a call waits for the user, and exactly one decision wins, even if a worker dies meanwhile.
 */
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { type ApprovalBlock, listBlocks, type Json, type Turn } from "@turnstream/protocol";
import { script } from "../../../src/models/script-parts.ts";
import { scriptedModel } from "../../../src/models/scripted-model.ts";
import { type Agent, defineAgent } from "../../../src/agent/define/agent.ts";
import type { Approval } from "../../../src/agent/define/approval.ts";
import { tool } from "../../../src/agent/define/tool.ts";
import { digestOf } from "../../../src/agent/interactions/approval.ts";
import { listAllowances, revokeAllowance } from "../../../src/session/interactions/allowances.ts";
import { decideApproval, type ApprovalDecision } from "../../../src/session/interactions/decide-approval.ts";
import type { SessionRef } from "../../../src/util/refs.ts";
import { systemEnv } from "../../../src/util/env.ts";
import { outline, TurnHarness, type HarnessBackend } from "../../engine/turn-harness.ts";

type Trade = { symbol: string; count: number };

/** The allowance that `always` stores for this agent. */
function ruleFor({ tools, schemas }: Agent) {
  const { description = "" } = tools["trade"] ?? {};
  const digest = digestOf({ description, schema: schemas["trade"] ?? null });
  return { agent: "broker", tool: "trade", digest };
}

function brokenPolicy(): never {
  throw new Error("no policy today");
}

export function approvalContract(makeBackend: () => Promise<HarnessBackend>): void {
  let harness: TurnHarness;
  let trades: Trade[];
  const open = async (): Promise<void> => {
    harness = await TurnHarness.open(await makeBackend());
    trades = [];
  };
  function broker(approval: Approval<Trade>, calls = 1, description = ""): Agent {
    const trade = tool({
      label: "Trading",
      description,
      // Rules that JSON Schema can't express are checked by the worker.
      input: z.object({
        symbol: z.string().refine((symbol) => symbol !== "bad"),
        count: z.int().positive(),
      }),
      approval,
      run: (input) => {
        trades.push(input);
        return `traded ${input.count} ${input.symbol}`;
      },
    });
    const wanted = Array.from({ length: calls }, (_, n) =>
      script.toolCall("trade", { symbol: "VNM", count: n + 1 }),
    );
    return defineAgent({
      name: "broker",
      model: scriptedModel([[script.reasoning("hm"), ...wanted], [script.text("done")]]),
      tools: { trade },
    });
  }

  const waiting = (ref: SessionRef, count = 1): Promise<readonly ApprovalBlock[]> =>
    harness.until(ref, 40_000, async (state) => {
      const asked = approvalsOf(state.turns.last()).filter(({ status }) => status === "pending");
      const rows = await harness.backend.store.interactions.list(ref, { pending: true });
      return asked.length === count && rows.length === count ? asked : null;
    });
  const decide = (ref: SessionRef, key: string, decision: Partial<ApprovalDecision> = {}) =>
    decideApproval(harness.backend, ref, {
      key,
      decision: "approve",
      userId: harness.actor.user,
      ...decision,
    });

  describe("approval", () => {
    afterEach(() => harness.close());

    it("waits inside its group, and then the tool runs", async () => {
      await open();
      await harness.worker([broker(true)]);
      const ref = await harness.session();
      await harness.send(ref, "trade");
      const [asked] = await waiting(ref);
      expect(asked).toMatchObject({ timeout_seconds: 300, editable: false });
      expect(asked?.actions).toEqual([
        {
          name: "trade",
          label: "Trading",
          input: { symbol: "VNM", count: 1 },
          fields: [{ name: "count", type: "number" }],
        },
      ]);
      expect(trades).toEqual([]);
      const decided = await decide(ref, asked?.key ?? "", { digest: asked?.digest ?? "" });
      expect(decided.applied).toBe(true);
      const turn = await harness.ended(ref, () => true);
      expect(outline(turn)).toEqual([
        "(",
        "thinking hm",
        'call trade {"symbol":"VNM","count":1}',
        "approval",
        "result trade success traded 1 VNM",
        ") Trading",
        "text final done",
      ]);
      expect(approvalsOf(turn)[0]).toMatchObject({ status: "approved", by: harness.actor.user });
      expect(trades).toEqual([{ symbol: "VNM", count: 1 }]);
    });

    it("waits without a deadline if `timeoutMs` is null, also when the worker restarts", async () => {
      await open();
      const first = await harness.worker([broker({ timeoutMs: null })]);
      const ref = await harness.session();
      await harness.send(ref, "trade");
      const [asked] = await waiting(ref);
      expect(asked).toMatchObject({ timeout_seconds: null, deadline: null });
      const [row] = await harness.backend.store.interactions.list(ref, { pending: true });
      expect(row?.deadline).toBeNull();
      await first.shutdown();
      await harness.worker([broker({ timeoutMs: null })]);
      await decide(ref, asked?.key ?? "", { digest: asked?.digest ?? "" });
      const turn = await harness.ended(ref, () => true);
      expect(outline(turn)).toContain("result trade success traded 1 VNM");
    });

    it.each([
      [{ symbol: "FPT", count: 7 }, "result trade success traded 7 FPT"],
      [{ symbol: "bad", count: 1 }, "result trade error This did not work."],
    ] as const)(
      "can edit the arguments, which the tool's schema still validates: %o",
      async (input, line) => {
        await open();
        await harness.worker([broker({ editable: true })]);
        const ref = await harness.session();
        await harness.send(ref, "trade");
        const [asked] = await waiting(ref);
        await decide(ref, asked?.key ?? "", { decision: "edit", input });
        const turn = await harness.ended(ref, () => true);
        expect(outline(turn)).toContain(line);
        expect(approvalsOf(turn)[0]?.status).toBe("edited");
      },
    );

    it("W13 refuses an edit that violates the tool's schema when it is decided, and stays pending", async () => {
      await open();
      await harness.worker([broker({ editable: true })]);
      const ref = await harness.session();
      await harness.send(ref, "trade");
      const [asked] = await waiting(ref);
      const key = asked?.key ?? "";
      const bad: readonly (readonly [Json, string])[] = [
        [{ symbol: "FPT", count: "7" }, "count: "],
        [{ symbol: "FPT", count: -1 }, "count: "],
        [{ symbol: "FPT", count: 1, more: true }, "more: "],
        [JSON.parse('{"symbol":"FPT","count":1,"__proto__":{"a":1}}') as Json, "__proto__: "],
        [["FPT", 7], "an object"],
        [{ symbol: "F".repeat(40_000), count: 1 }, "bytes"],
      ];
      for (const [input, problem] of bad)
        await expect(decide(ref, key, { decision: "edit", input })).rejects.toMatchObject({
          code: "INVALID",
          message: expect.stringContaining(problem) as string,
        });
      expect((await waiting(ref))[0]?.key).toBe(key);
      await decide(ref, key, { decision: "edit", input: { symbol: "FPT", count: 7 } });
      await harness.ended(ref, () => true);
      expect(trades).toEqual([{ symbol: "FPT", count: 7 }]);
    });

    it("refuses edits if they are not allowed, and decisions for another call", async () => {
      await open();
      await harness.worker([broker(true)]);
      const ref = await harness.session();
      await harness.send(ref, "trade");
      const [asked] = await waiting(ref);
      const key = asked?.key ?? "";
      await expect(decide(ref, key, { decision: "edit", input: {} })).rejects.toMatchObject({
        code: "INVALID",
      });
      await expect(decide(ref, "nothing")).rejects.toMatchObject({ code: "NOT_FOUND" });
      expect(await decide(ref, key, { digest: "sha256:other" })).toMatchObject({
        applied: false,
        reason: "digest",
      });
      await decide(ref, key, { decision: "reject", reason: "too many" });
      const turn = await harness.ended(ref, () => true);
      expect(outline(turn)).toContain("result trade error You rejected this.");
      expect(turn.status).toBe("end_turn");
      expect(trades).toEqual([]);
    });

    it("times out by the database's clock, and a worker with a fast clock doesn't retry repeatedly", async () => {
      await open();
      const { store } = harness.backend;
      let tried = 0;
      const transaction: typeof store.transaction = (work) =>
        store.transaction((tx) => {
          const change: typeof tx.interactions.change = (ref, input) => {
            if (input.to === "timed_out") tried++;
            return tx.interactions.change(ref, input);
          };
          return work({ ...tx, interactions: { ...tx.interactions, change } });
        });
      const aheadMs = 2_900;
      const env = { ...systemEnv, now: () => systemEnv.now() + aheadMs };
      await harness.worker([broker({ timeoutMs: 3_000 })], { env, store: { ...store, transaction } });
      // If the machine stalls for three seconds, no try is too early. Repeat in that case.
      do {
        tried = 0;
        const turn = await harness.ask(await harness.session(), "trade");
        expect(approvalsOf(turn)[0]?.status).toBe("timed_out");
        // One try is too early, one in time, and more for timers that fire slightly early.
        expect(tried).toBeLessThanOrEqual(4);
      } while (tried < 2);
    });

    it("counts as rejected when it times out", async () => {
      await open();
      await harness.worker([broker({ timeoutMs: 1_000 })]);
      const ref = await harness.session();
      const turn = await harness.ask(ref, "trade");
      expect(approvalsOf(turn)[0]?.status).toBe("timed_out");
      expect(outline(turn)).toContain("result trade error This was not approved in time.");
      expect(trades).toEqual([]);
    });

    it.each([
      ["streamed", "Writing"],
      ["in one event", () => "Writing it"],
    ] as const)("W13 of large arguments, %s, shows their start and binds the whole", async (_, label) => {
      await open();
      const texts: string[] = [];
      const write = tool({
        label,
        input: z.object({ text: z.string() }),
        approval: { editable: true },
        run: ({ text }) => {
          texts.push(text);
          return "written";
        },
      });
      const text = "word ".repeat(14_000);
      const model = scriptedModel([[script.toolCall("write", { text })], [script.text("done")]]);
      await harness.worker([defineAgent({ name: "writer", model, tools: { write } })]);
      const ref = await harness.session();
      await harness.send(ref, "write");
      const [asked] = await waiting(ref);
      const { key = "", digest } = asked ?? {};
      const shown = asked?.actions[0]?.input;
      expect(shown).toMatch(/^\{"text":"word .* \[Cut here: 4,096 of 70,011 characters are shown\.\]$/);
      expect(asked?.editable).toBe(false);
      await expect(decide(ref, key, { decision: "edit", input: { text: "x" } })).rejects.toMatchObject({
        code: "INVALID",
      });
      // The whole arguments are in the call: streamed as deltas, or in one event as a blob.
      const running = (await harness.state(ref)).turns.last();
      const blocks = running === undefined ? [] : listBlocks(running);
      const [block] = blocks.filter((one) => one.kind === "tool_call");
      const { whole = null, args = "" } = block ?? {};
      const blob = whole === null ? null : await harness.backend.store.blobs.get(ref, whole.blob);
      expect(blob === null).toBe(typeof label === "string");
      expect(JSON.parse(blob === null ? args : Buffer.from(blob.body).toString())).toEqual({ text });
      expect(await decide(ref, key, { digest: digest ?? "" })).toMatchObject({ applied: true });
      expect(outline(await harness.ended(ref, () => true)).at(-1)).toBe("text final done");
      expect(texts).toEqual([text]);
    });

    it("is requested only if the policy requires it", async () => {
      await open();
      await harness.worker([broker(({ count }) => count > 1, 2)]);
      const ref = await harness.session();
      await harness.send(ref, "trade");
      const [asked] = await waiting(ref);
      expect(asked?.actions[0]?.input).toMatchObject({ count: 2 });
      await decide(ref, asked?.key ?? "");
      await harness.ended(ref, () => true);
      expect(trades.toSorted((a, b) => a.count - b.count)).toEqual([
        { symbol: "VNM", count: 1 },
        { symbol: "VNM", count: 2 },
      ]);
    });

    it("is requested if the policy throws", async () => {
      await open();
      await harness.worker([broker(brokenPolicy)]);
      const ref = await harness.session();
      await harness.send(ref, "trade");
      const [asked] = await waiting(ref);
      expect(trades).toEqual([]);
      await decide(ref, asked?.key ?? "");
      await harness.ended(ref, () => true);
      expect(trades).toHaveLength(1);
      expect(harness.errors).toHaveLength(1);
    });

    it("waits in parallel with others, and each decision reaches its own call", async () => {
      await open();
      await harness.worker([broker(true, 3)]);
      const ref = await harness.session();
      await harness.send(ref, "trade");
      const asked = await waiting(ref, 3);
      const byCount = new Map(
        asked.map(({ actions, key }) => [(actions[0]?.input as Trade | undefined)?.count, key]),
      );
      await decide(ref, byCount.get(2) ?? "", { decision: "reject" });
      await decide(ref, byCount.get(3) ?? "");
      await decide(ref, byCount.get(1) ?? "", { decision: "reject" });
      const turn = await harness.ended(ref, () => true);
      expect(trades).toEqual([{ symbol: "VNM", count: 3 }]);
      expect(turn.status).toBe("end_turn");
    });

    it("can be allowed for the rest of the session, listed and revoked", async () => {
      await open();
      await harness.worker([broker(true)]);
      const ref = await harness.session();
      const other = await harness.session();
      await harness.send(ref, "trade");
      const [asked] = await waiting(ref);
      expect(asked?.offers_always).toBe(true);
      const always = { decision: "approve", always: true } as const;
      expect(await decide(ref, asked?.key ?? "", always)).toMatchObject({ applied: true });
      const turn = await harness.ended(ref, () => true);
      expect(approvalsOf(turn)[0]).toMatchObject({ status: "approved", always: true });
      expect(await listAllowances(harness.backend, ref)).toMatchObject([
        { agent: "broker", tool: "trade", by: harness.actor.user },
      ]);
      // The next call needs no approval. In another session it does.
      const passed = await harness.ask(ref, "trade");
      expect(approvalsOf(passed)).toEqual([]);
      expect(trades).toHaveLength(2);
      await harness.send(other, "trade");
      await decide(other, (await waiting(other))[0]?.key ?? "", { decision: "reject" });
      const rule = { agent: "broker", tool: "trade" };
      const { user } = harness.actor;
      expect(
        await revokeAllowance(harness.backend, ref, { ...rule, userId: user, clientId: "device-1" }),
      ).toBe(true);
      expect(await revokeAllowance(harness.backend, ref, rule)).toBe(false);
      expect(await listAllowances(harness.backend, ref)).toEqual([]);
      await harness.send(ref, "trade");
      const [again] = await waiting(ref);
      await decide(ref, again?.key ?? "", { decision: "reject" });
      await harness.ended(ref, (one) => one.number === 3);
      expect(trades).toHaveLength(2);
      const audit = await harness.backend.store.audit.list(harness.actor.tenant, { after: 0, limit: 100 });
      expect(audit.map(({ action }) => action).filter((action) => action !== "approval.rejected")).toEqual([
        "approval.approved",
        "approval.always",
        "approval.passed",
        "approval.revoked",
      ]);
      expect(audit.find(({ action }) => action === "approval.revoked")?.detail).toBe('{"from":"device-1"}');
    });

    it("is needed again when the description of an allowed tool has changed, also after a change back", async () => {
      await open();
      const first = await harness.worker([broker(true, 1, "Buys shares.")]);
      const ref = await harness.session();
      await harness.send(ref, "trade");
      await decide(ref, (await waiting(ref))[0]?.key ?? "", { always: true });
      await harness.ended(ref, ({ number }) => number === 1);
      expect(approvalsOf(await harness.ask(ref, "trade"))).toEqual([]);
      await first.shutdown();
      const second = await harness.worker([broker(true, 1, "Buys shares, and sells the rest.")]);
      await harness.send(ref, "trade");
      const [asked] = await waiting(ref);
      expect(asked?.offers_always).toBe(true);
      expect(await listAllowances(harness.backend, ref)).toEqual([]);
      await decide(ref, asked?.key ?? "", { decision: "reject" });
      await harness.ended(ref, ({ number }) => number === 3);
      await second.shutdown();
      await harness.worker([broker(true, 1, "Buys shares.")]);
      await harness.send(ref, "trade");
      await decide(ref, (await waiting(ref))[0]?.key ?? "", { decision: "reject" });
      await harness.ended(ref, ({ number }) => number === 4);
      expect(trades).toHaveLength(2);
      const audit = await harness.backend.store.audit.list(harness.actor.tenant, { after: 0, limit: 100 });
      expect(audit.filter(({ action }) => action === "approval.lapsed")).toHaveLength(1);
    });

    it("is audited: who decided what, when and from where", async () => {
      await open();
      await harness.worker([broker(true)]);
      const ref = await harness.session();
      await harness.send(ref, "trade");
      const [asked] = await waiting(ref);
      const { tenant, user } = harness.actor;
      await decide(ref, asked?.key ?? "", { decision: "reject", userId: user, clientId: "key:phone-7" });
      const { store } = harness.backend;
      const [row] = await store.audit.list(tenant, { after: 0, limit: 100 });
      expect(row).toMatchObject({
        action: "approval.rejected",
        actor: await store.userNumbers.numberOf(tenant, user),
        subject: expect.stringContaining(ref.session),
        detail: '{"from":"key:phone-7","version":1}',
      });
      expect(Number(row?.at)).toBeGreaterThan(0);
    });

    it("can't be allowed for the session unless the policy offers it, nor with another decision", async () => {
      await open();
      const agent = broker(() => true);
      await harness.worker([agent]);
      const ref = await harness.session();
      await harness.backend.store.allowances.add(ref, ruleFor(agent));
      await harness.send(ref, "trade");
      const [asked] = await waiting(ref);
      expect(asked?.offers_always).toBe(false);
      const key = asked?.key ?? "";
      for (const decision of ["approve", "reject"] as const)
        await expect(decide(ref, key, { decision, always: true })).rejects.toMatchObject({ code: "INVALID" });
      await decide(ref, key, { decision: "reject" });
      await harness.ended(ref, () => true);
      expect(trades).toEqual([]);
    });

    it("is granted by a session rule if the policy allows that, and not if the policy throws", async () => {
      await open();
      const agent = broker(({ count }) => (count > 1 ? brokenPolicy() : { canRemember: true }), 2);
      await harness.worker([agent]);
      const ref = await harness.session();
      await harness.backend.store.allowances.add(ref, ruleFor(agent));
      await harness.send(ref, "trade");
      const [asked] = await waiting(ref);
      expect(asked?.actions[0]?.input).toMatchObject({ count: 2 });
      await decide(ref, asked?.key ?? "", { decision: "reject" });
      await harness.ended(ref, () => true);
      expect(trades).toEqual([{ symbol: "VNM", count: 1 }]);
    });

    it("stays pending for other waiting calls when one of them is allowed for the session", async () => {
      await open();
      await harness.worker([broker(true, 2)]);
      const ref = await harness.session();
      await harness.send(ref, "trade");
      const [first, second] = await waiting(ref, 2);
      await decide(ref, first?.key ?? "", { always: true });
      expect((await waiting(ref))[0]?.key).toBe(second?.key);
      await decide(ref, second?.key ?? "", { decision: "reject" });
      await harness.ended(ref, () => true);
      expect(trades).toHaveLength(1);
    });

    it("is withdrawn by a stop, and no tool runs after that", async () => {
      await open();
      await harness.worker([broker(true)]);
      const ref = await harness.session();
      await harness.send(ref, "trade");
      const [asked] = await waiting(ref);
      await harness.stop(ref);
      const turn = await harness.ended(ref, () => true);
      expect(turn.status).toBe("user_stopped");
      expect(approvalsOf(turn)[0]?.status).toBe("cancelled");
      expect(await decide(ref, asked?.key ?? "")).toMatchObject({ applied: false, reason: "status" });
      expect(trades).toEqual([]);
    });

    it("survives its worker, and the tool runs once", async () => {
      await open();
      const first = await harness.worker([broker(true)]);
      const ref = await harness.session();
      await harness.send(ref, "trade");
      const [asked] = await waiting(ref);
      await first.shutdown();
      const decided = await decide(ref, asked?.key ?? "");
      expect(decided.applied).toBe(true);
      await harness.worker([broker(true)]);
      const turn = await harness.ended(ref, () => true);
      expect(outline(turn)).toContain("result trade success traded 1 VNM");
      expect(approvalsOf(turn)).toHaveLength(1);
      expect(trades).toHaveLength(1);
    });

    it("applies one of many concurrent decisions", async () => {
      await open();
      await harness.worker([broker(true)]);
      const ref = await harness.session();
      await harness.send(ref, "trade");
      const [asked] = await waiting(ref);
      const wishes = ["approve", "reject"] as const;
      const results = await Promise.all(
        Array.from({ length: 20 }, (_, n) =>
          decide(ref, asked?.key ?? "", { decision: wishes[n % 2] ?? "reject" }),
        ),
      );
      expect(results.filter(({ applied }) => applied)).toHaveLength(1);
      const turn = await harness.ended(ref, () => true);
      expect(trades).toHaveLength(approvalsOf(turn)[0]?.status === "approved" ? 1 : 0);
    });
  });
}

function approvalsOf(turn: Turn | undefined): ApprovalBlock[] {
  if (turn === undefined) return [];
  return listBlocks(turn).filter((block): block is ApprovalBlock => block.kind === "approval");
}
