/**
 * Kills a worker at every write of a turn with references, and another worker continues. No reference id is used twice
 * or changed, every model reads the ids that the user sees, and every citation is at its marker.
 */
import { isFull } from "@turnstream/conformance/support/cases.ts";
import { type Block, listBlocks, type Turn } from "@turnstream/protocol";
import { runInParallel } from "@turnstream/testkit/util/run-in-parallel.ts";
import { expect, it } from "vitest";
import { z } from "zod";
import { script } from "../../../src/models/script-parts.ts";
import { scriptedModel, type ScriptCall } from "../../../src/models/scripted-model.ts";
import { type Agent, defineAgent } from "../../../src/agent/define/agent.ts";
import { tool } from "../../../src/agent/define/tool.ts";
import { crashPoints } from "../../engine/crash-injection.ts";
import { startCrashingTurn } from "../../engine/crashing-turn.ts";

/** A model reply that cites every item it received: the item's word and the id that it was given. */
function cite({ prompt }: ScriptCall): string {
  const text = prompt.flatMap((message) =>
    message.role === "tool"
      ? message.content.flatMap((part) =>
          part.type === "tool-result" ? [String((part.output as { value?: unknown }).value)] : [],
        )
      : [],
  );
  const given = [...text.join("\n").matchAll(/ID: (\d+)\nAbout (\S+)\n/g)];
  return given.map(([, id, word]) => `${word}[^${id}]`).join(" ");
}

function cast(): Agent {
  const search = tool({
    idempotent: true,
    input: z.object({ for: z.array(z.string()) }),
    run: ({ for: topic }, context) => {
      context.image({ data: new Uint8Array(30_000), mediaType: "image/png" });
      return { content: "", references: topic.map((word) => ({ content: `About ${word}` })) };
    },
  });
  const once = tool({
    idempotent: false,
    input: z.object({ for: z.array(z.string()) }),
    run: (input, context) => search.run(input, context),
  });
  const helper = defineAgent({
    name: "helper",
    tools: { search, once },
    model: scriptedModel((ask) =>
      ask.step === 0
        ? [
            script.toolCall("search", { for: [`${ask.text}1`, `${ask.text}2`] }, { id: `s-${ask.text}` }),
            script.toolCall("once", { for: [`${ask.text}3`] }, { id: `o-${ask.text}` }),
          ]
        : [script.text(cite(ask), { chunk: 3 })],
    ),
  });
  const model = scriptedModel((ask) => {
    if (ask.step === 0)
      return [
        script.toolCall("search", { for: ["a"] }),
        script.toolCall("helper", { task: "x" }),
        script.toolCall("helper", { task: "y" }),
      ];
    if (ask.step === 1) return [script.toolCall("search", { for: ["b"] })];
    return [script.text(cite(ask), { chunk: 3 })];
  });
  return defineAgent({ name: "main", model, tools: { search }, subAgents: { helper }, title: false });
}

async function play(crash: { afterCalls: number; isExecuted: boolean }) {
  const { harness, ref, message, died, crashPoint } = await startCrashingTurn(cast, crash);
  const turn = await harness.ended(ref, (one) => one.message?.id === message);
  const events = await harness.events(ref);
  await harness.close();
  return { turn, events, calls: crashPoint.calls, died };
}

function ofKind<K extends Block["kind"]>(turn: Turn, kind: K) {
  return listBlocks(turn).filter((block): block is Extract<Block, { kind: K }> => block.kind === kind);
}

function check({ turn, events }: Awaited<ReturnType<typeof play>>, what: string): void {
  expect(turn.status, what).toBe("end_turn");
  // Each id is written once and has one meaning in all events ever written.
  const meaning = new Map<number, string>();
  for (const event of events) {
    if (event.type !== "tool_result.delta" || event.reference === undefined) continue;
    expect(meaning.get(event.reference.id) ?? event.data, `${what}: id ${event.reference.id}`).toBe(
      event.data,
    );
    meaning.set(event.reference.id, event.data);
  }
  const shown = ofKind(turn, "tool_result")
    .flatMap(({ parts }) => parts)
    .flatMap(({ data, reference }) => (reference === null ? [] : [{ id: reference.id, data }]));
  expect(new Set(shown.map(({ id }) => id)).size, what).toBe(shown.length);
  const topic = new Map(shown.map(({ id, data }) => [id, data.replace("About ", "")]));
  for (const { text, annotations } of ofKind(turn, "text")) {
    const markers = [...text.matchAll(/(\S+)\[\^(\d+)\]/g)];
    expect(annotations.length, `${what}: ${text}`).toBe(markers.length);
    for (const { reference, start, end } of annotations)
      expect(
        text.slice(0, end).endsWith(`${topic.get(reference)}[^${reference}]`) && text[start] === "[",
        what,
      ).toBe(true);
  }
  const answer = ofKind(turn, "text").find((block) => block.final);
  // The answer cites every reference that is shown. A tool that must not run again may have lost some.
  expect(answer?.annotations.length, `${what}: ${answer?.text}`).toBe(shown.length);
  expect(shown.length, what).toBeGreaterThanOrEqual(6);
}

it("T07 references survive a worker that dies at any point", async () => {
  const whole = await play({ afterCalls: Infinity, isExecuted: false });
  check(whole, "no death");
  expect(ofKind(whole.turn, "text").find((block) => block.final)?.annotations).toHaveLength(8);
  expect(whole.calls).toBeGreaterThan(20);
  let takeovers = 0;
  const points = crashPoints(0, whole.calls, isFull ? 1 : 3);
  const deaths = points.flatMap((afterCalls) =>
    [false, true].map((isExecuted) => ({ afterCalls, isExecuted })),
  );
  await runInParallel(deaths, async ({ afterCalls, isExecuted }) => {
    const one = await play({ afterCalls, isExecuted });
    const isDone = isExecuted ? "done" : "not done";
    check(one, `death after ${afterCalls} calls at ${one.died.join()}, ${isDone}`);
    takeovers += one.events.filter((event) => event.type === "turn.takeover").length;
  });
  expect(takeovers).toBeGreaterThan(points.length);
});
