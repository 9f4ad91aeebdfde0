/** The `tasks` dialect (001), frame by frame: reasoning, tool calls, results by size, messages, citations. */
import { type Annotation, blocksOf, type ResultPart } from "@turnstream/protocol";
import { tasks, taskState } from "@turnstream/protocol/tasks";
import { tasksFrameSchema } from "@turnstream/protocol/schema";
import { describe, expect, test } from "vitest";
import { TasksClient } from "../clients/tasks-client.ts";
import { LogWriter } from "../support/log-writer.ts";
import { bareFramesOf, blocksIn, framesOf, read, turnOf } from "./frames.ts";
import { everyEvent } from "./every-event.ts";

/** The frames of the items alone, without those that we add around them. */
function itemFrames(log: LogWriter): Record<string, unknown>[] {
  return bareFramesOf(tasks, log).filter(
    (frame) => frame.type !== "task.created" && frame.type !== "task.done",
  );
}

function begun(): LogWriter {
  return new LogWriter().session("ses_sky", 5).begin("Will it rain?");
}

describe("the envelope", () => {
  test("T01 every event has a type and a task_id, and fits its schema", () => {
    for (const frame of framesOf(tasks, everyEvent())) {
      expect(frame.type).toMatch(/^task[.]/);
      expect(frame.task_id).not.toBe("");
      expect(tasksFrameSchema.safeParse(frame).error).toBeUndefined();
    }
  });

  test("T01 a task begins and ends with frames of our own, which say how it went", () => {
    const log = begun().text(["No."], { final: true }).end();
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
    const log = begun().think(["Clouds from ", "the west."]);
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
  test("T02 T04 streams its arguments as text and gives them whole at the end", () => {
    const log = begun();
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

describe("a tool result", () => {
  interface Piece {
    readonly part: number;
    readonly media: ResultPart["media"];
    readonly data: string;
    readonly done: boolean;
    readonly reference?: { readonly id: number };
  }

  /** The frames of a result with these pieces, from its `.added` on. */
  function resultFrames(
    pieces: readonly Piece[],
    preview = "",
  ): { frames: Record<string, unknown>[]; inItem: object } {
    const log = begun();
    const on = log.startResult(log.call("get_weather", [], { call: "call_1" }), "get_weather");
    for (const piece of pieces) log.add({ type: "tool_result.delta", ...on, ...piece });
    log.endResult(on, preview);
    return {
      frames: itemFrames(log).slice(3),
      inItem: { task_id: log.turn, output_index: 1, item_id: on.block },
    };
  }
  const picture = (n: number) => `data:image/png;base64,AAA${n}`;
  const reference = { id: 1 };
  const image = (url: string) => ({ type: "image", image_url: { url }, id: 1 });

  test("T05 T06 small text goes in one done, and the item's done has the whole block_list and no content", () => {
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

  test("T05 the largest comes as whole pictures with partial_image_index, the last one final", () => {
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

  test("T05 long text is added, grows by deltas, and is done", () => {
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

  test("T05 a part left open is done when the result ends", () => {
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
  ] as const)("T02 ends with its status: %s is %s", (status, told) => {
    const log = begun();
    log.result(log.call("get_weather", []), "get_weather", "", { status });
    expect(itemFrames(log).at(-1)).toMatchObject({ item: { type: "tool_result", status: told } });
  });
});

describe("a message", () => {
  test("T02 T05 T07 streams as text with its citations, and is done whole", () => {
    const log = begun();
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
    ["001's own sentence", "The weather in Paris is sunny with a temperature of 15C.[^1]", 56, 60],
    ["emoji before the marker", "Dry ☀️🏖️👨‍👩‍👧 today.[^1]", 24, 28],
    ["Vietnamese in composed and decomposed letters", "Huế: nắng.[^1] Hue\u0302\u0301.", 10, 14],
    ["an id of two digits", "Dry.[^12]", 4, 9],
  ])("T07 an annotation covers exactly its marker in UTF-16 units: %s", (_, text, start, end) => {
    const log = begun();
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

  test("T07 an annotation outside the text, or empty, is refused", () => {
    const delta = (start: number, end: number) => () => {
      const log = begun();
      const on = log.place();
      log.add({ type: "text.start", ...on, part: false });
      log.add({ type: "text.delta", ...on, text: "Dry.[^1]", annotations: [{ reference: 1, start, end }] });
    };
    expect(delta(4, 8)).not.toThrow();
    expect(delta(4, 9)).toThrow("L18");
    expect(delta(4, 4)).toThrow("L18");
  });
});

describe("what a client of 001 has in the end", () => {
  /** The outputs of a plain client, after all frames. */
  function folded(log: LogWriter): Record<string, unknown> {
    const client = new TasksClient();
    for (const frame of framesOf(tasks, log)) client.handle({ ...frame });
    expect(client.problems).toEqual([]);
    return client.display();
  }
  /** The same by the server: without the emptied items, which a takeover leaves. */
  function stated(log: LogWriter): Record<string, unknown> {
    const all = log.state.turns.toArray().flatMap((turn) => turn.runs.map((run) => taskState(turn, run)));
    return Object.fromEntries(all.map(({ task_id, output }) => [task_id, output]));
  }

  test("T01 T06 is {task_id, output} of four kinds of items, and nothing for the model", () => {
    const log = begun().think(["Hm."]);
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

  test("T01 a stop and an error are messages, told apart by a mark of ours", () => {
    const log = begun();
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
    expect(blocksOf(turnOf(state))).toMatchObject([{ kind: "notice", notice: "stopped" }]);
  });

  test("T02 what a takeover makes void is emptied in its place", () => {
    const log = begun();
    const on = log.place();
    log.add({ type: "text.start", ...on, part: false });
    log.add({ type: "text.delta", ...on, text: "It will r" });
    log.add({ type: "turn.takeover", turn: log.turn, blocks: [on.block], groups: [], runs: [] });
    log.text(["It stays dry."], { final: true }).end();
    const [gone, answer] = folded(log)[log.turn] as object[];
    expect(gone).toEqual({
      type: "message",
      id: on.block,
      role: "assistant",
      block_list: [],
      status: "superseded",
    });
    expect(answer).toMatchObject({ block_list: [{ text: "It stays dry." }] });
  });
});
