/**
 * Tests turns that continue under other code than they started with: written events stay, and what follows fits them.
 * In memory.
 */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { listBlocks, listPendingInteractions, findToolResult } from "@turnstream/protocol";
import { createMemoryLog } from "../../src/log/memory.ts";
import { script } from "../../src/models/script-parts.ts";
import { scriptedModel } from "../../src/models/scripted-model.ts";
import { type AgentOptions, defineAgent } from "../../src/agent/define/agent.ts";
import { tool, type ToolOptions } from "../../src/agent/define/tool.ts";
import { en } from "../../src/strings/en.ts";
import { createMemorySignals } from "../../src/signals/memory.ts";
import { createMemoryStore } from "@turnstream/testing";
import { outline, TurnHarness } from "../engine/turn-harness.ts";

let harness: TurnHarness;
beforeEach(async () => {
  harness = await TurnHarness.open({
    log: createMemoryLog(),
    store: createMemoryStore(),
    signals: createMemorySignals(),
  });
});
afterEach(() => harness.close());

/** No worker dies here. On a busy machine, a short lease would only expire. */
const TTL_MS = 60_000;

/** Never returns: the worker that runs it is replaced meanwhile. */
const stuck = (options: Partial<ToolOptions> = {}) =>
  tool({ idempotent: true, run: () => new Promise(() => {}), ...options });
const quick = (options: Partial<ToolOptions> = {}) =>
  tool({ idempotent: true, run: () => "new", ...options });

/** Runs a turn under the old code until a tool runs or the user is asked, and then to its end under the new code. */
async function deploy(name: string, before: Partial<AgentOptions>, after: Partial<AgentOptions>) {
  const model = scriptedModel([[script.toolCall(name, { task: "t" })], [script.text("done")]]);
  const old = await harness.worker([defineAgent({ name: "a", model, ...before })], {
    shutdownGraceMs: 1,
    leaseTtlMs: TTL_MS,
  });
  const ref = await harness.session();
  await harness.send(ref, "go");
  await harness.until(ref, 30_000, (state) => {
    const turn = state.turns.last();
    const isAsked = turn !== undefined && listPendingInteractions(turn).length > 0;
    const calls = turn === undefined ? [] : listBlocks(turn).filter((block) => block.kind === "tool_call");
    const last = calls.at(-1);
    const runs = last !== undefined && !(name in (before.subAgents ?? {}) && last.name === name);
    return isAsked || (runs && turn !== undefined && findToolResult(turn, last.call) !== undefined)
      ? true
      : null;
  });
  const left = old.shutdown();
  await harness.worker([defineAgent({ name: "a", model, ...after })], { leaseTtlMs: TTL_MS });
  await left;
  const turn = await harness.ended(ref, () => true);
  expect(turn.status).toBe("end_turn");
  return { ref, turn, lines: outline(turn).filter((line) => !/^[()]/.test(line)) };
}

const sub = (work: ReturnType<typeof tool>) =>
  defineAgent({
    name: "sub",
    model: scriptedModel([[script.toolCall("work")], [script.text("sub done")]]),
    tools: { work },
  });

describe("29 deploy during a call", () => {
  it("keeps the result of a hidden call hidden if its tool is removed", async () => {
    const before = { tools: { secret: stuck({ display: { call: false } }) } };
    const { lines } = await deploy("secret", before, {});
    expect(lines).toEqual([
      expect.stringContaining("call hidden secret"),
      "result hidden secret error There is no tool secret any more.",
      "text final done",
    ]);
  });

  it("keeps it hidden if the tool shows its calls now", async () => {
    const before = { tools: { secret: stuck({ display: { call: false } }) } };
    const { lines } = await deploy("secret", before, { tools: { secret: quick() } });
    expect(lines).toContain("result hidden secret success new");
  });

  it("shows the result of a shown call if the tool hides its calls now", async () => {
    const after = { tools: { open: quick({ display: { call: false, result: false } }) } };
    const { lines } = await deploy("open", { tools: { open: stuck() } }, after);
    expect(lines).toContain("result open success new");
  });

  it("runs no sub-agent under a call that was written as a hidden tool", async () => {
    const before = { tools: { secret: stuck({ display: { call: false } }) } };
    const { lines } = await deploy("secret", before, { subAgents: { secret: sub(quick()) } });
    expect(lines).toContain("result hidden secret error There is no tool secret any more.");
  });

  it("ends the run of a removed sub-agent and its open blocks", async () => {
    const { turn, lines } = await deploy("sub", { subAgents: { sub: sub(stuck()) } }, {});
    expect(turn.runs.map(({ status }) => status)).toEqual(["completed", "failed"]);
    expect(lines).toContain("r1: result work cancelled ");
    expect(lines).toContain("result sub error There is no tool sub any more.");
  });

  it("ends the run too if a tool has taken the sub-agent's name", async () => {
    const { turn, lines } = await deploy(
      "sub",
      { subAgents: { sub: sub(stuck()) } },
      { tools: { sub: quick() } },
    );
    expect(turn.runs.map(({ status }) => status)).toEqual(["completed", "failed"]);
    expect(lines).toContain("result sub error There is no tool sub any more.");
  });

  it("withdraws the interaction of a removed sub-agent", async () => {
    const asks = stuck({ approval: true });
    const { ref, turn } = await deploy("sub", { subAgents: { sub: sub(asks) } }, {});
    expect(listBlocks(turn).filter((block) => block.kind === "approval")).toMatchObject([
      { status: "cancelled" },
    ]);
    expect(await harness.backend.store.interactions.list(ref, {})).toMatchObject([{ status: "cancelled" }]);
  });

  it.each([
    ["removed", {}],
    ["a sub-agent", { subAgents: { pay: sub(quick()) } }],
  ])("reports an unknown outcome for a tool that ran and is now %s", async (_, after) => {
    const { lines } = await deploy("pay", { tools: { pay: stuck({ idempotent: false }) } }, after);
    expect(lines).toContain(`result pay error ${en.errors.OUTCOME_UNKNOWN}`);
  });
});
