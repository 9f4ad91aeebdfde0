/** Tests that a worker registers its agents, and that an agent or a message sets the display mode of a turn. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { createMemoryLog } from "../../src/log/memory.ts";
import { script } from "../../src/models/script-parts.ts";
import { scriptedModel } from "../../src/models/scripted-model.ts";
import { defineAgent, type DisplayMode } from "../../src/agent/define/agent.ts";
import { defineStreamAgent } from "../../src/agent/define/stream-agent.ts";
import { createMemorySignals } from "../../src/signals/memory.ts";
import { createMemoryStore } from "@turnstream/testing";
import { outline, TurnHarness } from "../engine/turn-harness.ts";

const UUID = "550e8400-e29b-41d4-a716-446655440000";

let harness: TurnHarness;
beforeEach(async () => {
  harness = await TurnHarness.open({
    log: createMemoryLog(),
    store: createMemoryStore(),
    signals: createMemorySignals(),
  });
});
afterEach(() => harness.close());

const thinker = (name: string, displayMode: DisplayMode) =>
  defineAgent({
    name,
    displayMode,
    model: scriptedModel(() => [script.reasoning("hm"), script.text("Hello")]),
    title: false,
  });

test("S12 agents stay known while no worker runs, and an unknown one is refused when the message is sent", async () => {
  const own = { run: async function* () {}, label: "", description: "" };
  const worker = await harness.worker([
    defineAgent({ name: UUID, label: "Help", description: "Helps", images: true, model: scriptedModel([]) }),
    defineStreamAgent({ ...own, name: "bare", images: true }),
    defineStreamAgent({ ...own, name: "files", attachments: true }),
  ]);
  await worker.shutdown();
  expect(await harness.backend.store.agents.list()).toEqual([
    { name: UUID, label: "Help", description: "Helps", inputs: ["text", "file", "image"] },
    { name: "bare", label: "", description: "", inputs: ["text"] },
    { name: "files", label: "", description: "", inputs: ["text", "file"] },
  ]);
  const ref = await harness.session();
  await harness.send(ref, "hello", { agent: UUID });
  await expect(harness.send(ref, "hello", { agent: "x".repeat(100) })).rejects.toMatchObject({
    code: "INVALID",
    userMessage: `agent_id must be the name of a registered agent (${UUID}, bare, files), got "${"x".repeat(64)}"`,
  });
  expect(await harness.backend.store.queuedMessages.list(ref)).toHaveLength(1);
});

test("W23 the agent sets the display mode, and a message can choose another", async () => {
  await harness.worker([thinker("chatty", "chat"), thinker("worker", "agent")]);
  const ref = await harness.session();
  const modes = [];
  for (const [agent, mode] of [["chatty"], ["worker"], ["chatty", "agent"], ["worker", "chat"]] as const) {
    const turn = await harness.ask(ref, "go", { agent, ...(mode === undefined ? {} : { mode }) });
    modes.push([turn.mode, outline(turn).includes("(")]);
  }
  expect(modes).toEqual([
    ["chat", false],
    ["agent", true],
    ["agent", true],
    ["chat", false],
  ]);
});

test.each([
  [{ displayMode: "quiet" as never }, /`displayMode` of the agent a must be "agent" or "chat", got "quiet"/],
  [{ images: { maxImages: -1 } }, /`maxImages` of `images` of the agent a must be an integer from 0/],
  [{ images: { maxPixels: 1 } as never }, /`maxPixels` is not an option of `images` of the agent a/],
  [{ images: "yes" as never }, /`images` of the agent a must be a boolean or an object, got "yes"/],
  [{ name: "-a" }, /must be a letter or digit followed by/],
])("refuses an agent with invalid options: %j", (options, message) => {
  expect(() => defineAgent({ name: "a", model: scriptedModel([]), ...options })).toThrow(message);
});
