/**
 * Frames of the `tasks` dialect to canonical events. Liberal: takes the frames of 001 as they are printed
 * there, without our additions, and ignores what it doesn't know.
 */
import { callOf } from "../../turn-facts.ts";
import { type Block, emptyState } from "../../state.ts";
import type { Decoded } from "../dialect.ts";
import { type Decoding, named, Scribe } from "../scribe.ts";
import { addItem, endItem, extendText, finishText, readImage } from "./decode-item.ts";
import type { TaskItemOf, TasksFrame, TasksFrameOf } from "./frames.ts";

export interface TasksDecoder extends Decoding {
  /** The turn that the root task of the stream stands for. */
  readonly turn: string;
  readonly session: string;
  /** Canonical index of each item of that turn, by task and `item_id`. */
  readonly indexes: Readonly<Record<string, number>>;
  /** Notices whose text has not come yet, in the same way. */
  readonly notices: Readonly<Record<string, TaskItemOf<"message">>>;
  /** Items and tasks declared void, until the last frame of the takeover says that these are all. */
  readonly voided: { readonly blocks: readonly string[]; readonly runs: readonly string[] };
}

export const TASKS_FRAME_TYPES: ReadonlySet<TasksFrame["type"]> = new Set<TasksFrame["type"]>([
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

export const tasksStart: TasksDecoder = {
  state: emptyState,
  at: 0,
  cursor: null,
  turn: "",
  session: "",
  indexes: {},
  notices: {},
  voided: { blocks: [], runs: [] },
};

export function decodeTasks(decoder: TasksDecoder, frame: TasksFrame): Decoded<TasksDecoder> {
  const scribe = new Scribe(decoder);
  let next: TasksDecoder = {
    ...decoder,
    ...read(scribe, decoder, frame),
    cursor: frame.event_id ?? decoder.cursor,
  };
  const { blocks, runs } = next.voided;
  if (frame.event_id !== undefined && blocks.length + runs.length > 0) {
    scribe.write({
      type: "turn.takeover",
      turn: next.turn,
      blocks: unique(blocks),
      groups: [],
      runs: unique(runs),
    });
    next = { ...next, voided: tasksStart.voided };
  }
  return { decoder: { ...next, state: scribe.state, at: scribe.at }, events: scribe.events };
}

function unique(ids: readonly string[]): string[] {
  return [...new Set(ids)];
}

function read(scribe: Scribe, decoder: TasksDecoder, frame: TasksFrame): Partial<TasksDecoder> {
  if (frame.type === "task.created") return readCreated(scribe, decoder, frame);
  const task = taskOf(scribe, decoder, frame.task_id);
  const { turn, run, begun } = task;
  const known = { ...decoder, ...begun };
  if (frame.type === "task.done") return { ...begun, ...readDone(scribe, known, turn, run, frame) };
  if (frame.type === "task.output_item.added") {
    const { item } = frame;
    const key = keyOf(frame.task_id, item.id);
    if (known.indexes[key] !== undefined || known.notices[key] !== undefined) return begun;
    if (item.type === "message" && item.notice !== undefined) {
      return { ...begun, notices: { ...known.notices, [key]: item } };
    }
    return { ...begun, indexes: { ...known.indexes, [key]: addItem(scribe, turn, run, item) } };
  }
  if (frame.type === "task.output_item.done")
    return { ...begun, ...readItemDone(scribe, known, task, frame) };
  const block = scribe.blockAt(turn, known.indexes[keyOf(frame.task_id, frame.item_id)]);
  if (block !== undefined) readInner(scribe, turn, block, frame);
  return begun;
}

/** 001 gives items of different tasks the same id. */
function keyOf(task: string, item: string): string {
  return `${task}/${item}`;
}

function readCreated(
  scribe: Scribe,
  decoder: TasksDecoder,
  frame: TasksFrameOf<"task.created">,
): Partial<TasksDecoder> {
  scribe.at = Math.round(frame.timestamp * 1000);
  scribe.session(frame.session_id, 0);
  if (frame.parent_task_id !== undefined) {
    scribe.subRun(decoder.turn, frame.task_id, frame.agent);
    return {};
  }
  // Told again after a reload: the turn is there.
  if (frame.task_id === decoder.turn) return {};
  const begun = beginTurn(scribe, decoder, frame.task_id, frame.agent, { mode: frame.display_mode });
  return { ...begun, session: frame.session_id };
}

interface Task {
  readonly turn: string;
  readonly run: string;
  /** What changes in the decoder when the task is a new turn. */
  readonly begun: Partial<TasksDecoder>;
}

/** Which turn and run a task is; 001's own streams name a task first by its items. */
function taskOf(scribe: Scribe, decoder: TasksDecoder, task: string): Task {
  if (task === decoder.turn) return { turn: task, run: task, begun: {} };
  const turn = scribe.turn(decoder.turn);
  const call = turn === undefined ? undefined : callOf(turn, task);
  if (call !== undefined)
    return { turn: decoder.turn, run: scribe.subRun(decoder.turn, task, call.name), begun: {} };
  return { turn: task, run: task, begun: beginTurn(scribe, decoder, task, "agent", {}) };
}

/** A new root task ends the one before it, for 001 has no event that does. */
function beginTurn(
  scribe: Scribe,
  decoder: TasksDecoder,
  turn: string,
  agent: string,
  more: Parameters<Scribe["begin"]>[2],
): Partial<TasksDecoder> {
  scribe.session(decoder.session || "session", 0);
  scribe.endTurn(decoder.turn, "end_turn", 0);
  scribe.begin(turn, agent, more);
  return { turn, indexes: {}, notices: {} };
}

function readDone(
  scribe: Scribe,
  decoder: TasksDecoder,
  turn: string,
  run: string,
  frame: TasksFrameOf<"task.done">,
): Partial<TasksDecoder> {
  const { status } = frame;
  const usage = frame.usage === undefined ? {} : { usage: frame.usage };
  if (status === "superseded") {
    return { voided: { ...decoder.voided, runs: [...decoder.voided.runs, run] } };
  }
  if (run !== turn) scribe.write({ type: "run.end", turn, run, status, ...usage });
  else {
    const reason =
      frame.stop_reason ??
      (status === "failed" ? "error" : status === "cancelled" ? "user_stopped" : "end_turn");
    scribe.endTurn(turn, reason, frame.duration_ms ?? 0, frame.usage);
  }
  return {};
}

function readItemDone(
  scribe: Scribe,
  decoder: TasksDecoder,
  { turn, run }: Task,
  frame: TasksFrameOf<"task.output_item.done">,
): Partial<TasksDecoder> {
  const { item } = frame;
  const key = keyOf(frame.task_id, item.id);
  const notice = decoder.notices[key];
  if (item.status !== "superseded" && item.type === "message" && notice !== undefined) {
    endItem(scribe, turn, run, item, undefined);
    return {};
  }
  const block = scribe.blockAt(turn, decoder.indexes[key]);
  if (block === undefined) return {};
  if (item.status === "superseded") {
    return { voided: { ...decoder.voided, blocks: [...decoder.voided.blocks, block.id] } };
  }
  if (block.end === null) endItem(scribe, turn, run, item, block);
  return {};
}

type InnerFrame = Exclude<
  TasksFrame,
  TasksFrameOf<"task.created" | "task.done" | "task.output_item.added" | "task.output_item.done">
>;

function readInner(scribe: Scribe, turn: string, block: Block, frame: InnerFrame): void {
  const on = named(turn, block);
  switch (frame.type) {
    case "task.reasoning_summary_item.added":
      if (frame.summary_index > 0) scribe.write({ type: "thinking.delta", ...on, text: "\n\n" });
      return;
    case "task.reasoning_summary_text.delta":
      scribe.write({ type: "thinking.delta", ...on, text: frame.delta });
      return;
    case "task.reasoning_summary_item.done":
      // A thought that came in one piece; one that streamed is there already.
      if (block.kind === "thinking" && frame.item.text !== "" && !block.text.endsWith(frame.item.text)) {
        scribe.write({ type: "thinking.delta", ...on, text: frame.item.text });
      }
      return;
    case "task.tool_call_arguments.delta":
      scribe.write({ type: "tool_call.delta", ...on, args: frame.delta });
      return;
    case "task.text.delta":
      extendText(scribe, turn, block, frame);
      return;
    case "task.text.done":
      finishText(scribe, turn, block, frame);
      return;
    case "task.image.delta":
    case "task.image.done":
      readImage(scribe, turn, block, frame);
      return;
    default:
      return;
  }
}
