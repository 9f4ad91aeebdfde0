/**
 * `emptyItem` and `wholeItem` convert blocks to output items of the `tasks` dialect, and `taskState` converts a run to
 * a task (requirement T01).
 * Invariant: the stream and the end state use the same functions, so they can't differ. Hidden blocks have no item. The
 * root task has the id of the turn, the task of a sub-agent the id of its call.
 */
import { findSubAgentRun } from "../../turn-queries.ts";
import { actionRequest, approvalRequest } from "../interactions.ts";
import {
  type Annotation,
  type ApprovalBlock,
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

/** The root task has the id of the turn. The task of a sub-agent has the id of the call that started it. */
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

/** Returns the arguments as text: as streamed, or the final input if it replaced them. */
export function argumentsOf(block: ToolCallBlock): string {
  return block.given ? JSON.stringify(block.input) : block.args;
}

/** Returns the visible content of a result: its parts, or its preview if it has no parts. */
function blockListOf(block: Extract<Block, { kind: "tool_result" }>): TaskBlock[] {
  if (block.parts.length > 0) return block.parts.map(partOf);
  return block.preview === "" ? [] : [{ type: "text", text: block.preview }];
}

/** Returns the item as it is added, without content. */
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
  return {
    type: block.notice,
    ...block.error,
    ...(block.template === null ? {} : { template: block.template }),
  };
}

/** Returns the complete item of a block that has ended. */
export function wholeItem(turn: Turn, block: OutputBlock): TaskItem {
  switch (block.kind) {
    case "thinking":
      return { ...emptyItem(block), type: "reasoning", summary: [{ type: "text", text: block.text }] };
    case "tool_call":
      return {
        ...(emptyItem(block) as TaskItemOf<"tool_call">),
        arguments: argumentsOf(block),
        ...approvalOf(turn, block),
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

/** Returns the newest approval of a call. All are between the call and its result, so a long turn is not searched. */
function findApproval({ items }: Turn, { call, index }: ToolCallBlock): ApprovalBlock | null {
  let newest: ApprovalBlock | null = null;
  for (let n = index + 1; n < items.length; n++) {
    const item = items.at(n);
    if (item?.kind === "approval" && item.call === call) newest = item;
    if (item?.kind === "tool_result" && item.call === call) break;
  }
  return newest;
}

/** Returns the newest approval of a call, as requested and as decided. */
function approvalOf(turn: Turn, call: ToolCallBlock): Pick<TaskItemOf<"tool_call">, "approval"> {
  const block = findApproval(turn, call);
  if (block === null) return {};
  const { key: approval_key, status, version, reason, edited, always } = block;
  // The item itself names the call.
  const { tool_use_id: _, ...request } = approvalRequest(block);
  return {
    approval: {
      approval_key,
      status,
      version,
      ...request,
      ...(reason === null ? {} : { reason }),
      ...(edited === null ? {} : { edited_requests: edited.map(actionRequest) }),
      ...(always ? { always: true as const } : {}),
    },
  };
}

const RESULT_STATUS = {
  success: "completed",
  error: "failed",
  cancelled: "cancelled",
  running: "cancelled",
} as const;

function resultItem(turn: Turn, block: Extract<Block, { kind: "tool_result" }>): TaskItemOf<"tool_result"> {
  const { id, call: call_id, preview, artifact, whole, results, usage } = block;
  // The work of a sub-agent was already sent under its own task id, so only the status is new.
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

/** Returns an empty item in place of a superseded one, so that clients that only replace items show the same. */
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

/** Returns the end state of a task without superseded items. Sub-agents have their own end state. */
export function taskState(turn: Turn, run: Run): { task_id: string; output: TaskItem[] } {
  const own = listBlocks(turn).filter(
    (block): block is OutputBlock => block.run === run.id && isOutputBlock(block) && isVisible(turn, block),
  );
  return { task_id: taskIdOf(turn, run), output: own.map((block) => wholeItem(turn, block)) };
}
