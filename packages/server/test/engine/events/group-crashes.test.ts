/**
 * Kills a worker at every point of a step with shared thoughts and a standalone call beside other calls, and of a turn
 * with a refusal. After the takeover every thought and call is there once, and stands where it belongs.
 */
import { expect, it } from "vitest";
import type { Turn } from "@turnstream/protocol";
import { script } from "../../../src/models/script-parts.ts";
import { scriptedModel } from "../../../src/models/scripted-model.ts";
import { type Agent, defineAgent } from "../../../src/agent/define/agent.ts";
import { tool } from "../../../src/agent/define/tool.ts";
import { decideApproval } from "../../../src/session/interactions/decide-approval.ts";
import { type CrashOptions, crashPoints } from "../crash-injection.ts";
import { startCrashingTurn } from "../crashing-turn.ts";
import { outline } from "../turn-harness.ts";

const find = tool({ label: "Find", idempotent: true, run: () => "found" });
const chart = tool({ label: "Chart", idempotent: true, display: { standalone: true }, run: () => "drawn" });
const trade = tool({ label: "Trade", approval: true, run: () => "traded" });

function agentWith(replies: Parameters<typeof scriptedModel>[0]): Agent {
  return defineAgent({
    name: "a",
    model: scriptedModel(replies),
    tools: { find, chart, trade },
    shareThought: true,
    title: false,
  });
}

/** Plays the turn with deaths at the chosen calls, and compares what users see. */
async function killEverywhere(cast: () => Agent, expected: readonly string[]): Promise<void> {
  const whole = await play(cast, expected, { afterCalls: Infinity, isExecuted: false });
  expect(whole.calls).toBeGreaterThan(15);
  const points = crashPoints(0, whole.calls);
  let takeovers = 0;
  for (const afterCalls of points)
    takeovers += (await play(cast, expected, { afterCalls, isExecuted: afterCalls % 2 === 0 })).takeovers;
  expect(takeovers).toBeGreaterThan(points.length / 2);
}

async function play(cast: () => Agent, expected: readonly string[], crash: CrashOptions) {
  const { parts, harness, ref, died, crashPoint } = await startCrashingTurn(cast, crash);
  const refuse = setInterval(() => {
    void (async () => {
      for (const { key } of await parts.store.interactions.list(ref, { pending: true }))
        await decideApproval(parts, ref, { key, decision: "reject", userId: harness.actor.user });
    })();
  }, 15);
  const turn = await harness.ended(ref, () => true);
  clearInterval(refuse);
  const what = `death after ${crash.afterCalls} calls at ${died.join()}`;
  expect(seen(turn), what).toEqual(expected);
  expect(harness.errors, what).toEqual([]);
  const takeovers = (await harness.events(ref)).filter((event) => event.type === "turn.takeover").length;
  await harness.close();
  return { calls: crashPoint.calls, takeovers };
}

/**
 * The blocks that users see, without the arguments of calls. A client shows a result in its call, and after a death the
 * result of a tool that ran again can stand behind the end of the group.
 */
function seen(turn: Turn): string[] {
  const visible = outline(turn).filter((line) => !line.includes(" hidden "));
  const lines = visible.map((line) => line.replace(/ \{.*/, ""));
  lines.forEach((line, n) => {
    const isBehind = line.startsWith("result ") && lines[n - 1]?.startsWith(")") === true;
    if (isBehind) lines.splice(n - 1, 2, line, lines[n - 1] ?? "");
  });
  return lines;
}

const think = (thought: string) => script.toolCall("share_thought", { thought });

const castThoughts = () =>
  agentWith([
    [
      script.reasoning("hm"),
      think("one"),
      script.toolCall("find"),
      think("two"),
      script.toolCall("chart"),
      think("three"),
    ],
    [script.toolCall("find")],
    [script.text("end")],
  ]);

it("W19 a takeover neither repeats nor loses a thought or a call beside other calls", async () => {
  await killEverywhere(castThoughts, [
    "(",
    "thinking hm",
    ") Thinking",
    "text part one",
    "(",
    "call find",
    "result find success found",
    ") Find",
    "text part two",
    "call chart",
    "result chart success drawn",
    "text part three",
    "(",
    "call find",
    "result find success found",
    ") Find",
    "text final end",
  ]);
});

const castRefusal = () =>
  agentWith([
    [script.toolCall("find")],
    [script.toolCall("trade")],
    [script.reasoning("Another plan."), script.toolCall("find")],
    [script.toolCall("find")],
    [script.text("end")],
  ]);

it("W20 a takeover closes the group of a refused call once, and never the group of a newer step", async () => {
  await killEverywhere(castRefusal, [
    "(",
    "call find",
    "result find success found",
    "call trade",
    "approval",
    "result trade error You rejected this.",
    ") Trade",
    "(",
    "thinking Another plan.",
    "call find",
    "result find success found",
    "call find",
    "result find success found",
    ") Find",
    "text final end",
  ]);
});
