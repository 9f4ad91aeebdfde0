/**
 * `DOCUMENT_001` has the examples of document 001: the stream of a task, and of a task inside the result of a call.
 * Invariant: items of both tasks have the same ids, and the inner call has the id of the outer one, as the document
 * prints them.
 */
import type { PrintedExample } from "./printed-example.ts";

const CALL = "call-a";
const THOUGHTS = ["The wind decides.", "Ask the buoy."];
const ARGS = '{"buoy":"Outer, North"}';
const FOUND = '{"wind":"4 bft"}';
const ANSWER = "The wind is moderate.[^1]";
const PICTURES = ["data:,first", "data:,second", "data:,last"];

const place = (task_id: string, output_index: number, item_id?: string): object => ({
  task_id,
  ...(item_id === undefined ? {} : { item_id }),
  output_index,
});
const item = (task: string, index: number, change: "added" | "done", body: object): object => ({
  type: `task.output_item.${change}`,
  ...place(task, index),
  item: body,
});
const image = (url = ""): object => ({ type: "image", image_url: { url }, id: 1 });
const textPart = { type: "text", text: FOUND, id: 1 };
const answerPart = {
  type: "text",
  text: ANSWER,
  id: 1,
  annotations: [{ type: "reference_to_block", reference_id: 1, start_index: 21, end_index: 25 }],
};

/**
 * The four kinds of items of one task, each with all its frames. A larger picture is added and done, and the largest one
 * also has deltas.
 */
function taskFrames(task: string, picture: "larger" | "largest"): object[] {
  const reasoning = place(task, 0, "rs-1");
  const args = place(task, 1, "fc-1");
  const result = place(task, 2, "fco-1");
  const call = { type: "tool_call", id: "fc-1", call_id: CALL, name: "read_buoy" };
  const container = { type: "tool_result", id: "fco-1", call_id: CALL };
  const message = { type: "message", id: "msg-1", role: "assistant" };
  const summaryItem = { type: "task.reasoning_summary_item.added", ...reasoning };
  return [
    item(task, 0, "added", { type: "reasoning", id: "rs-1", summary: [] }),
    ...THOUGHTS.flatMap((thought, summary_index) => [
      { ...summaryItem, summary_index, item: { type: "text", text: "" } },
      { type: "task.reasoning_summary_text.delta", ...reasoning, summary_index, delta: thought.slice(0, 5) },
      { type: "task.reasoning_summary_text.delta", ...reasoning, summary_index, delta: thought.slice(5) },
      {
        type: "task.reasoning_summary_item.done",
        ...reasoning,
        summary_index,
        item: { type: "text", text: thought },
      },
    ]),
    item(task, 0, "done", {
      type: "reasoning",
      id: "rs-1",
      summary: THOUGHTS.map((text) => ({ type: "text", text })),
    }),
    item(task, 1, "added", { ...call, arguments: "" }),
    ...ARGS.match(/.{1,6}/g)!.map((delta) => ({ type: "task.tool_call_arguments.delta", ...args, delta })),
    { type: "task.tool_call_arguments.done", ...args, arguments: ARGS },
    item(task, 1, "done", { ...call, arguments: ARGS }),
    item(task, 2, "added", { ...container, block_list: [] }),
    { type: "task.text.done", ...result, block_index: 0, item: textPart },
    { type: "task.image.added", ...result, block_index: 1, item: image() },
    ...(picture === "larger" ? [] : PICTURES.slice(0, 2)).map((url, partial_image_index) => ({
      type: "task.image.delta",
      ...result,
      block_index: 1,
      partial_image_index,
      item: image(url),
    })),
    { type: "task.image.done", ...result, block_index: 1, item: image(PICTURES[2]) },
    item(task, 2, "done", { ...container, block_list: [textPart, image(PICTURES[2])] }),
    item(task, 3, "added", { ...message, block_list: [] }),
    { type: "task.text.done", ...place(task, 3, "msg-1"), block_index: 0, item: answerPart },
    item(task, 3, "done", { ...message, block_list: [answerPart] }),
  ];
}

/** The items of the end state: with `content` for the model, and pictures of another type. */
function endStateItems(): object[] {
  const tags = ["added_by_reference_manager"];
  const picture = { type: "image_url", image_url: { url: PICTURES[2] }, id: 1 };
  const content = [
    { type: "text", text: "<referencable-item>\nID: 1", id: 1, tags },
    textPart,
    picture,
    { type: "text", text: "</referencable-item>", id: 1, tags },
  ];
  return [
    { type: "reasoning", id: "rs-1", summary: THOUGHTS.map((text) => ({ type: "text", text })) },
    { type: "tool_call", id: "fc-1", call_id: CALL, name: "read_buoy", arguments: ARGS },
    { type: "tool_result", id: "fco-1", call_id: CALL, content, block_list: [textPart, picture] },
    {
      type: "message",
      id: "msg-1",
      role: "assistant",
      content: [{ type: "text", text: ANSWER }],
      block_list: [answerPart],
    },
  ];
}

/** A stream whose items are done as the end state prints them. */
function endStateFrames(): object[] {
  const items = endStateItems();
  return taskFrames("task-1", "larger").map((frame) => {
    const { type, output_index } = frame as { type: string; output_index: number };
    return type === "task.output_item.done" ? { ...frame, item: items[output_index] } : frame;
  });
}

const taskBlocks: PrintedExample["shows"] = [
  { kind: "thinking", text: THOUGHTS.join("\n\n") },
  { kind: "tool_call", name: "read_buoy", input: { buoy: "Outer, North" } },
  {
    kind: "tool_result",
    status: "success",
    parts: [
      { media: "text", data: FOUND, reference: { id: 1 } },
      { media: "image", data: PICTURES[2], reference: { id: 1 } },
    ],
  },
  { kind: "text", text: ANSWER, annotations: [{ reference: 1, start: 21, end: 25 }] },
];

const outer = { type: "tool_call", id: "fc-1", call_id: CALL, name: "ask_for_help" };
const outerArgs = '{"name":"Buoys","description":"Reads buoys.","prompt":"How windy is it?"}';

export const DOCUMENT_001: readonly PrintedExample[] = [
  {
    lines: "154-345",
    about: "a task with all four kinds of items",
    frames: taskFrames("task-1", "larger"),
    shows: taskBlocks,
  },
  {
    lines: "298-305",
    about: "a picture with deltas",
    frames: taskFrames("task-1", "largest"),
    shows: taskBlocks,
  },
  {
    lines: "25-121",
    about: "the items of the end state, with content for the model",
    frames: endStateFrames(),
    shows: taskBlocks,
  },
  {
    lines: "604-756",
    about: "a sub-agent inside the result of its call",
    frames: [
      item("task-1", 1, "added", { ...outer, arguments: "" }),
      item("task-1", 1, "done", { ...outer, arguments: outerArgs }),
      item("task-1", 2, "added", { type: "tool_result", id: "fco-1", call_id: CALL, block_list: [] }),
      ...taskFrames(CALL, "largest"),
      item("task-1", 2, "done", { type: "tool_result", id: "fco-1", call_id: CALL, status: "completed" }),
    ],
    shows: [
      { kind: "tool_call", name: "ask_for_help", input: { name: "Buoys" } },
      { kind: "tool_result" },
      ...taskBlocks,
    ],
  },
];
