/** The contract of a turn from a message to its end, on any store, log and engine. */
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { script } from "../../../src/models/script-parts.ts";
import { scriptedModel } from "../../../src/models/scripted-model.ts";
import { defineAgent } from "../../../src/agent/define/agent.ts";
import { tool, ToolError } from "../../../src/agent/define/tool.ts";
import { outline, TurnHarness, type HarnessBackend } from "../turn-harness.ts";

const greet = tool({
  label: "Greeting",
  input: z.object({ name: z.string() }),
  run: ({ name }) => `Hello ${name}`,
});

export function turnContract(makeBackend: () => Promise<HarnessBackend>): void {
  let harness: TurnHarness;
  const open = async (): Promise<TurnHarness> => (harness = await TurnHarness.open(await makeBackend()));

  describe("turn", () => {
    afterEach(() => harness.close());

    it("thinks, calls a tool and answers", async () => {
      const s = await open();
      const model = scriptedModel([
        [script.reasoning("A name."), script.toolCall("greet", { name: "Ada" }, { chunks: 3 })],
        [script.text("Done: Hello Ada")],
      ]);
      await s.worker([defineAgent({ name: "a", model, tools: { greet } })]);
      const ref = await s.session();
      const turn = await s.ask(ref, "Greet Ada");
      expect(outline(turn)).toEqual([
        "(",
        "thinking A name.",
        'call greet {"name":"Ada"}',
        "result greet success Hello Ada",
        ") Greeting",
        "text final Done: Hello Ada",
      ]);
      expect(turn.status).toBe("end_turn");
      expect(turn.usage?.calls).toBe(2);
      expect(s.errors).toEqual([]);
      expect((await s.state(ref)).title).toBe("Greet Ada");
      const left = await s.backend.store.journal.read(ref, turn.id);
      expect(left.map(({ key }) => key.split("/")[0])).toEqual(["start", "call"]);
    });

    it("runs calls in parallel and writes each result", async () => {
      const s = await open();
      const model = scriptedModel([
        [
          script.toolCall("slow", { ms: 60 }),
          script.toolCall("slow", { ms: 10 }),
          script.toolCall("slow", { ms: -1 }),
        ],
        [script.text("ok")],
      ]);
      const slow = tool({
        input: z.object({ ms: z.number() }),
        run: async ({ ms }) => {
          if (ms < 0) throw new ToolError("no such time", { modelMessage: "times are positive" });
          await new Promise((resolve) => setTimeout(resolve, ms));
          return { content: { ms }, blocks: [{ type: "text", text: `${ms} ms` }] };
        },
      });
      await s.worker([defineAgent({ name: "a", model, tools: { slow } })]);
      const turn = await s.ask(await s.session(), "go");
      const lines = outline(turn);
      // They may start in any order.
      expect(lines.filter((line) => line.startsWith("result")).toSorted()).toEqual([
        "result slow error no such time",
        "result slow success 10 ms",
        "result slow success 60 ms",
      ]);
      expect(turn.status).toBe("end_turn");
    });

    it("answers queued messages one after the other", async () => {
      const s = await open();
      const model = scriptedModel(({ text }) => [script.delay(20), script.text(`You wrote ${text}`)]);
      await s.worker([defineAgent({ name: "a", model })]);
      const ref = await s.session();
      const ids = [await s.send(ref, "one"), await s.send(ref, "two"), await s.send(ref, "three")];
      await s.ended(ref, (turn) => turn.message?.id === ids[2]);
      const { turns } = await s.state(ref);
      expect(turns.toArray().map((turn) => outline(turn))).toEqual([
        ["text final You wrote one"],
        ["text final You wrote two"],
        ["text final You wrote three"],
      ]);
      expect(turns.toArray().map((turn) => turn.number)).toEqual([1, 2, 3]);
    });

    it("runs sub-agents in parallel inside their calls", async () => {
      const s = await open();
      const helper = defineAgent({
        name: "helper",
        label: "Helper",
        model: scriptedModel(({ text }) => [
          script.reasoning("hm"),
          script.text(`about ${text}`, { paceMs: 1 }),
        ]),
      });
      const model = scriptedModel([
        [script.toolCall("helper", { task: "x" }), script.toolCall("helper", { task: "y" })],
        [script.text("both done")],
      ]);
      await s.worker([defineAgent({ name: "a", model, subAgents: { helper } })]);
      const turn = await s.ask(await s.session(), "go");
      expect(turn.runs.map(({ agent, status }) => `${agent} ${status}`)).toEqual([
        "a completed",
        "helper completed",
        "helper completed",
      ]);
      expect(outline(turn).filter((line) => line.startsWith("result"))).toEqual([
        "result helper success about x",
        "result helper success about y",
      ]);
      expect(turn.usage?.calls).toBe(4);
    });

    it("shares a thought outside of groups", async () => {
      const s = await open();
      const model = scriptedModel([
        [script.reasoning("first"), script.toolCall("greet", { name: "A" })],
        [script.toolCall("share_thought", { thought: "So far so good." })],
        [script.toolCall("greet", { name: "B" })],
        [script.text("end")],
      ]);
      await s.worker([defineAgent({ name: "a", model, tools: { greet }, shareThought: true })]);
      const turn = await s.ask(await s.session(), "go");
      expect(outline(turn)).toEqual([
        "(",
        "thinking first",
        'call greet {"name":"A"}',
        "result greet success Hello A",
        'call hidden share_thought {"thought":"So far so good."}',
        ") Greeting",
        "text part So far so good.",
        "result hidden share_thought success ",
        "(",
        'call greet {"name":"B"}',
        "result greet success Hello B",
        ") Greeting",
        "text final end",
      ]);
    });

    it("retries a busy model and shows it", async () => {
      const s = await open();
      const model = scriptedModel([
        [script.error({ status: 429, retryAfterMs: 20 }, { times: 2 }), script.text("at last")],
      ]);
      await s.worker([defineAgent({ name: "a", model, retry: { initialDelayMs: 5 } })]);
      const turn = await s.ask(await s.session(), "go");
      expect(turn.status).toBe("end_turn");
      expect(outline(turn).filter((line) => line.startsWith("thinking"))).toHaveLength(2);
      expect(outline(turn).at(-1)).toBe("text final at last");
    });

    it("supersedes the output of a model that broke off", async () => {
      const s = await open();
      const model = scriptedModel([[script.text("half of it"), script.disconnect({ times: 2 })]]);
      await s.worker([defineAgent({ name: "a", model, retry: { initialDelayMs: 5 } })]);
      const ref = await s.session();
      const turn = await s.ask(ref, "go");
      expect(outline(turn).at(-1)).toBe("text final half of it");
      expect(outline(turn).filter((line) => line.includes("half"))).toHaveLength(1);
      const takeovers = (await s.events(ref)).filter((event) => event.type === "turn.takeover");
      expect(takeovers).toHaveLength(2);
    });

    it("ends with a retryable error when the model stays unreachable", async () => {
      const s = await open();
      const model = scriptedModel([[script.error({ status: 529 }, { times: 3 }), script.text("there")]]);
      await s.worker([defineAgent({ name: "a", model, retry: { maxAttempts: 3, initialDelayMs: 1 } })]);
      const ref = await s.session();
      const turn = await s.ask(ref, "go");
      expect(turn.status).toBe("error");
      expect(outline(turn).at(-1)).toBe("notice error LLM_RATE_LIMITED");
    });

    it("stops immediately during the delay before a retry", async () => {
      const s = await open();
      const model = scriptedModel([[script.text("half"), script.disconnect()]]);
      // Everything else that could end it takes longer than the test waits.
      await s.worker([defineAgent({ name: "a", model, retry: { initialDelayMs: 600_000 } })], {
        pollIntervalMs: 3_600_000,
      });
      const ref = await s.session();
      await s.send(ref, "go");
      // Users see the delay as thinking.
      await s.until(ref, 60_000, ({ turns }) =>
        turns
          .last()
          ?.items.toArray()
          .some((item) => item?.kind === "thinking")
          ? true
          : null,
      );
      await s.stop(ref);
      const turn = await s.ended(ref, () => true);
      expect(outline(turn).at(-1)).toBe("notice stopped");
      expect(outline(turn).join()).not.toContain("half");
    });

    it("stops with everything closed", async () => {
      const s = await open();
      const model = scriptedModel([
        [
          script.toolCall("stuck", {}),
          script.toolCall("helper", { task: "x" }),
          script.toolCall("greet", { name: "Z" }),
        ],
        [script.text("never")],
      ]);
      const stuck = tool({ input: z.object({}), run: () => new Promise<string>(() => {}) });
      const helper = defineAgent({
        name: "helper",
        model: scriptedModel([
          [script.toolCall("stuck", {}), script.text("and ", { paceMs: 5 })],
          [script.text("no")],
        ]),
        tools: { stuck },
      });
      const agent = defineAgent({ name: "a", model, tools: { stuck, greet }, subAgents: { helper } });
      await s.worker([agent], { pollIntervalMs: 600_000, shutdownGraceMs: 600_000 });
      const ref = await s.session();
      await s.send(ref, "go");
      await s.until(ref, 30_000, (state) => {
        const turn = state.turns.last();
        const lines = turn === undefined ? [] : outline(turn);
        const stuckCalls = lines.filter((line) => line.includes("result stuck running"));
        return stuckCalls.length === 2 && lines.includes("result greet success Hello Z") ? true : null;
      });
      expect((await s.stop(ref)).receipt).toBe("stopping");
      expect((await s.stop(ref)).receipt).not.toBe("stopping");
      const turn = await s.ended(ref, () => true);
      expect(turn.status).toBe("user_stopped");
      expect(outline(turn).at(-1)).toBe("notice stopped");
      expect(outline(turn).filter((line) => line.includes("result stuck cancelled"))).toHaveLength(2);
      expect(outline(turn)).toContain("result greet success Hello Z");
      expect(turn.runs.map((run) => run.status)).toEqual(["cancelled", "cancelled"]);
    });
  });
}
