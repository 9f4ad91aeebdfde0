/**
 * `tasksDecoder` decodes frames of the `tasks` dialect into canonical events.
 * Invariant: the decoder accepts frames of the original format, without Turnstream's additions. A repeated
 * `task.created` or `added` frame writes nothing. Superseded items are collected until the frame with the cursor, so
 * one takeover is one event.
 */
import { type Block, emptyState, findToolCall, Sequence } from "@turnstream/protocol";
import type { TasksFrame, TasksFrameOf } from "@turnstream/protocol/tasks";
import { changeInteraction, requestApproval } from "../decoder/decode-interaction.ts";
import type { Decoded, Decoder, Decoding } from "../decoder/decoder.ts";
import { named, EventWriter } from "../decoder/event-writer.ts";
import { ignoreUnknown } from "../decoder/ignore-unknown.ts";
import { addItem, endItem, extendText, finishText, readImage, type TaskItemOf } from "./decode-item.ts";

export interface TasksDecoding extends Decoding {
  /** The turn of the root task. */
  readonly turn: string;
  readonly session: string;
  /** The run of each task of that turn. */
  readonly runs: Readonly<Record<string, string>>;
  /** The items of each task, by `output_index`. */
  readonly items: Readonly<Record<string, Sequence<TaskEntry>>>;
  /**
   * Calls with another id here than on the wire: the original format gives a sub-agent's call the id of the call that
   * started it.
   */
  readonly calls: Readonly<Record<string, string>>;
  /** Superseded items and tasks, collected until the last frame of the takeover arrives. */
  readonly voided: { readonly blocks: readonly string[]; readonly runs: readonly string[] };
}

/**
 * An item of a task: its wire id and its canonical index. The index is null for a notice, which is written once it is
 * complete.
 */
interface TaskEntry {
  readonly id: string;
  readonly index: number | null;
}

const FRAME_TYPES: ReadonlySet<TasksFrame["type"]> = new Set<TasksFrame["type"]>([
  "task.created",
  "task.done",
  "task.output_item.added",
  "task.output_item.done",
  "task.reasoning_summary_item.added",
  "task.reasoning_summary_text.delta",
  "task.reasoning_summary_item.done",
  "task.tool_call_arguments.delta",
  "task.tool_call_arguments.done",
  "task.text.added",
  "task.text.delta",
  "task.text.done",
  "task.image.added",
  "task.image.delta",
  "task.image.done",
]);

const start: TasksDecoding = {
  state: emptyState,
  at: 0,
  cursor: null,
  turn: "",
  session: "",
  runs: {},
  items: {},
  calls: {},
  voided: { blocks: [], runs: [] },
};

export const tasksDecoder: Decoder<TasksDecoding, TasksFrame> = {
  start,
  decode: ignoreUnknown(FRAME_TYPES, decodeFrame),
};

function decodeFrame(decoder: TasksDecoding, frame: TasksFrame): Decoded<TasksDecoding> {
  const writer = new EventWriter(decoder);
  let next: TasksDecoding = {
    ...decoder,
    ...read(writer, decoder, frame),
    cursor: frame.event_id ?? decoder.cursor,
  };
  const { blocks, runs } = next.voided;
  if (frame.event_id !== undefined && blocks.length + runs.length > 0) {
    const removed = new Set(runs);
    writer.write({
      type: "turn.takeover",
      turn: next.turn,
      blocks: unique(blocks),
      groups: [],
      runs: unique(runs),
    });
    const left = Object.entries(next.runs).filter(([, run]) => !removed.has(run));
    next = { ...next, runs: Object.fromEntries(left), voided: start.voided };
  }
  return { decoder: { ...next, state: writer.state, at: writer.at }, events: writer.events, problem: null };
}

function unique(ids: readonly string[]): string[] {
  return [...new Set(ids)];
}

function read(writer: EventWriter, decoder: TasksDecoding, frame: TasksFrame): Partial<TasksDecoding> {
  if (frame.type === "task.created") return readCreated(writer, decoder, frame);
  const { turn, run, started } = taskOf(writer, decoder, frame.task_id);
  const known = { ...decoder, ...started };
  switch (frame.type) {
    case "task.done":
      return { ...started, ...readDone(writer, known, turn, run, frame) };
    case "task.output_item.added":
      return { ...started, ...readAdded(writer, known, run, frame) };
    case "task.output_item.done":
      return { ...started, ...readItemDone(writer, known, run, frame) };
    default: {
      const entry = known.items[frame.task_id]?.get(frame.output_index);
      const block = writer.blockAt(turn, entry?.index ?? undefined);
      if (block !== undefined && entry?.id === frame.item_id) readInner(writer, turn, block, frame);
      return started;
    }
  }
}

function readCreated(
  writer: EventWriter,
  decoder: TasksDecoding,
  frame: TasksFrameOf<"task.created">,
): Partial<TasksDecoding> {
  const { task_id: task, agent } = frame;
  writer.at = Math.round(frame.timestamp * 1000);
  writer.session(frame.session_id, 0);
  if (frame.parent_task_id !== undefined) return beginRun(writer, decoder, task, agent, frame.parent_task_id);
  // Sent again after a reload: the turn already exists.
  if (task === decoder.turn) return {};
  return { ...beginTurn(writer, decoder, task, agent, frame.display_mode), session: frame.session_id };
}

interface Task {
  readonly turn: string;
  readonly run: string;
  /** Changes of the decoder if the task is new. */
  readonly started: Partial<TasksDecoding>;
}

/** Returns the turn and run of a task. Streams of the original format don't announce a task before its items. */
function taskOf(writer: EventWriter, decoder: TasksDecoding, task: string): Task {
  const { turn } = decoder;
  const run = decoder.runs[task];
  if (run !== undefined) return { turn, run, started: {} };
  const known = writer.turn(turn);
  const isCall = known !== undefined && findToolCall(known, task) !== undefined;
  // Turnstream servers announce turns. An unknown task inside a turn is therefore a sub-agent that started before this
  // client subscribed.
  if (isCall || (decoder.cursor !== null && known?.status === "running")) {
    const started = beginRun(writer, decoder, task, task, undefined);
    return { turn, run: started.runs?.[task] ?? task, started };
  }
  return { turn: task, run: task, started: beginTurn(writer, decoder, task, "agent", "agent") };
}

/** Starts a turn for a new root task and ends the previous one. The original format has no event that ends a task. */
function beginTurn(
  writer: EventWriter,
  decoder: TasksDecoding,
  turn: string,
  agent: string,
  mode: "agent" | "chat",
): Partial<TasksDecoding> {
  writer.session(decoder.session || "session", 0);
  writer.endTurn(decoder.turn, "end_turn", 0);
  writer.begin(turn, agent, { mode });
  return { turn, runs: { [turn]: turn }, items: {}, calls: {} };
}

function beginRun(
  writer: EventWriter,
  decoder: TasksDecoding,
  task: string,
  agent: string,
  parent: string | undefined,
): Partial<TasksDecoding> {
  if (decoder.runs[task] !== undefined) return {};
  const call = parent === undefined ? task : (decoder.calls[callKey(parent, task)] ?? task);
  const run = writer.subRun(decoder.turn, call, agent);
  return { runs: { ...decoder.runs, [task]: run } };
}

function callKey(task: string, call: string): string {
  return `${task}/${call}`;
}

function readAdded(
  writer: EventWriter,
  decoder: TasksDecoding,
  run: string,
  frame: TasksFrameOf<"task.output_item.added">,
): Partial<TasksDecoding> {
  const { item, task_id: task, output_index } = frame;
  const { turn } = decoder;
  const entries = decoder.items[task] ?? Sequence.empty<TaskEntry>();
  if (entries.get(output_index)?.id === item.id) return {};
  const isNotice = item.type === "message" && item.notice !== undefined;
  let { calls } = decoder;
  if (item.type === "tool_call" && item.call_id === task) {
    calls = { ...calls, [callKey(task, item.call_id)]: callKey(task, item.call_id) };
  }
  const call = "call_id" in item ? (calls[callKey(task, item.call_id)] ?? item.call_id) : "";
  const index = isNotice ? null : addItem(writer, turn, run, item, call);
  const placed = entries.place(output_index, { id: item.id, index }, { id: "", index: null });
  return { calls, items: { ...decoder.items, [task]: placed } };
}

function readDone(
  writer: EventWriter,
  decoder: TasksDecoding,
  turn: string,
  run: string,
  frame: TasksFrameOf<"task.done">,
): Partial<TasksDecoding> {
  const { status } = frame;
  const usage = frame.usage === undefined ? {} : { usage: frame.usage };
  if (status === "superseded") {
    return { voided: { ...decoder.voided, runs: [...decoder.voided.runs, run] } };
  }
  if (run !== turn) writer.write({ type: "run.end", turn, run, status, ...usage });
  else {
    const reason =
      frame.stop_reason ??
      (status === "failed" ? "error" : status === "cancelled" ? "user_stopped" : "end_turn");
    writer.endTurn(turn, reason, frame.duration_ms ?? 0, frame.usage);
  }
  return {};
}

function readItemDone(
  writer: EventWriter,
  decoder: TasksDecoding,
  run: string,
  frame: TasksFrameOf<"task.output_item.done">,
): Partial<TasksDecoding> {
  const { item } = frame;
  const { turn } = decoder;
  const entry = decoder.items[frame.task_id]?.get(frame.output_index);
  const block = writer.blockAt(turn, entry?.index ?? undefined);
  if (entry?.id !== item.id) return {};
  if (item.status === "superseded") {
    if (block === undefined) return {};
    return { voided: { ...decoder.voided, blocks: [...decoder.voided.blocks, block.id] } };
  }
  if (block === undefined || block.end === null) endItem(writer, turn, run, item, block);
  if (block?.kind === "tool_call" && item.type === "tool_call" && item.approval !== undefined)
    readApproval(writer, { turn, run }, block.call, item.approval);
  return {};
}

function readApproval(
  writer: EventWriter,
  where: { readonly turn: string; readonly run: string },
  call: string,
  approval: NonNullable<TaskItemOf<"tool_call">["approval"]>,
): void {
  const { approval_key: key, status, version, reason, edited_requests, always } = approval;
  requestApproval(writer, where, key, { ...approval, tool_use_id: call });
  if (status === "pending") return;
  changeInteraction(writer, where.turn, key, {
    status,
    version,
    ...(reason === undefined ? {} : { reason }),
    ...(edited_requests === undefined ? {} : { action_requests: edited_requests }),
    ...(always === undefined ? {} : { always }),
  });
}

type InnerFrame = Exclude<
  TasksFrame,
  TasksFrameOf<"task.created" | "task.done" | "task.output_item.added" | "task.output_item.done">
>;

function readInner(writer: EventWriter, turn: string, block: Block, frame: InnerFrame): void {
  const on = named(turn, block);
  switch (frame.type) {
    case "task.reasoning_summary_item.added":
      if (frame.summary_index > 0) writer.write({ type: "thinking.delta", ...on, text: "\n\n" });
      return;
    case "task.reasoning_summary_text.delta":
      writer.write({ type: "thinking.delta", ...on, text: frame.delta });
      return;
    case "task.reasoning_summary_item.done":
      // Writes a thought that arrived in one piece; a streamed thought is already complete.
      if (block.kind === "thinking" && frame.item.text !== "" && !block.text.endsWith(frame.item.text)) {
        writer.write({ type: "thinking.delta", ...on, text: frame.item.text });
      }
      return;
    case "task.tool_call_arguments.delta":
      writer.write({ type: "tool_call.delta", ...on, args: frame.delta });
      return;
    case "task.text.delta":
      extendText(writer, turn, block, frame);
      return;
    case "task.text.done":
      finishText(writer, turn, block, frame);
      return;
    case "task.image.delta":
    case "task.image.done":
      readImage(writer, turn, block, frame);
      return;
    default:
      return;
  }
}
