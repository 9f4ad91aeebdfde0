/** The contract of parked turns: a turn that only waits for users is in no worker, and users see no difference. */
import { type ApprovalBlock, listBlocks, type Turn } from "@turnstream/protocol";
import { interactionId } from "@turnstream/protocol/writer";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { script } from "../../../src/models/script-parts.ts";
import { scriptedModel } from "../../../src/models/scripted-model.ts";
import { type Agent, defineAgent } from "../../../src/agent/define/agent.ts";
import { tool } from "../../../src/agent/define/tool.ts";
import type { WorkerOptions } from "../../../src/worker/options.ts";
import type { Worker } from "../../../src/worker/worker.ts";
import { decideApproval } from "../../../src/session/interactions/decide-approval.ts";
import type { SessionRef } from "../../../src/util/refs.ts";
import { sleep } from "../../../src/util/sleep.ts";
import { outline, TurnHarness, type HarnessBackend } from "../turn-harness.ts";

const parking = (parkAfterMs: number): Partial<WorkerOptions> => ({ parkAfterMs, pollIntervalMs: 200 });

const pending = (turn: Turn | undefined): ApprovalBlock[] =>
  turn === undefined
    ? []
    : listBlocks(turn).filter(
        (block): block is ApprovalBlock => block.kind === "approval" && block.status === "pending",
      );

export function parkedTurnsContract(name: string, makeBackend: () => Promise<HarnessBackend>): void {
  let harness: TurnHarness;
  let runs: string[];
  let slowToolEnds: Promise<void>;
  let endSlowTool: () => void;
  const open = async (backend?: HarnessBackend): Promise<void> => {
    harness = await TurnHarness.open(backend ?? (await makeBackend()));
    runs = [];
    slowToolEnds = new Promise((resolve) => (endSlowTool = resolve));
  };
  afterEach(() => harness.close());

  function broker(
    symbols: readonly string[],
    { timeoutMs = 3_600_000, besides = false, agent = "broker" } = {},
  ): Agent {
    const trade = tool({
      input: z.object({ symbol: z.string() }),
      approval: { timeoutMs },
      run: ({ symbol }) => {
        runs.push(symbol);
        return `traded ${symbol}`;
      },
    });
    const slow = tool({ idempotent: true, run: () => slowToolEnds.then(() => "slow") });
    const calls = symbols.map((symbol) => script.toolCall("trade", { symbol }));
    const all = besides ? [...calls, script.toolCall("slow", {})] : calls;
    const model = scriptedModel([[script.reasoning("hm"), ...all], [script.text("done")]]);
    return defineAgent({ name: agent, model, tools: { trade, slow }, title: false });
  }

  async function parked(ref: SessionRef, worker: Worker, approvals: number): Promise<ApprovalBlock[]> {
    const blocks = await harness.until(ref, 20_000, ({ turns }) => {
      const found = pending(turns.last());
      return found.length === approvals ? found : null;
    });
    await expect.poll(() => worker.running, { timeout: 60_000 }).toBe(0);
    return blocks;
  }

  const decide = async (ref: SessionRef, block: ApprovalBlock | undefined) => {
    if (block === undefined) throw new Error("no approval is pending");
    await decideApproval(harness.backend, ref, {
      key: interactionId(block),
      decision: "approve",
      userId: "an",
    });
  };

  describe(`parked turns: ${name}`, () => {
    it("leaves the worker, and continues after the decision with nothing superseded", async () => {
      await open();
      const agents = [broker(["VNM"])];
      const ref = await harness.session();
      // A poll would find the decision too, but only after the test.
      const worker = await harness.worker(agents, { ...parking(50), pollIntervalMs: 3_600_000 });
      await harness.send(ref, "go");
      const [block] = await parked(ref, worker, 1);
      expect(await harness.backend.store.running.interrupted([ref])).toEqual([]);
      const before = (await harness.events(ref)).length;
      await decide(ref, block);
      const turn = await harness.ended(ref, () => true);
      expect(outline(turn).filter((line) => line.startsWith("result"))).toEqual([
        "result trade success traded VNM",
      ]);
      expect(turn.items.toArray().some((item) => item?.kind === "superseded")).toBe(false);
      expect(
        (await harness.events(ref)).slice(before).filter(({ type }) => type.startsWith("notice")),
      ).toEqual([]);
    });

    it("continues in a worker that started after it was parked, and deploys don't touch it", async () => {
      await open();
      const agents = [broker(["VNM"])];
      const ref = await harness.session();
      const worker = await harness.worker(agents, parking(50));
      await harness.send(ref, "go");
      const [block] = await parked(ref, worker, 1);
      await worker.shutdown();
      for (let deploys = 0; deploys < 3; deploys++) await (await harness.worker(agents)).shutdown();
      expect((await harness.backend.store.running.get(ref))?.attempts).toBe(1);
      await harness.worker(agents);
      await decide(ref, block);
      expect((await harness.ended(ref, () => true)).status).toBe("end_turn");
      expect(runs).toHaveLength(1);
    });

    it("continues for each of several decisions, and each tool runs once", async () => {
      await open();
      const ref = await harness.session();
      const worker = await harness.worker([broker(["VNM", "FPT", "HPG"])], parking(50));
      await harness.send(ref, "go");
      for (let left = 3; left > 0; left--) {
        const [block] = await parked(ref, worker, left);
        await decide(ref, block);
      }
      expect((await harness.ended(ref, () => true)).status).toBe("end_turn");
      expect(runs.toSorted()).toEqual(["FPT", "HPG", "VNM"]);
    });

    it("stays while another call of its step runs", async () => {
      await open();
      const ref = await harness.session();
      const worker = await harness.worker(
        [broker(["VNM"], { besides: true }), broker(["FPT"], { agent: "quick" })],
        parking(100),
      );
      await harness.send(ref, "go");
      await harness.until(ref, 20_000, ({ turns }) => pending(turns.last())[0] ?? null);
      // A turn that asks later leaves.
      const other = await harness.session();
      await harness.send(other, "go", { agent: "quick" });
      await harness.until(other, 20_000, ({ turns }) => pending(turns.last())[0] ?? null);
      await expect.poll(() => worker.running).toBe(1);
      endSlowTool();
      await parked(ref, worker, 1);
      const { turns } = await harness.state(ref);
      expect(outline(turns.last() as Turn)).toContain("result slow success slow");
    });

    it("ends after a stop request", async () => {
      await open();
      const ref = await harness.session();
      const worker = await harness.worker([broker(["VNM"])], parking(50));
      await harness.send(ref, "go");
      await parked(ref, worker, 1);
      await harness.stop(ref);
      expect((await harness.ended(ref, () => true)).status).toBe("user_stopped");
      expect(runs).toEqual([]);
    });

    it("continues after the time for the decision has passed", async () => {
      await open();
      const ref = await harness.session();
      const worker = await harness.worker([broker(["VNM"], { timeoutMs: 1_000 })], {
        ...parking(50),
        pollIntervalMs: 100,
      });
      await harness.send(ref, "go");
      await parked(ref, worker, 1);
      const turn = await harness.ended(ref, () => true, 30_000);
      expect(turn.status).toBe("end_turn");
      expect(runs).toEqual([]);
    });

    it("loses no decision that arrives while it is being parked", async () => {
      await open();
      await harness.worker([broker(["VNM"])], parking(1));
      const sessions = await Promise.all(Array.from({ length: 12 }, () => harness.session()));
      await Promise.all(
        sessions.map(async (ref, n) => {
          await harness.send(ref, "go");
          const block = await harness.until(ref, 20_000, ({ turns }) => pending(turns.last())[0] ?? null);
          const { interactions } = harness.backend.store;
          await expect
            .poll(() => interactions.byKey(ref, interactionId(block)), { timeout: 60_000, interval: 1 })
            .not.toBeNull();
          await sleep(n);
          await decide(ref, block);
          expect((await harness.ended(ref, () => true, 30_000)).status).toBe("end_turn");
        }),
      );
      expect(runs).toHaveLength(12);
    });
  });
}
