/**
 * Kills a worker at every write of a rich turn, before and after the write, and another worker continues. The turn ends
 * well, every event is legal, no tool that forbids it runs twice, and the answer is the same.
 */
import { SEED } from "@turnstream/conformance/support/cases.ts";
import { runInParallel } from "@turnstream/testkit/util/run-in-parallel.ts";
import { seededRandom } from "@turnstream/testkit/util/seeded-random.ts";
import { expect, it } from "vitest";
import { z } from "zod";
import { listBlocks, type Turn } from "@turnstream/protocol";
import { createMemoryLog } from "../../../src/log/memory.ts";
import { script } from "../../../src/models/script-parts.ts";
import { scriptedModel } from "../../../src/models/scripted-model.ts";
import { type Agent, defineAgent } from "../../../src/agent/define/agent.ts";
import { tool } from "../../../src/agent/define/tool.ts";
import { createMemorySignals } from "../../../src/signals/memory.ts";
import { createMemoryStore } from "@turnstream/testing";
import { CrashPoint, crashPoints, withCrashPoint } from "../crash-injection.ts";
import { outline, TurnHarness } from "../turn-harness.ts";

/** A turn with two parallel sub-agents, both kinds of tools, a shared thought, groups, and text between steps. */
function cast(effects: string[]): Agent {
  const note = (idempotent: boolean) =>
    tool({
      idempotent,
      input: z.object({ what: z.string() }),
      run: ({ what }, context) => {
        effects.push(`${idempotent ? "always" : "never"} ${context.idempotencyKey} ${what}`);
        context.progress(`doing ${what}`);
        return { content: `did ${what}`, blocks: [{ type: "text", text: `${what} done` }] };
      },
    });
  const helper = defineAgent({
    name: "helper",
    label: "Helper",
    tools: { look: note(true), act: note(false) },
    model: scriptedModel(({ step, text }) => {
      if (step === 0)
        return [
          script.reasoning(`about ${text}`),
          script.toolCall("look", { what: text }, { id: `look-${text}` }),
        ];
      if (step === 1) return [script.toolCall("act", { what: text }, { id: `act-${text}` })];
      return [script.text(`${text} is fine`)];
    }),
  });
  const model = scriptedModel([
    [
      script.reasoning("First."),
      script.toolCall("look", { what: "a" }),
      script.toolCall("act", { what: "b" }),
    ],
    [
      script.toolCall("share_thought", { thought: "Going on." }),
      script.toolCall("share_thought", { thought: "And on." }),
    ],
    [
      script.text("Let me ask."),
      script.toolCall("helper", { task: "x" }),
      script.toolCall("helper", { task: "y" }),
    ],
    [script.reasoning("Last."), script.text("All is fine.")],
  ]);
  const tools = { look: note(true), act: note(false) };
  return defineAgent({ name: "main", model, tools, subAgents: { helper }, shareThought: true });
}

async function play(
  deaths: readonly { afterCalls: number; isExecuted: boolean }[],
  { isStopped = false } = {},
) {
  const effects: string[] = [];
  const parts = { log: createMemoryLog(), store: createMemoryStore(), signals: createMemorySignals() };
  const harness = await TurnHarness.open(parts);
  const ref = await harness.session();
  const mortalities: CrashPoint[] = [];
  const died: string[] = [];
  for (const crash of deaths) {
    const crashPoint = new CrashPoint(crash, (name) => {
      died.push(name);
      if (isStopped) void harness.stop(ref);
    });
    mortalities.push(crashPoint);
    const crashing = withCrashPoint(parts, crashPoint);
    const { log, store, signals } = crashing;
    const options = { log, store, signals, pollIntervalMs: 20, onError: () => {} };
    await harness.crashingWorker([cast(effects)], options);
  }
  const message = await harness.send(ref, "Do it");
  await harness.worker([cast(effects)], { pollIntervalMs: 20 });
  const turn = await harness.ended(ref, (one) => one.message?.id === message);
  const left = await parts.store.journal.read(ref, turn.id);
  const events = await harness.events(ref);
  const days = await parts.store.usage.list(ref.tenant, "2000-01-01", "2999-12-31");
  const modelCalls = days.reduce((sum, { calls }) => sum + calls, 0);
  const calls = mortalities.map((one) => one.calls);
  return { turn, effects, calls, died, left, events, modelCalls, harness };
}

function check(
  { turn, effects, left, modelCalls, harness }: Awaited<ReturnType<typeof play>>,
  what: string,
): void {
  const never = effects.filter((effect) => effect.startsWith("never"));
  expect(new Set(never).size, `${what}: ${never.join(", ")}`).toBe(never.length);
  expect(turn.status, what).toBe("end_turn");
  expect(outline(turn).at(-1), what).toBe("text final All is fine.");
  expect(summaryOf(turn), what).toEqual([
    "call act",
    "call act",
    "call act",
    "call helper",
    "call helper",
    "call look",
    "call look",
    "call look",
    "call share_thought",
    "call share_thought",
    "text Let me ask.",
    "text part And on.",
    "text part Going on.",
    "text part x is fine",
    "text part y is fine",
  ]);
  // No sub-agent got the task of the other.
  const asked = listBlocks(turn).flatMap((block) =>
    block.kind === "tool_call" && block.name === "helper" ? [block] : [],
  );
  for (const { call: id, input } of asked) {
    const result = listBlocks(turn).find((block) => block.kind === "tool_result" && block.call === id);
    const { task } = input as { task: string };
    expect(result, what).toMatchObject({ status: "success", preview: `${task} is fine` });
    const run = turn.runs.find((one) => one.call === id && one.status === "completed")?.id;
    for (const block of listBlocks(turn))
      if (block.run === run) expect(JSON.stringify(block), what).toContain(task);
  }
  expect(turn.usage?.calls, what).toBeGreaterThanOrEqual(10);
  expect(modelCalls, what).toBe(turn.usage?.calls);
  const requested = listBlocks(turn).flatMap((block) => (block.kind === "tool_call" ? [block.call] : []));
  const journaled = left.map(({ key }) => key);
  expect(
    requested.filter((call) => !journaled.includes(`call/${call}`)),
    what,
  ).toEqual([]);
  expect(
    left.every(({ key }) => /^(call|start)\//.test(key)),
    what,
  ).toBe(true);
  expect(
    harness.errors.map(({ error }) => String(error)),
    what,
  ).toEqual([]);
}

function summaryOf(turn: Turn): string[] {
  const lines = outline(turn).map((line) => line.replace(/^r\d+: /, ""));
  return lines
    .filter((line) => /^(call|text)/.test(line) && !line.includes("final"))
    .map((line) => line.replace(" hidden", "").replace(/ \{.*/, ""))
    .toSorted();
}

it.concurrent("a worker can die at every point of a turn", async () => {
  const whole = await play([{ afterCalls: Infinity, isExecuted: false }]);
  check(whole, "no death");
  await whole.harness.close();
  const [total = 0] = whole.calls;
  expect(total).toBeGreaterThan(40);
  let takeovers = 0;
  const points = crashPoints(0, total);
  const deaths = points.flatMap((afterCalls) =>
    [false, true].map((isExecuted) => ({ afterCalls, isExecuted })),
  );
  await runInParallel(deaths, async ({ afterCalls, isExecuted }) => {
    const one = await play([{ afterCalls, isExecuted }]);
    const isDone = isExecuted ? "done" : "not done";
    check(one, `death after ${afterCalls} calls at ${one.died.join()}, ${isDone}`);
    takeovers += one.events.filter((event) => event.type === "turn.takeover").length;
    await one.harness.close();
  });
  expect(takeovers).toBeGreaterThan(points.length);
});

it.concurrent("the worker that takes over can die as well", async () => {
  const random = seededRandom(SEED);
  // A turn has more calls than that, so the first worker dies for sure.
  const death = () => ({ afterCalls: Math.floor(random() * 40), isExecuted: random() < 0.5 });
  const rounds = Array.from({ length: 25 }, () => Array.from({ length: 3 }, death));
  await runInParallel(rounds, async (deaths) => {
    const one = await play(deaths);
    check(one, JSON.stringify(deaths));
    expect(one.died.length, "a worker died").toBeGreaterThan(0);
    await one.harness.close();
  });
});

it.concurrent("a turn that is stopped when its worker dies ends as stopped, or as it had already ended", async () => {
  let stopped = 0;
  const points = crashPoints(2, 48);
  await runInParallel(points, async (afterCalls) => {
    const one = await play([{ afterCalls, isExecuted: afterCalls % 2 === 0 }], { isStopped: true });
    const what = `death after ${afterCalls} calls at ${one.died.join()}`;
    expect(["user_stopped", "end_turn"], what).toContain(one.turn.status);
    if (one.turn.status === "user_stopped") {
      stopped++;
      expect(
        outline(one.turn).filter((line) => line.startsWith("notice")),
        what,
      ).toEqual(["notice stopped"]);
    }
    const never = one.effects.filter((effect) => effect.startsWith("never"));
    expect(new Set(never).size, what).toBe(never.length);
    expect(one.harness.errors, what).toEqual([]);
    await one.harness.close();
  });
  expect(stopped).toBeGreaterThan(points.length / 3);
});
