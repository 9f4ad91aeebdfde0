/**
 * `encodeTasks` encodes canonical events as frames of the `tasks` dialect.
 * Invariant: the encoder has no state besides the folded session. An event that does not change the state has no
 * frames. The root task ends with its turn, not with the main run. Superseded items are emptied, never removed.
 */
import type { SessionEvent, EventOf } from "../../events/index.ts";
import { endsAll } from "../../fold/block.ts";
import { blockAt, findRun, findTurn } from "../../fold/edit.ts";
import { fold } from "../../fold/fold.ts";
import { findToolCall, leftRunning, mainRunStatus, findSubAgentRun } from "../../turn-queries.ts";
import {
  type ApprovalBlock,
  type ResultPart,
  type Run,
  type SessionState,
  type TextBlock,
  type ToolResultBlock,
  type Turn,
  isVisible,
  listBlocks,
} from "../../state.ts";
import type { Encoded } from "../dialect.ts";
import { withCursor } from "../with-cursor.ts";
import type { TasksFrame, TasksFrameOf } from "./frames.ts";
import {
  annotationOf,
  argumentsOf,
  emptyItem,
  isOutputBlock,
  type OutputBlock,
  partOf,
  supersededItem,
  taskIdOf,
  textOf,
  wholeItem,
} from "./items.ts";

export function encodeTasks(
  before: SessionState,
  event: SessionEvent,
  after: SessionState = fold(before, event),
): Encoded<SessionState, TasksFrame> {
  return { encoder: after, frames: withCursor(framesOf(before, event, after), event.id) };
}

type TurnEvent = Extract<SessionEvent, { readonly turn: string | null }>;

function framesOf(before: SessionState, event: SessionEvent, after: SessionState): TasksFrame[] {
  if (!("turn" in event) || event.turn === null) return [];
  const turn = findTurn(after, event.turn);
  const was = findTurn(before, event.turn);
  if (turn === undefined || turn === was) return [];
  const cut = was === undefined || !endsAll(event) ? [] : cutShort(was, turn);
  const left = event.type === "turn.start" ? leftRunning(before, after) : null;
  const last = left === null ? [] : [...cutShort(left.was, left.turn), rootDone(left.turn)];
  return [...last, ...cut, ...eventFrames(was, event, after, turn)];
}

/** Frames for items that a notice or the end of the turn closed, because their writer did not. */
function cutShort(was: Turn, turn: Turn): TasksFrame[] {
  return listBlocks(turn).flatMap((block): TasksFrame[] => {
    const old = blockAt(was, block.index, block.id);
    const run = findRun(turn, block.run);
    if (block.kind === "approval") return old === block ? [] : approvalFrames(turn, block);
    if (!block.aborted || old?.end !== null || run === undefined) return [];
    if (!isOutputBlock(block) || !isVisible(turn, block)) return [];
    const item = wholeItem(turn, block);
    return [
      { type: "task.output_item.done", task_id: taskIdOf(turn, run), output_index: block.output, item },
    ];
  });
}

function eventFrames(was: Turn | undefined, event: TurnEvent, after: SessionState, turn: Turn): TasksFrame[] {
  switch (event.type) {
    case "run.start":
      return [created(after, turn, event)];
    case "run.end": {
      const run = findRun(turn, event.run);
      // The root task ends with its turn, because `turn.end` has the reason.
      return run === undefined || run.parent === null ? [] : [done(turn, run, event.status)];
    }
    case "turn.end":
      return [rootDone(turn)];
    case "turn.takeover":
      return was === undefined ? [] : superseding(was, turn);
    default: {
      if (!("block" in event)) return [];
      const block = blockAt(turn, event.index, event.block);
      if (block?.kind === "approval") return approvalFrames(turn, block);
      if (block === undefined || !isOutputBlock(block) || !isVisible(turn, block)) return [];
      const old = was === undefined ? undefined : blockAt(was, event.index, event.block);
      return blockFrames(turn, event, block, old as OutputBlock | undefined);
    }
  }
}

/** Repeats the item of a call with its approval. A hidden call has no item. */
function approvalFrames(turn: Turn, { call }: ApprovalBlock): TasksFrame[] {
  const block = call === null ? undefined : findToolCall(turn, call);
  const run = block === undefined ? undefined : findRun(turn, block.run);
  if (block === undefined || run === undefined || !isOutputBlock(block)) return [];
  const item = wholeItem(turn, block);
  return [{ type: "task.output_item.done", task_id: taskIdOf(turn, run), output_index: block.output, item }];
}

function created(state: SessionState, turn: Turn, event: EventOf<"run.start">): TasksFrame {
  const parent = turn.runs.find((run) => run.id === event.parent);
  return {
    type: "task.created",
    task_id: event.call ?? turn.id,
    session_id: state.session,
    agent: event.agent,
    ...(parent === undefined ? {} : { parent_task_id: taskIdOf(turn, parent) }),
    timestamp: (parent === undefined ? turn.started_at : event.at) / 1000,
    display_mode: turn.mode,
  };
}

function done(turn: Turn, run: Run, status: TasksFrameOf<"task.done">["status"]): TasksFrame {
  return {
    type: "task.done",
    task_id: taskIdOf(turn, run),
    status,
    ...(run.usage === null ? {} : { usage: run.usage }),
  };
}

function rootDone(turn: Turn): TasksFrame {
  const stop_reason = turn.status === "running" ? "end_turn" : turn.status;
  const status = mainRunStatus(stop_reason);
  const usage = turn.usage === null ? {} : { usage: turn.usage };
  return {
    type: "task.done",
    task_id: turn.id,
    status,
    stop_reason,
    duration_ms: turn.duration_ms ?? 0,
    ...usage,
  };
}

/** Empties every item and ends every task that the takeover superseded. */
function superseding(was: Turn, turn: Turn): TasksFrame[] {
  const frames: TasksFrame[] = [];
  for (const item of turn.items) {
    if (
      item?.kind !== "superseded" ||
      item.output === null ||
      was.items.get(item.index)?.kind === "superseded"
    )
      continue;
    const replaced = supersededItem(item);
    const run = findRun(turn, item.run);
    if (replaced === null || run === undefined || !isVisible(turn, { kind: item.was })) continue;
    frames.push({
      type: "task.output_item.done",
      task_id: taskIdOf(turn, run),
      output_index: item.output,
      item: replaced,
    });
  }
  for (const run of turn.runs) {
    const before = findRun(was, run.id);
    if (run.status === "superseded" && before?.status !== "superseded")
      frames.push(done(turn, run, "superseded"));
  }
  return frames;
}

function blockFrames(
  turn: Turn,
  event: SessionEvent,
  block: OutputBlock,
  old: OutputBlock | undefined,
): TasksFrame[] {
  const run = findRun(turn, block.run);
  if (run === undefined) return [];
  const of = { task_id: taskIdOf(turn, run), output_index: block.output };
  const inItem = { ...of, item_id: block.id };
  const added = (): TasksFrame => ({ type: "task.output_item.added", ...of, item: emptyItem(block) });
  const ended = (): TasksFrame => ({ type: "task.output_item.done", ...of, item: wholeItem(turn, block) });
  switch (event.type) {
    case "thinking.start":
      return [
        added(),
        {
          type: "task.reasoning_summary_item.added",
          ...inItem,
          summary_index: 0,
          item: { type: "text", text: "" },
        },
      ];
    case "thinking.delta":
      return [{ type: "task.reasoning_summary_text.delta", ...inItem, summary_index: 0, delta: event.text }];
    case "thinking.end": {
      const text = block.kind === "thinking" ? block.text : "";
      const item = { type: "text", text } as const;
      return [{ type: "task.reasoning_summary_item.done", ...inItem, summary_index: 0, item }, ended()];
    }
    case "tool_call.start":
    case "tool_result.start":
    case "text.start":
      return [added()];
    case "tool_call.delta":
      return [{ type: "task.tool_call_arguments.delta", ...inItem, delta: event.args }];
    case "tool_call.end": {
      const text = block.kind === "tool_call" ? argumentsOf(block) : "";
      return [{ type: "task.tool_call_arguments.done", ...inItem, arguments: text }, ended()];
    }
    case "text.delta":
      return textDelta(inItem, event, old as TextBlock);
    case "text.end": {
      if (block.kind !== "text" || block.text === "") return [ended()];
      return [{ type: "task.text.done", ...inItem, block_index: 0, item: textOf(block) }, ended()];
    }
    case "notice.stopped":
    case "notice.error": {
      const text = { type: "text", text: event.text } as const;
      return [added(), { type: "task.text.done", ...inItem, block_index: 0, item: text }, ended()];
    }
    case "tool_result.delta":
      return resultDelta(inItem, event, block as ToolResultBlock, old as ToolResultBlock);
    case "tool_result.end":
      return [...lastPart(inItem, turn, block as ToolResultBlock, old as ToolResultBlock), ended()];
    default:
      return [];
  }
}

interface InItem {
  readonly task_id: string;
  readonly output_index: number;
  readonly item_id: string;
}

function textDelta(inItem: InItem, event: EventOf<"text.delta">, old: TextBlock): TasksFrame[] {
  if (event.text === "" && event.annotations === undefined) return [];
  const at = { ...inItem, block_index: 0 };
  const annotations =
    event.annotations === undefined ? {} : { annotations: event.annotations.map(annotationOf) };
  const delta: TasksFrame = { type: "task.text.delta", ...at, delta: event.text, ...annotations };
  return old.text === ""
    ? [{ type: "task.text.added", ...at, item: { type: "text", text: "" } }, delta]
    : [delta];
}

function resultDelta(
  inItem: InItem,
  event: EventOf<"tool_result.delta">,
  block: ToolResultBlock,
  old: ToolResultBlock,
): TasksFrame[] {
  const part = block.parts[event.part];
  if (part === undefined) return [];
  const at = { ...inItem, block_index: event.part };
  const isNew = old.parts[event.part] === undefined;
  // A complete text part is one frame, an image is announced first, and a streamed part has deltas in between.
  if (part.done) {
    const announced = isNew && part.media === "image" ? [partAdded(at, part)] : [];
    return [...announced, partDone(at, part)];
  }
  return [...(isNew ? [partAdded(at, part)] : []), partDelta(at, part, event)];
}

type AtPart = InItem & { readonly block_index: number };

function partAdded(at: AtPart, part: ResultPart): TasksFrame {
  const item = partOf({ ...part, data: "" });
  return item.type === "text"
    ? { type: "task.text.added", ...at, item }
    : { type: "task.image.added", ...at, item };
}

function partDelta(at: AtPart, part: ResultPart, event: EventOf<"tool_result.delta">): TasksFrame {
  const item = partOf(part);
  if (item.type === "text") return { type: "task.text.delta", ...at, delta: event.data };
  return { type: "task.image.delta", ...at, partial_image_index: part.pictures - 1, item };
}

function partDone(at: AtPart, part: ResultPart): TasksFrame {
  const item = partOf(part);
  return item.type === "text"
    ? { type: "task.text.done", ...at, item }
    : { type: "task.image.done", ...at, item };
}

/** Returns the frame for a part that the end of the result completes, or for the preview of a result without parts. */
function lastPart(inItem: InItem, turn: Turn, block: ToolResultBlock, old: ToolResultBlock): TasksFrame[] {
  const at = block.parts.length - 1;
  const part = block.parts[at];
  if (part !== undefined)
    return old.parts[at]?.done === true ? [] : [partDone({ ...inItem, block_index: at }, part)];
  if (block.preview === "" || findSubAgentRun(turn, block.call) !== undefined) return [];
  return [{ type: "task.text.done", ...inItem, block_index: 0, item: { type: "text", text: block.preview } }];
}
