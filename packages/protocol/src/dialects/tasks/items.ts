/**
 * How one block looks as an output item of the `tasks` dialect, and what a whole task looks like (T01).
 */
import { findSubAgentRun } from "../../turn-queries.ts";
import {
  type Annotation,
  type Block,
  listBlocks,
  isVisible,
  type ResultPart,
  type Run,
  type Superseded,
  type TextBlock,
  type ToolCallBlock,
  type Turn,
} from "../../state.ts";
import type { TaskAnnotation, TaskBlock, TaskItem, TaskItemOf } from "./frames.ts";

export type OutputBlock = Extract<Block, { readonly output: number }>;

export function isOutputBlock(block: Block): block is OutputBlock {
  return "output" in block && !("hidden" in block && block.hidden);
}

/** The root task is the turn; a sub-agent's is the call that started it. */
export function taskIdOf(turn: Turn, run: Run): string {
  return run.call ?? turn.id;
}

export function annotationOf(note: Annotation): TaskAnnotation {
  return {
    type: "reference_to_block",
    reference_id: note.reference,
    start_index: note.start,
    end_index: note.end,
  };
}

export function textOf(block: TextBlock): Extract<TaskBlock, { type: "text" }> {
  const annotations = block.annotations.map(annotationOf);
  return { type: "text", text: block.text, ...(annotations.length > 0 ? { annotations } : {}) };
}

export function partOf(part: ResultPart): TaskBlock {
  const { id, title, url } = part.reference ?? {};
  const source = {
    ...(id === undefined ? {} : { id }),
    ...(title === undefined ? {} : { title }),
    ...(url === undefined ? {} : { url }),
  };
  if (part.media === "text") return { type: "text", text: part.data, ...source };
  return { type: "image", image_url: { url: part.data }, ...source };
}

/** The arguments as text: as they streamed, unless others were given in the end. */
export function argumentsOf(block: ToolCallBlock): string {
  return block.given ? JSON.stringify(block.input) : block.args;
}

/** What people see of a result: its parts, or its preview when it has none. */
function blockListOf(block: Extract<Block, { kind: "tool_result" }>): TaskBlock[] {
  if (block.parts.length > 0) return block.parts.map(partOf);
  return block.preview === "" ? [] : [{ type: "text", text: block.preview }];
}

/** The item when it is added: empty, to be filled. */
export function emptyItem(block: OutputBlock): TaskItem {
  const { id } = block;
  switch (block.kind) {
    case "thinking":
      return { type: "reasoning", id, summary: [] };
    case "tool_call":
      return {
        type: "tool_call",
        id,
        call_id: block.call,
        name: block.name,
        arguments: "",
        label: block.label,
      };
    case "tool_result":
      return { type: "tool_result", id, call_id: block.call, block_list: [] };
    case "text":
      return { type: "message", id, role: "assistant", block_list: [], is_part: block.part };
    case "notice":
      return { type: "message", id, role: "assistant", block_list: [], notice: noticeOf(block) };
  }
}

function noticeOf(block: Extract<Block, { kind: "notice" }>): NonNullable<TaskItemOf<"message">["notice"]> {
  return { type: block.notice, ...block.error };
}

/** The whole item, once its block has ended. */
export function wholeItem(turn: Turn, block: OutputBlock): TaskItem {
  switch (block.kind) {
    case "thinking":
      return { ...emptyItem(block), type: "reasoning", summary: [{ type: "text", text: block.text }] };
    case "tool_call":
      return {
        ...(emptyItem(block) as TaskItemOf<"tool_call">),
        arguments: argumentsOf(block),
        ...(block.aborted ? { status: "cancelled" } : {}),
      };
    case "tool_result":
      return resultItem(turn, block);
    case "text": {
      const block_list = block.text === "" ? [] : [textOf(block)];
      return { ...(emptyItem(block) as TaskItemOf<"message">), block_list, is_final: block.final };
    }
    case "notice":
      return {
        ...(emptyItem(block) as TaskItemOf<"message">),
        block_list: [{ type: "text", text: block.text }],
      };
  }
}

const RESULT_STATUS = {
  success: "completed",
  error: "failed",
  cancelled: "cancelled",
  running: "cancelled",
} as const;

function resultItem(turn: Turn, block: Extract<Block, { kind: "tool_result" }>): TaskItemOf<"tool_result"> {
  const { id, call: call_id, preview, artifact, whole, results, usage } = block;
  // What a sub-agent did has already passed under its own task id: only the status is news.
  const isFilled = findSubAgentRun(turn, block.call) !== undefined;
  return {
    type: "tool_result",
    id,
    call_id,
    ...(isFilled ? {} : { block_list: blockListOf(block) }),
    status: RESULT_STATUS[block.status],
    ...(isFilled && preview === "" ? {} : { preview }),
    ...(artifact === null ? {} : { artifact }),
    ...(whole === null ? {} : { whole }),
    ...(results === null ? {} : { results }),
    ...(usage === null ? {} : { usage }),
  };
}

/** What is left of an item that a takeover made void: nothing to see, so that clients that only replace agree. */
export function supersededItem(item: Superseded): TaskItem | null {
  const { id } = item;
  const call_id = item.call ?? "";
  const status = "superseded";
  switch (item.was) {
    case "thinking":
      return { type: "reasoning", id, summary: [], status };
    case "tool_call":
      return { type: "tool_call", id, call_id, name: item.name ?? "", arguments: "", status };
    case "tool_result":
      return { type: "tool_result", id, call_id, block_list: [], status };
    case "text":
    case "notice":
      return { type: "message", id, role: "assistant", block_list: [], status };
    default:
      return null;
  }
}

/** The end state of a task as 001 has it, without what a takeover made void. Sub-agents have their own. */
export function taskState(turn: Turn, run: Run): { task_id: string; output: TaskItem[] } {
  const own = listBlocks(turn).filter(
    (block): block is OutputBlock => block.run === run.id && isOutputBlock(block) && isVisible(turn, block),
  );
  return { task_id: taskIdOf(turn, run), output: own.map((block) => wholeItem(turn, block)) };
}
