/**
 * `contentStart` and `contentDeltas` build the content of one block in the `blocks` dialect.
 * Invariant: live frames, resyncs and history all use these functions, so they can't differ. A start and its deltas
 * together are the current content of the block. A result is truncated to 500 UTF-16 code units.
 */
import { truncateText } from "../../truncate-text.ts";
import { findRun } from "../../fold/edit.ts";
import type { Block, Turn } from "../../state.ts";
import { toolLabel } from "../../tool-label.ts";
import { approvalRequest, formRequest, paymentFrame } from "../interactions.ts";
import type { ContentBlock, ContentDelta } from "./frames.ts";

/** Maximum length of a result in this dialect, in UTF-16 code units. */
const MAX_CONTENT = 500;

export function authorOf(
  turn: Turn,
  run: string,
): { subagent: string | null; parent_tool_use_id: string | null } {
  const found = findRun(turn, run);
  return found === undefined || found.parent === null
    ? { subagent: null, parent_tool_use_id: null }
    : { subagent: found.agent, parent_tool_use_id: found.call };
}

/** Returns the `content_block` of a block's start. Notices are sent as text blocks. */
export function contentStart(turn: Turn, block: Block): ContentBlock {
  const author = authorOf(turn, block.run);
  switch (block.kind) {
    case "thinking":
      return { type: "thinking", thinking: "", ...author };
    case "text":
      return { type: "text", text: "", ...author, is_part: block.part };
    case "notice":
      return { type: "text", text: "", ...author, is_part: false };
    case "tool_call":
      return {
        type: "tool_use",
        id: block.call,
        name: block.name,
        tool_use_id: block.call,
        tool_content_message: toolLabel(block),
        input: block.input,
        ...author,
      };
    case "tool_result":
      return {
        type: "tool_result",
        tool_use_id: block.call,
        name: block.name,
        tool_name: block.name,
        status: block.status === "running" ? "cancelled" : block.status,
        content: truncateText(block.preview, MAX_CONTENT),
        artifact: block.artifact,
        tool_content_message: toolLabel(block),
        ...(block.results === null ? {} : { results: block.results }),
        ...(block.whole === null ? {} : { whole: block.whole }),
        ...author,
      };
    case "files":
      return {
        type: "file_processing",
        status: "processing",
        files: block.files.map(({ status: _, ...file }) => file),
      };
    case "approval":
    case "question":
      return { type: "approval_request", approval_key: block.key, ...author };
    case "form":
      return { type: "form_request", ...formRequest(block), ...author };
    case "payment":
      // Sends the payment as requested. Its later status follows as an update, live and in a resync.
      return { type: "payment_request", payment: paymentFrame({ ...block, status: "pending" }), ...author };
  }
}

/** Returns the deltas that bring a client from a block's start to its current content. */
export function contentDeltas(block: Block): ContentDelta[] {
  switch (block.kind) {
    case "thinking":
      return block.text === "" ? [] : [{ type: "thinking_delta", thinking: block.text }];
    case "text": {
      if (block.text === "") return [];
      const annotations = block.annotations.length > 0 ? { annotations: block.annotations } : {};
      return [{ type: "text_delta", text: block.text, ...annotations }];
    }
    case "notice":
      return [{ type: "text_delta", text: block.text, extras: noticeExtras(block.error) }];
    case "files":
      if (block.status === "processing" && block.message === "") return [];
      return [{ status: block.status, message: block.message }];
    case "approval":
    case "question":
      return [approvalRequest(block)];
    default:
      return [];
  }
}

type NoticeError = Extract<Block, { kind: "notice" }>["error"];

function noticeExtras(
  error: NoticeError,
): NonNullable<Extract<ContentDelta, { type: "text_delta" }>["extras"]> {
  if (error === null) return { block_subtype: "user_stopped" };
  const { code, can_retry, error_type, details } = error;
  return { block_subtype: "error", code, can_retry, error_type, details: details ?? null };
}
