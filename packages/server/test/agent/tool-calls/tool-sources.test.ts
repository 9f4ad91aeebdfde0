/**
 * Tests tool sources: their tools are recorded when a run starts and resolved at every call, and their failures don't
 * end a turn.
 */
import { EventEmitter, once } from "node:events";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { createMemoryLog } from "../../../src/log/memory.ts";
import { script } from "../../../src/models/script-parts.ts";
import { type ScriptCall, scriptedModel } from "../../../src/models/scripted-model.ts";
import { type Agent, type AgentOptions, defineAgent } from "../../../src/agent/define/agent.ts";
import type { SourceTool, ToolSource } from "../../../src/agent/define/tool-source.ts";
import { tool, type ToolOptions } from "../../../src/agent/define/tool.ts";
import { createMemorySignals } from "../../../src/signals/memory.ts";
import { createMemoryStore } from "@turnstream/testing";
import { outline, TurnHarness } from "../../engine/turn-harness.ts";

const INPUT = z.object({ text: z.string() });
type Offer = Partial<ToolOptions<typeof INPUT>> & { schema?: SourceTool["schema"] };

function offer({ schema, ...options }: Offer = {}): SourceTool {
  const made = tool({ input: INPUT, run: ({ text }) => `echo ${text}`, ...options });
  const plain = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };
  return { ...made, label: "Echoing", schema: schema ?? plain };
}

class FakeSource implements ToolSource {
  readonly name: string;
  offers: () => Promise<Record<string, SourceTool>>;
  opened = 0;
  closed = 0;

  constructor(name: string, offers: Record<string, SourceTool>) {
    this.name = name;
    this.offers = () => Promise.resolve(offers);
  }

  open() {
    this.opened++;
    return {
      tools: () => this.offers(),
      close: async () => {
        this.closed++;
      },
    };
  }
}

describe("tool source", () => {
  let harness: TurnHarness;
  let asked: ScriptCall[];
  beforeEach(async () => {
    const parts = { log: createMemoryLog(), store: createMemoryStore(), signals: createMemorySignals() };
    harness = await TurnHarness.open(parts);
    asked = [];
  });
  afterEach(() => harness.close());

  const agentWith = (sources: readonly ToolSource[], more: Partial<AgentOptions> = {}): Agent =>
    defineAgent({
      name: "helper",
      model: scriptedModel((step) => {
        asked.push(step);
        return step.step === 0 ? [script.toolCall("echo_speech", { text: "hi" })] : [script.text("done")];
      }),
      toolSources: sources,
      ...more,
    });
  const toolsOffered = (n = 0): string[] => (asked[n]?.tools ?? []).map(({ name }) => name);

  it("offers its tools to the model next to the agent's own, and they run", async () => {
    const own = tool({ run: () => "own" });
    await harness.worker([agentWith([new FakeSource("echo", { speech: offer() })], { tools: { own } })]);
    const turn = await harness.ask(await harness.session(), "go");
    expect(toolsOffered()).toEqual(["own", "echo_speech"]);
    expect(outline(turn)).toEqual([
      "(",
      'call echo_speech {"text":"hi"}',
      "result echo_speech success echo hi",
      ") Echoing",
      "text final done",
    ]);
  });

  it("passes its schema to the model unchanged", async () => {
    const schema = { type: "object", properties: { any: { type: "object", additionalProperties: true } } };
    await harness.worker([agentWith([new FakeSource("echo", { speech: offer({ schema }) })])]);
    await harness.ask(await harness.session(), "go");
    expect(asked[0]?.tools?.[0]).toMatchObject({ inputSchema: schema });
  });

  it("has its input validated before a call", async () => {
    const input = z.object({ text: z.string().max(1) });
    await harness.worker([agentWith([new FakeSource("echo", { speech: offer({ input }) })])]);
    const turn = await harness.ask(await harness.session(), "go");
    expect(outline(turn)[2]).toMatch(
      /^result echo_speech error The arguments don't fit the tool echo_speech/,
    );
  });

  it("that has lost a tool since the run started returns an error result", async () => {
    const source = new FakeSource("echo", { speech: offer() });
    let lists = 0;
    const offers = source.offers;
    source.offers = () => (lists++ === 0 ? offers() : Promise.resolve({}));
    await harness.worker([agentWith([source])]);
    const turn = await harness.ask(await harness.session(), "go");
    expect(outline(turn).at(-1)).toBe("text final done");
    expect(JSON.stringify(asked[1]?.prompt)).toContain("There is no tool echo_speech any more.");
  });

  it("that died since the run started returns an error result, and the turn continues", async () => {
    const source = new FakeSource("echo", { speech: offer() });
    let lists = 0;
    const offers = source.offers;
    source.offers = () => (lists++ === 0 ? offers() : Promise.reject(new Error("unreachable")));
    await harness.worker([agentWith([source])]);
    const turn = await harness.ask(await harness.session(), "go");
    expect(outline(turn)).toContain("result echo_speech error This did not work.");
    expect(turn.status).toBe("end_turn");
    expect(harness.errors.map(({ during }) => during)).toContain("the tool source echo");
  });

  it("that can't list its tools in time offers none and is reported, and the turn continues", async () => {
    const silent = new FakeSource("silent", {});
    silent.offers = () => new Promise(() => {});
    await harness.worker([agentWith([silent, new FakeSource("echo", { speech: offer() })])]);
    const turn = await harness.ask(await harness.session(), "go");
    expect(toolsOffered()).toEqual(["echo_speech"]);
    expect(turn.status).toBe("end_turn");
    expect(harness.errors).toEqual([
      { error: new Error("no list of tools within 5000 ms"), during: "the tool source silent" },
    ]);
  });

  it("omits a tool whose input can't be described to a model", async () => {
    const schema = { type: "object", properties: { x: { enum: Array(20_000).fill("long") } } };
    const source = new FakeSource("echo", {
      speech: offer(),
      odd: offer({ schema: true }),
      huge: offer({ schema }),
    });
    await harness.worker([agentWith([source])]);
    await harness.ask(await harness.session(), "go");
    expect(toolsOffered()).toEqual(["echo_speech"]);
    expect(harness.errors.map(({ during }) => during)).toEqual([
      "the tool odd of the source echo",
      "the tool huge of the source echo",
    ]);
  });

  it("offers at most 1,000 tools, under names that a model accepts", async () => {
    const names = ["speech", "__proto__", "constructor", "a\u202eb\n"];
    const many = Array.from({ length: 20_000 }, (_, n) => `t${n}`);
    const source = new FakeSource(
      "echo",
      Object.fromEntries([...names, ...many].map((name) => [name, offer()])),
    );
    await harness.worker([agentWith([source])]);
    await harness.ask(await harness.session(), "go");
    expect(toolsOffered()).toHaveLength(1_000);
    expect(toolsOffered().slice(0, 4)).toEqual([
      "echo_speech",
      "echo___proto__",
      "echo_constructor",
      "echo_a_b_",
    ]);
  });

  it("serves sub-agents too, is opened once per worker, and is closed with it", async () => {
    const source = new FakeSource("echo", { speech: offer() });
    const sub = agentWith([source], { name: "sub" });
    const main = defineAgent({
      name: "main",
      model: scriptedModel([[script.toolCall("sub", { task: "greet" })], [script.text("all done")]]),
      toolSources: [source],
      subAgents: { sub },
    });
    const worker = await harness.worker([main, sub]);
    const turn = await harness.ask(await harness.session(), "go");
    expect(outline(turn)).toContain("r1: result echo_speech success echo hi");
    expect([source.opened, source.closed]).toEqual([1, 0]);
    await worker.shutdown();
    expect(source.closed).toBe(1);
  });

  it("of replaced agents is closed when the turns that use it have ended, and a common one stays open", async () => {
    const signal = new EventEmitter();
    const late = once(signal, "answer").then(() => "late");
    const earlier = new FakeSource("echo", { speech: offer({ run: () => late }) });
    const next = new FakeSource("echo", {});
    const common = new FakeSource("common", {});
    const worker = await harness.worker([agentWith([earlier, common])]);
    const ref = await harness.session();
    await harness.send(ref, "go");
    await harness.until(ref, 30_000, (state) =>
      JSON.stringify(state.turns.last()?.items.toArray() ?? []).includes("tool_result") ? true : null,
    );
    await worker.replaceAgents([agentWith([next, common])]);
    expect([earlier.closed, next.opened, common.opened]).toEqual([0, 1, 1]);
    signal.emit("answer");
    expect(outline(await harness.ended(ref, () => true))).toContain("result echo_speech success late");
    await expect.poll(() => earlier.closed).toBe(1);
    expect([next.closed, common.closed]).toEqual([0, 0]);
  });

  it("is refused with an invalid name, or if it is given twice", () => {
    expect(() => agentWith([new FakeSource("1st", {})])).toThrow(/BAD|letter followed by up to 31/);
    expect(() => agentWith([new FakeSource("a", {}), new FakeSource("a", {})])).toThrow(/two sources/);
  });
});

describe("turn that continues after its worker died", () => {
  it("offers the same tools and does not repeat a started call, whatever happened to the source", async () => {
    const parts = { log: createMemoryLog(), store: createMemoryStore(), signals: createMemorySignals() };
    const harness = await TurnHarness.open(parts);
    const asked: ScriptCall[] = [];
    const source = new FakeSource("echo", { speech: offer({ run: () => new Promise(() => {}) }) });
    const agent = defineAgent({
      name: "helper",
      model: scriptedModel((step) => {
        asked.push(step);
        return step.step === 0 ? [script.toolCall("echo_speech", { text: "hi" })] : [script.text("done")];
      }),
      toolSources: [source],
    });
    try {
      const first = await harness.worker([agent], { shutdownGraceMs: 50 });
      const ref = await harness.session();
      await harness.send(ref, "go");
      await harness.until(ref, 30_000, (state) =>
        JSON.stringify(state.turns.last()?.items.toArray() ?? []).includes("tool_result") ? true : null,
      );
      source.offers = () => Promise.reject(new Error("unreachable"));
      await first.shutdown();
      await harness.worker([agent]);
      const turn = await harness.ended(ref, () => true);
      expect(outline(turn).find((line) => line.startsWith("result"))).toMatch(
        /^result echo_speech error This was interrupted/,
      );
      expect(asked.at(-1)?.tools).toEqual(asked[0]?.tools);
    } finally {
      await harness.close();
    }
  });
});
