/**
 * Tests sub-agents as tasks in the `tasks` dialect, and the decoder with streams as the source document prints them.
 */
import { tasks } from "../support/codecs.ts";
import { type Block, listBlocks, viewRun, viewTurn } from "@turnstream/protocol";
import { describe, expect, test } from "vitest";
import { LogWriter } from "../support/log-writer.ts";
import { bareFramesOf, blocksIn, framesOf, read, turnOf } from "./frames.ts";

/** A main agent, its sub-agent, and a sub-agent of that one. */
function nested(): { log: LogWriter; inner: string; deepest: string } {
  const log = new LogWriter().session().begin("Will it rain?");
  const call = log.call("ask_for_help", ['{"name":"weather"}'], { call: "call_outer" });
  const on = log.startResult(call, "ask_for_help");
  const inner = log.startRun(call, "weather");
  log.think(["Ask the radar."], inner);
  const deeper = log.call("ask_for_help", ['{"name":"radar"}'], { call: "call_inner", run: inner });
  const onDeeper = log.startResult(deeper, "ask_for_help", { run: inner });
  const deepest = log.startRun(deeper, "radar", inner);
  log.text(["No echo."], { part: true, run: deepest }).endRun(deepest);
  log.endResult(onDeeper, "").text(["Dry."], { part: true, run: inner }).endRun(inner);
  log.endResult(on, "").text(["It stays dry."], { final: true }).end();
  return { log, inner, deepest };
}

describe("sub-agents", () => {
  test("T08 the container is added before the sub-agent's events, and its done after them has only a status", () => {
    const { log } = nested();
    const frames = framesOf(tasks, log);
    const bare = bareFramesOf(tasks, log);
    const id = listBlocks(turnOf(log.state)).find(
      (b) => b.kind === "tool_result" && b.call === "call_outer",
    )?.id;
    const of = { task_id: log.turn, output_index: 1 };
    const item = { type: "tool_result", id, call_id: "call_outer" };
    const added = frames.findIndex((f) => f.type === "task.output_item.added" && f.item.id === id);
    const done = frames.findIndex((f) => f.type === "task.output_item.done" && f.item.id === id);
    expect(bare[added]).toEqual({ type: "task.output_item.added", ...of, item: { ...item, block_list: [] } });
    const inside = frames.flatMap((frame, n) => (frame.task_id === "call_outer" ? [n] : []));
    expect(added).toBeLessThan(Math.min(...inside));
    expect(done).toBeGreaterThan(Math.max(...inside));
    expect(bare[done]).toEqual({
      type: "task.output_item.done",
      ...of,
      item: { ...item, status: "completed" },
    });
  });

  test("T08 T09 a task is named by its call and has its own output, at any depth", () => {
    const { log } = nested();
    const added = framesOf(tasks, log).flatMap((frame) =>
      frame.type === "task.output_item.added" ? [[frame.task_id, frame.output_index, frame.item.type]] : [],
    );
    expect(added).toEqual([
      [log.turn, 0, "tool_call"],
      [log.turn, 1, "tool_result"],
      ["call_outer", 0, "reasoning"],
      ["call_outer", 1, "tool_call"],
      ["call_outer", 2, "tool_result"],
      ["call_inner", 0, "message"],
      ["call_outer", 3, "message"],
      [log.turn, 2, "message"],
    ]);
    const created = framesOf(tasks, log).flatMap((f) =>
      f.type === "task.created" ? [[f.task_id, f.parent_task_id]] : [],
    );
    expect(created).toEqual([
      [log.turn, undefined],
      ["call_outer", log.turn],
      ["call_inner", "call_outer"],
    ]);
  });

  test("T08 T09 after decoding, each sub-agent is shown inside the call that started it", () => {
    const { state, problems } = read(tasks, framesOf(tasks, nested().log));
    expect(problems).toEqual([]);
    const turn = turnOf(state);
    expect(viewTurn(turn)).toMatchObject([
      { type: "tool", run: { call: "call_outer", agent: "weather" } },
      { type: "block", block: { text: "It stays dry." } },
    ]);
    const weather = turn.runs.find((run) => run.call === "call_outer");
    expect(viewRun(turn, weather?.id ?? "")).toMatchObject([
      { block: { kind: "thinking" } },
      { type: "tool", run: { call: "call_inner", agent: "radar", parent: weather?.id } },
      { block: { text: "Dry." } },
    ]);
  });
});

const inTask = (task_id: string, output_index: number, item_id?: string) => ({
  task_id,
  output_index,
  ...(item_id === undefined ? {} : { item_id }),
});
const added = (task: string, index: number, item: object) => ({
  type: "task.output_item.added",
  ...inTask(task, index),
  item,
});
const done = (task: string, index: number, item: object) => ({
  type: "task.output_item.done",
  ...inTask(task, index),
  item,
});

const image = (url: string) => ({ type: "image", image_url: { url }, id: 1 });

/** A thought of two summary items, a call, a result with text and picture, and an answer, as printed. */
function printed(task: string, prefix: string, call: string): object[] {
  const rs = `${prefix}rs_1`;
  const fc = `${prefix}fc_1`;
  const fco = `${prefix}fco_1`;
  const msg = `${prefix}msg_1`;
  const thoughts = ["Rain comes from the west.", "I ask the radar."];
  const summary = thoughts.map((text) => ({ type: "text", text }));
  const args = '{"place":"Hue, Vietnam"}';
  const reasoning = inTask(task, 0, rs);
  const result = inTask(task, 2, fco);
  const text = { type: "text", text: '{"rain":false}', id: 1 };
  const annotations = [{ type: "reference_to_block", reference_id: 1, start_index: 13, end_index: 17 }];
  const answer = { type: "text", text: "It stays dry.[^1]", id: 1, annotations };
  return [
    added(task, 0, { type: "reasoning", id: rs, summary: [] }),
    ...thoughts.flatMap((thought, summary_index) => [
      {
        type: "task.reasoning_summary_item.added",
        ...reasoning,
        summary_index,
        item: { type: "text", text: "" },
      },
      { type: "task.reasoning_summary_text.delta", ...reasoning, summary_index, delta: thought.slice(0, 7) },
      { type: "task.reasoning_summary_text.delta", ...reasoning, summary_index, delta: thought.slice(7) },
      {
        type: "task.reasoning_summary_item.done",
        ...reasoning,
        summary_index,
        item: { type: "text", text: thought },
      },
    ]),
    done(task, 0, { type: "reasoning", id: rs, summary }),
    added(task, 1, { type: "tool_call", id: fc, call_id: call, name: "get_weather", arguments: "" }),
    ...['{"', "place", '":"Hue', ", Vietnam", '"}'].map((delta) => ({
      type: "task.tool_call_arguments.delta",
      ...inTask(task, 1, fc),
      delta,
    })),
    { type: "task.tool_call_arguments.done", ...inTask(task, 1, fc), arguments: args },
    done(task, 1, { type: "tool_call", id: fc, call_id: call, name: "get_weather", arguments: args }),
    added(task, 2, { type: "tool_result", id: fco, call_id: call, block_list: [] }),
    { type: "task.text.done", ...result, block_index: 0, item: text },
    { type: "task.image.added", ...result, block_index: 1, item: image("") },
    ...["data:,a", "data:,b"].map((url, partial_image_index) => ({
      type: "task.image.delta",
      ...result,
      block_index: 1,
      partial_image_index,
      item: image(url),
    })),
    { type: "task.image.done", ...result, block_index: 1, item: image("data:,c") },
    done(task, 2, { type: "tool_result", id: fco, call_id: call, block_list: [text, image("data:,c")] }),
    added(task, 3, { type: "message", id: msg, role: "assistant", block_list: [] }),
    { type: "task.text.done", ...inTask(task, 3, msg), block_index: 0, item: answer },
    done(task, 3, { type: "message", id: msg, role: "assistant", block_list: [answer] }),
  ];
}

const expected = (call: string) => [
  { kind: "thinking", text: "Rain comes from the west.\n\nI ask the radar." },
  { kind: "tool_call", call, name: "get_weather", input: { place: "Hue, Vietnam" } },
  {
    kind: "tool_result",
    call,
    name: "get_weather",
    status: "success",
    parts: [
      { media: "text", data: '{"rain":false}', reference: { id: 1 }, done: true },
      { media: "image", data: "data:,c", reference: { id: 1 }, done: true },
    ],
  },
  { kind: "text", text: "It stays dry.[^1]", annotations: [{ reference: 1, start: 13, end: 17 }] },
];

/** The blocks of the run that a call started. */
function blocksUnder(blocks: readonly Block[], frames: readonly object[], call: string): Block[] {
  const run = turnOf(read(tasks, frames).state).runs.find((r) => r.call === call);
  return blocks.filter((block) => block.run === run?.id);
}

describe("the decoder with printed streams", () => {
  test("T01 T02 T03 T04 T05 T07 a task folds to the content of its events", () => {
    const { state, problems } = read(tasks, printed("task_1", "", "call_1"));
    expect(problems).toEqual([]);
    expect(blocksIn(state)).toMatchObject(expected("call_1"));
    expect(blocksIn(state).at(-1)).toMatchObject({ part: false, final: true });
  });

  test("T05 a picture of the type image_url, as in the printed end state, is accepted", () => {
    const frames = JSON.parse(
      JSON.stringify(printed("task_1", "", "call_1")).replaceAll('"type":"image"', '"type":"image_url"'),
    ) as object[];
    const { state, problems } = read(tasks, frames);
    expect(problems).toEqual([]);
    expect(blocksIn(state)).toMatchObject(expected("call_1"));
  });

  test("T06 content for the model is ignored", () => {
    const content = [
      { type: "text", text: "<referencable-item>\nID: 1", id: 1, tags: ["added_by_reference_manager"] },
    ];
    const frames = printed("task_1", "", "call_1").map((frame) => {
      const { item } = frame as { item?: object };
      return item === undefined ? frame : { ...frame, item: { ...item, content } };
    });
    expect(read(tasks, frames).state).toEqual(read(tasks, printed("task_1", "", "call_1")).state);
  });

  test("T02 a frame repeated after a cut changes nothing", () => {
    const frames = printed("task_1", "", "call_1");
    const once = read(tasks, frames).state;
    const repeatable = /output_item[.](added|done)|(text|image|arguments)[.]done/;
    for (const frame of frames.filter((f) => repeatable.test((f as { type: string }).type))) {
      const at = frames.indexOf(frame);
      const { turns } = read(tasks, [...frames.slice(0, at + 1), ...frames.slice(at)]).state;
      expect(listBlocks(turns.last() ?? turnOf(once))).toMatchObject(expected("call_1"));
    }
  });

  const helpArgs = '{"name":"weather"}';
  const helper = (prefix: string) => [
    added("task_1", 0, {
      type: "tool_call",
      id: "fc_0",
      call_id: "call_0",
      name: "ask_for_help",
      arguments: "",
    }),
    { type: "task.tool_call_arguments.done", ...inTask("task_1", 0, "fc_0"), arguments: helpArgs },
    done("task_1", 0, {
      type: "tool_call",
      id: "fc_0",
      call_id: "call_0",
      name: "ask_for_help",
      arguments: helpArgs,
    }),
    added("task_1", 1, { type: "tool_result", id: "fco_0", call_id: "call_0", block_list: [] }),
    ...printed("call_0", prefix, "call_1"),
    done("task_1", 1, { type: "tool_result", id: "fco_0", call_id: "call_0", status: "completed" }),
    added("task_1", 2, { type: "message", id: "msg_1", role: "assistant", block_list: [] }),
    {
      type: "task.text.done",
      ...inTask("task_1", 2, "msg_1"),
      block_index: 0,
      item: { type: "text", text: "Dry." },
    },
    done("task_1", 2, {
      type: "message",
      id: "msg_1",
      role: "assistant",
      block_list: [{ type: "text", text: "Dry." }],
    }),
  ];

  test("T08 an unchanged stream of a sub-agent is decoded inside its container", () => {
    const frames = helper("sub_");
    const { state, problems } = read(tasks, frames);
    expect(problems).toEqual([]);
    expect(blocksUnder(blocksIn(state), frames, "call_0")).toMatchObject(expected("call_1"));
    expect(viewTurn(turnOf(state))).toMatchObject([
      { type: "tool", status: "done", run: { call: "call_0", status: "completed" } },
      { type: "block", block: { text: "Dry." } },
    ]);
  });

  test("T08 items of different tasks are separate, even with the same ids, as printed", () => {
    const frames = helper("");
    const { state } = read(tasks, frames);
    expect(blocksUnder(blocksIn(state), frames, "call_0")).toMatchObject(expected("call_1"));
    expect(blocksIn(state).at(-1)).toMatchObject({ kind: "text", text: "Dry." });
  });

  test("T01 the next task starts a turn and ends the one before normally, because the document has no event for that", () => {
    const { state } = read(tasks, [
      ...printed("task_1", "a_", "call_1"),
      ...printed("task_2", "b_", "call_2"),
    ]);
    expect(state.turns.toArray().map(({ id, status }) => [id, status])).toEqual([
      ["task_1", "end_turn"],
      ["task_2", "running"],
    ]);
  });

  test.each([{ type: "ping" }, { type: "task.something_new", task_id: "task_1" }])(
    "T01 an event of an unknown type changes nothing: %j",
    (frame) => {
      expect(read(tasks, [frame]).events).toEqual([]);
      const frames = printed("task_1", "", "call_1");
      expect(read(tasks, [...frames, frame]).state).toEqual(read(tasks, frames).state);
    },
  );
});

/** The sub-agent's own call has the id of the call that started it, and items of both tasks have the same ids. */
const outerTask = "task_root";
const innerTask = "call_1";
const printedItem = (
  task_id: string,
  output_index: number,
  kind: "added" | "done",
  body: object,
): object => ({
  type: `task.output_item.${kind}`,
  task_id,
  output_index,
  item: body,
});
const printedCall = (name: string, args: string): object => ({
  type: "tool_call",
  id: "fc",
  call_id: "call_1",
  name,
  arguments: args,
});
const printedResult = (more: object): object => ({
  type: "tool_result",
  id: "fco",
  call_id: "call_1",
  ...more,
});
const printedText = { type: "text", text: "12 degrees", id: 1 };
const printedMessage = (text: string): object => ({
  type: "message",
  id: "msg",
  role: "assistant",
  block_list: [{ type: "text", text }],
});
const printedTextDelta = (task_id: string, output_index: number, text: string): object => ({
  type: "task.text.done",
  task_id,
  item_id: "msg",
  output_index,
  block_index: 0,
  item: { type: "text", text },
});

describe("the printed nested stream", () => {
  test("T08 T09 separates the inner call and result from the outer ones", () => {
    const { state, problems } = read(tasks, [
      printedItem(outerTask, 0, "added", printedCall("ask_for_help", "")),
      printedItem(outerTask, 0, "done", printedCall("ask_for_help", '{"name":"weather"}')),
      printedItem(outerTask, 1, "added", printedResult({ block_list: [] })),
      printedItem(innerTask, 0, "added", printedCall("get_weather", "")),
      printedItem(innerTask, 0, "done", printedCall("get_weather", '{"place":"Hue"}')),
      printedItem(innerTask, 1, "added", printedResult({ block_list: [] })),
      {
        type: "task.text.done",
        task_id: innerTask,
        item_id: "fco",
        output_index: 1,
        block_index: 0,
        item: printedText,
      },
      printedItem(innerTask, 1, "done", printedResult({ block_list: [printedText] })),
      printedItem(innerTask, 2, "added", { ...printedMessage(""), block_list: [] }),
      printedTextDelta(innerTask, 2, "It is cool."),
      printedItem(innerTask, 2, "done", printedMessage("It is cool.")),
      printedItem(outerTask, 1, "done", printedResult({ status: "completed" })),
      printedItem(outerTask, 2, "added", { ...printedMessage(""), block_list: [] }),
      printedTextDelta(outerTask, 2, "Take a coat."),
      printedItem(outerTask, 2, "done", printedMessage("Take a coat.")),
    ]);
    expect(problems).toEqual([]);
    const turn = turnOf(state);
    const main = viewTurn(turn);
    expect(main).toMatchObject([
      { type: "tool", call: { name: "ask_for_help", input: { name: "weather" } }, status: "done" },
      { type: "block", block: { kind: "text", text: "Take a coat." } },
    ]);
    const run = turn.runs.find((r) => r.parent !== null)?.id ?? "";
    expect(viewRun(turn, run)).toMatchObject([
      {
        type: "tool",
        call: { name: "get_weather", input: { place: "Hue" } },
        result: { preview: "12 degrees" },
      },
      { type: "block", block: { kind: "text", text: "It is cool." } },
    ]);
  });
});
