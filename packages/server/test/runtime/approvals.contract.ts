/** Approvals: a call waits for a person, and exactly one decision wins, whoever dies meanwhile. */
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { type ApprovalBlock, blocksOf, type Turn } from "@turnstream/protocol";
import { call, say, think } from "../../src/models/script-parts.ts";
import { scripted } from "../../src/models/scripted.ts";
import { type Agent, defineAgent } from "../../src/runtime/define/agent.ts";
import type { Approval } from "../../src/runtime/define/approval.ts";
import { tool } from "../../src/runtime/define/tool.ts";
import { decideApproval, type Decision } from "../../src/session/decide.ts";
import type { Ref } from "../../src/store/refs.ts";
import { outline, Stage, type StageParts } from "./stage.ts";

type Trade = { symbol: string; count: number };

function brokenPolicy(): never {
  throw new Error("no policy today");
}

export function approvalContract(makeParts: () => Promise<StageParts>): void {
  let stage: Stage;
  let trades: Trade[];
  const open = async (): Promise<void> => {
    stage = await Stage.open(await makeParts());
    trades = [];
  };
  function broker(approval: Approval<Trade>, calls = 1): Agent {
    const trade = tool({
      label: "Trading",
      input: z.object({ symbol: z.string(), count: z.int().positive() }),
      approval,
      run: (input) => {
        trades.push(input);
        return `traded ${input.count} ${input.symbol}`;
      },
    });
    const wanted = Array.from({ length: calls }, (_, n) => call("trade", { symbol: "VNM", count: n + 1 }));
    return defineAgent({
      name: "broker",
      model: scripted([[think("hm"), ...wanted], [say("done")]]),
      tools: { trade },
    });
  }

  const waiting = (ref: Ref, count = 1): Promise<readonly ApprovalBlock[]> =>
    stage.until(ref, 10_000, async (state) => {
      const asked = approvalsOf(state.turns.last()).filter(({ status }) => status === "pending");
      const rows = await stage.parts.store.interactions.list(ref, { pending: true });
      return asked.length === count && rows.length === count ? asked : null;
    });
  const decide = (ref: Ref, key: string, decision: Partial<Decision> = {}) =>
    decideApproval(stage.parts, ref, { key, decision: "approve", by: stage.actor.user, ...decision });

  describe("an approval", () => {
    afterEach(() => stage.close());

    it("is waited for inside its group, and then the tool runs", async () => {
      await open();
      await stage.worker([broker(true)]);
      const ref = await stage.session();
      await stage.send(ref, "trade");
      const [asked] = await waiting(ref);
      expect(asked).toMatchObject({ timeout_seconds: 300, editable: false });
      expect(asked?.actions).toEqual([
        { name: "trade", label: "Trading", input: { symbol: "VNM", count: 1 } },
      ]);
      expect(trades).toEqual([]);
      const decided = await decide(ref, asked?.key ?? "", { digest: asked?.digest ?? "" });
      expect(decided.won).toBe(true);
      const turn = await stage.ended(ref, () => true);
      expect(outline(turn)).toEqual([
        "(",
        "thinking hm",
        'call trade {"symbol":"VNM","count":1}',
        "approval",
        "result trade success traded 1 VNM",
        ") Trading",
        "text final done",
      ]);
      expect(approvalsOf(turn)[0]).toMatchObject({ status: "approved", by: stage.actor.user });
      expect(trades).toEqual([{ symbol: "VNM", count: 1 }]);
    });

    it.each([
      [{ symbol: "FPT", count: 7 }, "result trade success traded 7 FPT"],
      [{ symbol: "FPT", count: -1 }, "result trade error This did not work."],
    ] as const)(
      "can change the arguments, which the tool's schema still has to like: %o",
      async (input, line) => {
        await open();
        await stage.worker([broker({ editable: true })]);
        const ref = await stage.session();
        await stage.send(ref, "trade");
        const [asked] = await waiting(ref);
        await decide(ref, asked?.key ?? "", { decision: "edit", input });
        const turn = await stage.ended(ref, () => true);
        expect(outline(turn)).toContain(line);
        expect(approvalsOf(turn)[0]?.status).toBe("edited");
      },
    );

    it("refuses edits where there may be none, and decisions on something else", async () => {
      await open();
      await stage.worker([broker(true)]);
      const ref = await stage.session();
      await stage.send(ref, "trade");
      const [asked] = await waiting(ref);
      const key = asked?.key ?? "";
      await expect(decide(ref, key, { decision: "edit", input: {} })).rejects.toMatchObject({
        code: "INVALID",
      });
      await expect(decide(ref, "nothing")).rejects.toMatchObject({ code: "NOT_FOUND" });
      expect(await decide(ref, key, { digest: "sha256:other" })).toMatchObject({ won: false, why: "digest" });
      await decide(ref, key, { decision: "reject", reason: "too many" });
      const turn = await stage.ended(ref, () => true);
      expect(outline(turn)).toContain("result trade error You rejected this.");
      expect(turn.status).toBe("end_turn");
      expect(trades).toEqual([]);
    });

    it("counts as rejected when nobody decides in time", async () => {
      await open();
      await stage.worker([broker({ timeoutSeconds: 1 })]);
      const ref = await stage.session();
      const turn = await stage.ask(ref, "trade");
      expect(approvalsOf(turn)[0]?.status).toBe("timed_out");
      expect(outline(turn)).toContain("result trade error Nobody approved this in time.");
      expect(trades).toEqual([]);
    });

    it("is asked for only where the policy says so", async () => {
      await open();
      await stage.worker([broker(({ count }) => count > 1, 2)]);
      const ref = await stage.session();
      await stage.send(ref, "trade");
      const [asked] = await waiting(ref);
      expect(asked?.actions[0]?.input).toMatchObject({ count: 2 });
      await decide(ref, asked?.key ?? "");
      await stage.ended(ref, () => true);
      expect(trades.toSorted((a, b) => a.count - b.count)).toEqual([
        { symbol: "VNM", count: 1 },
        { symbol: "VNM", count: 2 },
      ]);
    });

    it("is asked for when the policy fails", async () => {
      await open();
      await stage.worker([broker(brokenPolicy)]);
      const ref = await stage.session();
      await stage.send(ref, "trade");
      const [asked] = await waiting(ref);
      expect(trades).toEqual([]);
      await decide(ref, asked?.key ?? "");
      await stage.ended(ref, () => true);
      expect(trades).toHaveLength(1);
      expect(stage.errors).toHaveLength(1);
    });

    it("waits side by side with others, each routed to its own call", async () => {
      await open();
      await stage.worker([broker(true, 3)]);
      const ref = await stage.session();
      await stage.send(ref, "trade");
      const asked = await waiting(ref, 3);
      const byCount = new Map(
        asked.map(({ actions, key }) => [(actions[0]?.input as Trade | undefined)?.count, key]),
      );
      await decide(ref, byCount.get(2) ?? "", { decision: "reject" });
      await decide(ref, byCount.get(3) ?? "");
      await decide(ref, byCount.get(1) ?? "", { decision: "reject" });
      const turn = await stage.ended(ref, () => true);
      expect(trades).toEqual([{ symbol: "VNM", count: 3 }]);
      expect(turn.status).toBe("end_turn");
    });

    it("is withdrawn by a stop, and nothing runs after that", async () => {
      await open();
      await stage.worker([broker(true)]);
      const ref = await stage.session();
      await stage.send(ref, "trade");
      const [asked] = await waiting(ref);
      await stage.stop(ref);
      const turn = await stage.ended(ref, () => true);
      expect(turn.status).toBe("user_stopped");
      expect(approvalsOf(turn)[0]?.status).toBe("cancelled");
      expect(await decide(ref, asked?.key ?? "")).toMatchObject({ won: false, why: "status" });
      expect(trades).toEqual([]);
    });

    it("survives its worker, and runs the tool once", async () => {
      await open();
      const first = await stage.worker([broker(true)]);
      const ref = await stage.session();
      await stage.send(ref, "trade");
      const [asked] = await waiting(ref);
      await first.leave();
      const decided = await decide(ref, asked?.key ?? "");
      expect(decided.won).toBe(true);
      await stage.worker([broker(true)]);
      const turn = await stage.ended(ref, () => true);
      expect(outline(turn)).toContain("result trade success traded 1 VNM");
      expect(approvalsOf(turn)).toHaveLength(1);
      expect(trades).toHaveLength(1);
    });

    it("has one winner of many", async () => {
      await open();
      await stage.worker([broker(true)]);
      const ref = await stage.session();
      await stage.send(ref, "trade");
      const [asked] = await waiting(ref);
      const wishes = ["approve", "reject"] as const;
      const results = await Promise.all(
        Array.from({ length: 20 }, (_, n) =>
          decide(ref, asked?.key ?? "", { decision: wishes[n % 2] ?? "reject" }),
        ),
      );
      expect(results.filter(({ won }) => won)).toHaveLength(1);
      const turn = await stage.ended(ref, () => true);
      expect(trades).toHaveLength(approvalsOf(turn)[0]?.status === "approved" ? 1 : 0);
    });
  });
}

function approvalsOf(turn: Turn | undefined): ApprovalBlock[] {
  if (turn === undefined) return [];
  return blocksOf(turn).filter((block): block is ApprovalBlock => block.kind === "approval");
}
