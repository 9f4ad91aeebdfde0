/** Tests messages with citations in the `tasks` dialect, and the final state of a client. */
import { tasks } from "../support/codecs.ts";
import { type Annotation, listBlocks } from "@turnstream/protocol";
import { taskState } from "../../../packages/protocol/src/dialects/tasks/items.ts";
import { describe, expect, test } from "vitest";
import { TasksClient } from "../clients/tasks-client.ts";
import { LogWriter } from "../support/log-writer.ts";
import { bareFramesOf, blocksIn, framesOf, read, turnOf } from "./frames.ts";

/** The frames of items, without the frames that we add around them. */
function itemFrames(log: LogWriter): Record<string, unknown>[] {
  return bareFramesOf(tasks, log).filter(
    (frame) => frame.type !== "task.created" && frame.type !== "task.done",
  );
}

function startedLog(): LogWriter {
  return new LogWriter().session("ses_sky", 5).begin("Will it rain?");
}

/** Writes a text with one citation at this range. */
function annotate(start: number, end: number): () => void {
  return () => {
    const log = startedLog();
    const on = log.place();
    log.add({ type: "text.start", ...on, part: false });
    log.add({ type: "text.delta", ...on, text: "Dry.[^1]", annotations: [{ reference: 1, start, end }] });
  };
}

describe("a message", () => {
  test("T02 T05 T07 streams as text with its citations, and its done is complete", () => {
    const log = startedLog();
    const on = log.place();
    log.add({ type: "text.start", ...on, part: false });
    log.add({ type: "text.delta", ...on, text: "It stays dry." });
    log.add({ type: "text.delta", ...on, text: "[^1]", annotations: [{ reference: 1, start: 13, end: 17 }] });
    log.add({ type: "text.end", ...on, final: true });
    const of = { task_id: log.turn, output_index: 0 };
    const at = { ...of, item_id: on.block, block_index: 0 };
    const item = { type: "message", id: on.block, role: "assistant", is_part: false };
    const annotations = [{ type: "reference_to_block", reference_id: 1, start_index: 13, end_index: 17 }];
    const whole = { type: "text", text: "It stays dry.[^1]", annotations };
    expect(itemFrames(log)).toEqual([
      { type: "task.output_item.added", ...of, item: { ...item, block_list: [] } },
      { type: "task.text.added", ...at, item: { type: "text", text: "" } },
      { type: "task.text.delta", ...at, delta: "It stays dry." },
      { type: "task.text.delta", ...at, delta: "[^1]", annotations },
      { type: "task.text.done", ...at, item: whole },
      { type: "task.output_item.done", ...of, item: { ...item, block_list: [whole], is_final: true } },
    ]);
  });

  test.each([
    ["a sentence", "Paris has a clear sky, and the air is mild for the date.[^1]", 56, 60],
    ["emoji before the marker", "Dry ☀️🏖️👨‍👩‍👧 today.[^1]", 24, 28],
    ["Vietnamese in composed and decomposed letters", "Huế: nắng.[^1] Hue\u0302\u0301.", 10, 14],
    ["an id of two digits", "Dry.[^12]", 4, 9],
  ])("T07 an annotation covers exactly its marker in UTF-16 units: %s", (_, text, start, end) => {
    const log = startedLog();
    const on = log.place();
    const reference = Number(/\[\^(\d+)\]/.exec(text)?.[1]);
    log.add({ type: "text.start", ...on, part: false });
    log.add({ type: "text.delta", ...on, text, annotations: [{ reference, start, end }] });
    log.add({ type: "text.end", ...on, final: true });
    const frame = framesOf(tasks, log).find((f) => f.type === "task.text.done");
    const note = frame?.item.annotations?.[0];
    expect(frame?.item.text.slice(note?.start_index, note?.end_index)).toBe(`[^${reference}]`);
    const { state } = read(tasks, framesOf(tasks, log));
    const [block] = blocksIn(state);
    const notes: readonly Annotation[] = block?.kind === "text" ? block.annotations : [];
    expect(notes).toEqual([{ reference, start, end }]);
  });

  test("T07 an annotation outside the text, or an empty one, is rejected", () => {
    expect(annotate(4, 8)).not.toThrow();
    expect(annotate(4, 9)).toThrow("L18");
    expect(annotate(4, 4)).toThrow("L18");
  });
});

/** The outputs of a plain client after all frames. */
function folded(log: LogWriter): Record<string, unknown> {
  const client = new TasksClient();
  for (const frame of framesOf(tasks, log)) client.handle({ ...frame });
  expect(client.problems).toEqual([]);
  return client.display();
}

/** The outputs according to the server, without the emptied items that a takeover leaves. */
function stated(log: LogWriter): Record<string, unknown> {
  const all = log.state.turns.toArray().flatMap((turn) => turn.runs.map((run) => taskState(turn, run)));
  return Object.fromEntries(all.map(({ task_id, output }) => [task_id, output]));
}

describe("the final state of a plain client", () => {
  test("T01 T06 is {task_id, output} of four kinds of items, and nothing for the model", () => {
    const log = startedLog().think(["Hm."]);
    const on = log.startResult(log.call("get_weather", ["{}"]), "get_weather");
    log.add({ type: "tool_result.delta", ...on, part: 0, media: "text", data: "dry", done: true });
    log.endResult(on, "dry").text(["It stays dry."], { final: true }).end();
    const turn = turnOf(log.state);
    const [main] = turn.runs;
    if (main === undefined) throw new Error("no main run");
    const { task_id, output } = taskState(turn, main);
    expect(task_id).toBe(log.turn);
    expect(output.map((item) => item.type)).toEqual(["reasoning", "tool_call", "tool_result", "message"]);
    expect(folded(log)).toEqual({ [task_id]: output });
    expect(JSON.stringify([output, framesOf(tasks, log)])).not.toContain('"content"');
  });

  test("T01 T02 output_index counts from 0 without gaps, also where thinking is not shown", () => {
    const log = new LogWriter().session().begin("x", { mode: "chat" });
    log.think(["Not shown."]).text(["Dry."], { final: true }).end();
    const added = framesOf(tasks, log).flatMap((f) =>
      f.type === "task.output_item.added" ? [f.output_index] : [],
    );
    expect(added).toEqual([0]);
    expect(folded(log)).toEqual(stated(log));
  });

  test("T01 a stop and an error are messages, distinguished by our own mark", () => {
    const log = startedLog();
    log.add({ type: "notice.stopped", ...log.place(), text: "You stopped it." });
    log.end("user_stopped");
    expect(itemFrames(log).at(-1)).toMatchObject({
      item: {
        type: "message",
        block_list: [{ type: "text", text: "You stopped it." }],
        notice: { type: "stopped" },
      },
    });
    expect(folded(log)).toEqual(stated(log));
    const { state } = read(tasks, framesOf(tasks, log));
    expect(listBlocks(turnOf(state))).toMatchObject([{ kind: "notice", notice: "stopped" }]);
  });

  test("T02 superseded items are emptied at their index", () => {
    const log = startedLog();
    const on = log.place();
    log.add({ type: "text.start", ...on, part: false });
    log.add({ type: "text.delta", ...on, text: "It will r" });
    log.add({ type: "turn.takeover", turn: log.turn, blocks: [on.block], groups: [], runs: [] });
    log.text(["It stays dry."], { final: true }).end();
    const [superseded, answer] = folded(log)[log.turn] as object[];
    expect(superseded).toEqual({
      type: "message",
      id: on.block,
      role: "assistant",
      block_list: [],
      status: "superseded",
    });
    expect(answer).toMatchObject({ block_list: [{ text: "It stays dry." }] });
  });
});
