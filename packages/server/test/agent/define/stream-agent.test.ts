/**
 * Tests stream agents: a developer's own loop as the body of a turn, with the AI SDK's streamText or any iterable of
 * events. In memory.
 */
import { stepCountIs, streamText, tool as aiTool } from "ai";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { createMemoryLog } from "../../../src/log/memory.ts";
import { script } from "../../../src/models/script-parts.ts";
import { scriptedModel } from "../../../src/models/scripted-model.ts";
import type { StreamBodyEvent } from "../../../src/agent/define/stream-body.ts";
import { defineStreamAgent } from "../../../src/agent/define/stream-agent.ts";
import { createMemorySignals } from "../../../src/signals/memory.ts";
import { createMemoryStore } from "@turnstream/testing";
import { outline, TurnHarness } from "../../engine/turn-harness.ts";

let harness: TurnHarness;
beforeEach(async () => {
  harness = await TurnHarness.open({
    log: createMemoryLog(),
    store: createMemoryStore(),
    signals: createMemorySignals(),
  });
});
afterEach(() => harness.close());

async function* good(): AsyncGenerator<StreamBodyEvent> {
  yield { type: "thinking.start", block: "t" };
  yield { type: "thinking.delta", block: "t", text: "hm" };
  yield { type: "thinking.end", block: "t" };
  yield { type: "text.start", block: "a", part: false };
  yield { type: "text.delta", block: "a", text: "Hello" };
  yield { type: "text.end", block: "a", final: true };
}
async function* paying(): AsyncGenerator<StreamBodyEvent> {
  yield { type: "request", block: "p", kind: "payment", spec: {} };
}
async function* settling(): AsyncGenerator<StreamBodyEvent> {
  const update = { type: "payment.update", block: "p", version: 1, status: "succeeded" };
  yield update as unknown as StreamBodyEvent;
}
async function* bad(): AsyncGenerator<StreamBodyEvent> {
  yield { type: "text.start", block: "a", part: false };
  yield { type: "text.start", block: "b", part: false };
}

describe("defineStreamAgent", () => {
  it("writes what streamText of the AI SDK streams, including tool calls", async () => {
    const model = scriptedModel([
      [
        script.reasoning("Let me look."),
        script.toolCall("look", { at: "sky" }, { chunks: 3 }),
        script.toolCall("look", { at: "sea" }),
      ],
      [script.text("Blue, "), script.toolCall("look", { at: "nothing" })],
      [script.text("all of it.")],
    ]);
    const agent = defineStreamAgent({
      name: "own",
      run: ({ prompt, signal }) =>
        streamText({
          model,
          messages: prompt,
          abortSignal: signal,
          stopWhen: stepCountIs(5),
          tools: {
            look: aiTool({
              inputSchema: z.object({ at: z.string() }),
              execute: async ({ at }) => {
                if (at === "nothing") throw new Error("nothing there");
                return `${at} is blue`;
              },
            }),
          },
        }),
    });
    await harness.worker([agent]);
    const turn = await harness.ask(await harness.session(), "What colour?");
    expect(turn.status).toBe("end_turn");
    expect(outline(turn)).toEqual([
      "(",
      "thinking Let me look.",
      'call look {"at":"sky"}',
      'call look {"at":"sea"}',
      "result look success sky is blue",
      "result look success sea is blue",
      ") Look",
      "text Blue, ",
      "(",
      'call look {"at":"nothing"}',
      "result look error This did not work.",
      ") Look",
      "text final all of it.",
    ]);
    expect(turn.usage?.calls).toBe(3);
  });

  it("ends the turn at a tool of streamText that needs approval, without running it", async () => {
    const ran: string[] = [];
    const agent = defineStreamAgent({
      name: "own",
      run: ({ prompt }) =>
        streamText({
          model: scriptedModel([[script.toolCall("look", {})], [script.text("never")]]),
          messages: prompt,
          stopWhen: stepCountIs(5),
          tools: {
            look: aiTool({
              inputSchema: z.object({}),
              needsApproval: true,
              execute: () => void ran.push("look"),
            }),
          },
        }),
    });
    await harness.worker([agent]);
    const turn = await harness.ask(await harness.session(), "look");
    expect([turn.status, ran]).toEqual(["end_turn", []]);
  });

  it("ends with an error if the stream has one, and stops when the user stops the turn", async () => {
    const broken = defineStreamAgent({
      name: "broken",
      run: ({ prompt }) =>
        streamText({
          model: scriptedModel([[script.text("half"), script.disconnect()]]),
          messages: prompt,
          maxRetries: 0,
          onError: () => {},
        }),
    });
    const slow = defineStreamAgent({
      name: "slow",
      run: ({ prompt, signal }) =>
        streamText({
          model: scriptedModel([[script.text("a long story ".repeat(100), { paceMs: 5 })]]),
          messages: prompt,
          abortSignal: signal,
        }),
    });
    await harness.worker([broken, slow]);
    const failed = await harness.ask(await harness.session(), "go");
    expect(failed.status).toBe("error");
    expect(outline(failed)).toEqual(["text half", "notice error LLM_ERROR"]);
    const ref = await harness.session();
    await harness.send(ref, "go", { agent: "slow" });
    await harness.until(ref, 30_000, (state) => ((state.turns.last()?.open ?? 0) > 0 ? true : null));
    await harness.stop(ref);
    const stopped = await harness.ended(ref, () => true);
    expect(stopped.status).toBe("user_stopped");
  });

  it("accepts events and checks them against the rules", async () => {
    await harness.worker([
      defineStreamAgent({ name: "good", run: good }),
      defineStreamAgent({ name: "bad", run: bad }),
    ]);
    const ref = await harness.session();
    expect(outline(await harness.ask(ref, "go"))).toEqual(["thinking hm", "text final Hello"]);
    const failed = await harness.ask(ref, "go", { agent: "bad" });
    expect(outline(failed)).toEqual(["text ", "notice error SERVER_ERROR"]);
  });

  it.each([
    [paying, "the body made an invalid request: the worker doesn't have the feature of payment"],
    [settling, "the body yielded payment.update, which only a feature writes"],
  ])("refuses payments that it can't settle, with a clear error: %#", async (run, message) => {
    await harness.worker([defineStreamAgent({ name: "paying", run })]);
    const turn = await harness.ask(await harness.session(), "go");
    expect(outline(turn)).toEqual(["notice error SERVER_ERROR"]);
    expect(harness.errors.map(({ error }) => String(error)).join()).toContain(message);
  });

  it("is not resumed in the middle: it ends as an error or runs again from the start", async () => {
    let runs = 0;
    async function* once(): AsyncGenerator<StreamBodyEvent> {
      runs++;
      yield { type: "text.start", block: "a", part: false };
      yield { type: "text.delta", block: "a", text: `run ${runs}` };
      if (runs % 2 === 1) await new Promise(() => {});
      yield { type: "text.end", block: "a", final: true };
    }
    const agents = [
      defineStreamAgent({ name: "never", run: once }),
      defineStreamAgent({ name: "always", run: once, idempotent: true }),
    ];
    for (const agent of ["never", "always"]) {
      runs = 0;
      const first = await harness.worker(agents);
      const ref = await harness.session();
      await harness.send(ref, "go", { agent });
      await harness.until(ref, 30_000, (state) => ((state.turns.last()?.open ?? 0) > 0 ? true : null));
      const second = await harness.worker(agents);
      await first.shutdown();
      const turn = await harness.ended(ref, () => true);
      expect(turn.status).toBe(agent === "always" ? "end_turn" : "error");
      expect(outline(turn)).toEqual(
        agent === "always" ? ["text final run 2"] : ["notice error SERVER_ERROR"],
      );
      await second.shutdown();
    }
  });
});
