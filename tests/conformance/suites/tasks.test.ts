/** Tests the `tasks` dialect frame by frame: reasoning, tool calls, and results of each size. */
import type { ResultPart } from "@turnstream/protocol";
import { tasks } from "@turnstream/protocol/tasks";
import { tasksFrameSchema } from "@turnstream/protocol/schema";
import { describe, expect, test } from "vitest";
import { LogWriter } from "../support/log-writer.ts";
import { bareFramesOf, blocksIn, framesOf } from "./frames.ts";
import { everyEvent } from "./every-event.ts";

/** The frames of items, without the frames that we add around them. */
function itemFrames(log: LogWriter): Record<string, unknown>[] {
  return bareFramesOf(tasks, log).filter(
    (frame) => frame.type !== "task.created" && frame.type !== "task.done",
  );
}

function startedLog(): LogWriter {
  return new LogWriter().session("ses_sky", 5).begin("Will it rain?");
}

describe("the envelope", () => {
  test("T01 every event has a type and a task_id, and matches its schema", () => {
    for (const frame of framesOf(tasks, everyEvent())) {
      expect(frame.type).toMatch(/^task[.]/);
      expect(frame.task_id).not.toBe("");
      expect(tasksFrameSchema.safeParse(frame).error).toBeUndefined();
    }
  });

  test("T01 a task starts and ends with frames of our own, which have its outcome", () => {
    const log = startedLog().text(["No."], { final: true }).end();
    const frames = bareFramesOf(tasks, log);
    expect(frames[0]).toEqual({
      type: "task.created",
      task_id: log.turn,
      session_id: "ses_sky",
      agent: "market",
      timestamp: 1_800_000_000.12,
      display_mode: "agent",
    });
    expect(frames.at(-1)).toEqual({
      type: "task.done",
      task_id: log.turn,
      status: "completed",
      stop_reason: "end_turn",
      duration_ms: 2840,
      usage: { input_tokens: 120, output_tokens: 45, total_tokens: 165, calls: 2 },
    });
  });
});

describe("reasoning", () => {
  test("T02 T03 streams as a summary item", () => {
    const log = startedLog().think(["Clouds from ", "the west."]);
    const of = { task_id: log.turn, output_index: 0 };
    const id = blocksIn(log.state)[0]?.id;
    const piece = { ...of, item_id: id, summary_index: 0 };
    const summary = { type: "text", text: "Clouds from the west." };
    expect(itemFrames(log)).toEqual([
      { type: "task.output_item.added", ...of, item: { type: "reasoning", id, summary: [] } },
      { type: "task.reasoning_summary_item.added", ...piece, item: { type: "text", text: "" } },
      { type: "task.reasoning_summary_text.delta", ...piece, delta: "Clouds from " },
      { type: "task.reasoning_summary_text.delta", ...piece, delta: "the west." },
      { type: "task.reasoning_summary_item.done", ...piece, item: summary },
      { type: "task.output_item.done", ...of, item: { type: "reasoning", id, summary: [summary] } },
    ]);
  });
});

describe("a tool call", () => {
  test("T02 T04 streams its arguments as text, and the end has them complete", () => {
    const log = startedLog();
    log.call("get_weather", ['{"', "place", '":"Hue"}'], { call: "call_1", label: "Asking for the weather" });
    const of = { task_id: log.turn, output_index: 0 };
    const id = blocksIn(log.state)[0]?.id;
    const inItem = { ...of, item_id: id };
    const item = {
      type: "tool_call",
      id,
      call_id: "call_1",
      name: "get_weather",
      label: "Asking for the weather",
    };
    const whole = '{"place":"Hue"}';
    expect(itemFrames(log)).toEqual([
      { type: "task.output_item.added", ...of, item: { ...item, arguments: "" } },
      { type: "task.tool_call_arguments.delta", ...inItem, delta: '{"' },
      { type: "task.tool_call_arguments.delta", ...inItem, delta: "place" },
      { type: "task.tool_call_arguments.delta", ...inItem, delta: '":"Hue"}' },
      { type: "task.tool_call_arguments.done", ...inItem, arguments: whole },
      { type: "task.output_item.done", ...of, item: { ...item, arguments: whole } },
    ]);
  });
});

const picture = (n: number) => `data:image/png;base64,AAA${n}`;

const image = (url: string) => ({ type: "image", image_url: { url }, id: 1 });

describe("a tool result", () => {
  interface Piece {
    readonly part: number;
    readonly media: ResultPart["media"];
    readonly data: string;
    readonly done: boolean;
    readonly reference?: { readonly id: number };
  }

  /** The frames of a result with these pieces, starting with its `.added`. */
  function resultFrames(
    pieces: readonly Piece[],
    preview = "",
  ): { frames: Record<string, unknown>[]; inItem: object } {
    const log = startedLog();
    const on = log.startResult(log.call("get_weather", [], { call: "call_1" }), "get_weather");
    for (const piece of pieces) log.add({ type: "tool_result.delta", ...on, ...piece });
    log.endResult(on, preview);
    return {
      frames: itemFrames(log).slice(3),
      inItem: { task_id: log.turn, output_index: 1, item_id: on.block },
    };
  }
  const reference = { id: 1 };

  test("T05 T06 small text is one done, and the item's done has the complete block_list and no content", () => {
    const text = '{"rain":false}';
    const { frames, inItem } = resultFrames([{ part: 0, media: "text", data: text, done: true, reference }]);
    const { item_id: id, ...of } = inItem as { item_id: string };
    const item = { type: "tool_result", id, call_id: "call_1" };
    expect(frames).toEqual([
      { type: "task.output_item.added", ...of, item: { ...item, block_list: [] } },
      { type: "task.text.done", ...inItem, block_index: 0, item: { type: "text", text, id: 1 } },
      {
        type: "task.output_item.done",
        ...of,
        item: { ...item, block_list: [{ type: "text", text, id: 1 }], status: "completed", preview: "" },
      },
    ]);
  });

  test("T05 a larger picture is added, then done", () => {
    const { frames, inItem } = resultFrames([
      { part: 0, media: "image", data: picture(1), done: true, reference },
    ]);
    expect(frames.slice(1, -1)).toEqual([
      { type: "task.image.added", ...inItem, block_index: 0, item: image("") },
      { type: "task.image.done", ...inItem, block_index: 0, item: image(picture(1)) },
    ]);
  });

  test("T05 the largest picture streams as complete pictures with partial_image_index, the last one final", () => {
    const piece = { part: 1, media: "image", reference } as const;
    const { frames, inItem } = resultFrames([
      { part: 0, media: "text", data: "as seen from space", done: true, reference },
      { ...piece, data: picture(1), done: false },
      { ...piece, data: picture(2), done: false },
      { ...piece, data: picture(3), done: true },
    ]);
    const at = { ...inItem, block_index: 1 };
    expect(frames.slice(2, -1)).toEqual([
      { type: "task.image.added", ...at, item: image("") },
      { type: "task.image.delta", ...at, partial_image_index: 0, item: image(picture(1)) },
      { type: "task.image.delta", ...at, partial_image_index: 1, item: image(picture(2)) },
      { type: "task.image.done", ...at, item: image(picture(3)) },
    ]);
    expect(frames.at(-1)).toMatchObject({ item: { block_list: [{ type: "text" }, image(picture(3))] } });
  });

  test("T05 long text is added, extended by deltas, and done", () => {
    const piece = { part: 0, media: "text" } as const;
    const { frames, inItem } = resultFrames([
      { ...piece, data: "Monday: dry. ", done: false, reference },
      { ...piece, data: "Tuesday: ", done: false },
      { ...piece, data: "rain.", done: true },
    ]);
    const at = { ...inItem, block_index: 0 };
    expect(frames.slice(1, -1)).toEqual([
      { type: "task.text.added", ...at, item: { type: "text", text: "", id: 1 } },
      { type: "task.text.delta", ...at, delta: "Monday: dry. " },
      { type: "task.text.delta", ...at, delta: "Tuesday: " },
      { type: "task.text.done", ...at, item: { type: "text", text: "Monday: dry. Tuesday: rain.", id: 1 } },
    ]);
  });

  test("T05 an open part is done when the result ends", () => {
    const { frames, inItem } = resultFrames([{ part: 0, media: "text", data: "Dry.", done: false }]);
    const done = { type: "task.text.done", ...inItem, block_index: 0, item: { type: "text", text: "Dry." } };
    expect(frames.at(-2)).toEqual(done);
  });

  test("T05 a result without parts shows its preview", () => {
    const { frames } = resultFrames([], "Dry until Friday.");
    expect(frames.at(-1)).toMatchObject({
      item: { block_list: [{ type: "text", text: "Dry until Friday." }] },
    });
  });

  test.each([
    ["success", "completed"],
    ["error", "failed"],
    ["cancelled", "cancelled"],
  ] as const)("T02 ends with its status: %s is %s", (status, expected) => {
    const log = startedLog();
    log.result(log.call("get_weather", []), "get_weather", "", { status });
    expect(itemFrames(log).at(-1)).toMatchObject({ item: { type: "tool_result", status: expected } });
  });
});
