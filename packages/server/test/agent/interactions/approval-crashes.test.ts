/**
 * Kills a worker at every point of a turn with an approval, while the user decides at some time. The tool runs once, or
 * never after a rejection, and every event is legal.
 */
import { expect, it } from "vitest";
import { z } from "zod";
import { listBlocks } from "@turnstream/protocol";
import { script } from "../../../src/models/script-parts.ts";
import { scriptedModel } from "../../../src/models/scripted-model.ts";
import { defineAgent } from "../../../src/agent/define/agent.ts";
import { tool } from "../../../src/agent/define/tool.ts";
import { decideApproval } from "../../../src/session/interactions/decide-approval.ts";
import { crashPoints } from "../../engine/crash-injection.ts";
import { startCrashingTurn } from "../../engine/crashing-turn.ts";
import { outline } from "../../engine/turn-harness.ts";

async function play(crash: { afterCalls: number; isExecuted: boolean }, decision: "approve" | "reject") {
  const runs: string[] = [];
  const trade = tool({
    input: z.object({ n: z.number() }),
    approval: true,
    run: (_, { idempotencyKey }) => {
      runs.push(idempotencyKey);
      return "traded";
    },
  });
  const agent = defineAgent({
    name: "a",
    model: scriptedModel([
      [script.toolCall("trade", { n: 1 }), script.toolCall("trade", { n: 2 })],
      [script.text("done")],
    ]),
    tools: { trade },
    title: false,
  });
  const { parts, harness, ref, died, crashPoint } = await startCrashingTurn(() => agent, crash);
  const approver = setInterval(() => {
    void (async () => {
      const asked = await parts.store.interactions.list(ref, { pending: true });
      for (const { key } of asked)
        await decideApproval(parts, ref, { key, decision, userId: harness.actor.user });
    })();
  }, 15);
  const turn = await harness.ended(ref, () => true);
  clearInterval(approver);
  return { turn, runs, died, calls: crashPoint.calls, harness };
}

it("runs an approved call once and a rejected call never", async () => {
  for (const decision of ["approve", "reject"] as const) {
    const whole = await play({ afterCalls: Infinity, isExecuted: false }, decision);
    await whole.harness.close();
    expect(whole.calls).toBeGreaterThan(15);
    for (const afterCalls of crashPoints(2, whole.calls)) {
      const one = await play({ afterCalls, isExecuted: afterCalls % 2 === 0 }, decision);
      const what = `${decision}, death after ${afterCalls} calls at ${one.died.join()}`;
      expect(new Set(one.runs).size, what).toBe(one.runs.length);
      expect(one.turn.status, what).toBe("end_turn");
      expect(outline(one.turn).at(-1), what).toBe("text final done");
      const approvals = listBlocks(one.turn).flatMap((block) =>
        block.kind === "approval" ? [block.status] : [],
      );
      expect(approvals, what).toEqual(
        decision === "approve" ? ["approved", "approved"] : ["rejected", "rejected"],
      );
      if (decision === "reject") expect(one.runs, what).toEqual([]);
      expect(one.harness.errors, what).toEqual([]);
      await one.harness.close();
    }
  }
});
