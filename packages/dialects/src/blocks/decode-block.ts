/**
 * `decodeStart` decodes the start of one content block, as part of the `blocks` decoder.
 * Invariant: a recent tool call or a result that arrives again writes nothing. The returned index is null unless more
 * frames of the block follow. Unknown kinds of content are ignored.
 */
import type { BlocksFrameOf } from "@turnstream/protocol/blocks";
import { requestForm, requestPayment } from "../decoder/decode-interaction.ts";
import { named, type EventWriter } from "../decoder/event-writer.ts";

export type ContentBlock = BlocksFrameOf<"content_block_start">["content_block"];
type ContentBlockOf<T extends ContentBlock["type"]> = Extract<ContentBlock, { readonly type: T }>;

interface Author {
  readonly subagent?: string | null;
  readonly parent_tool_use_id?: string | null;
}

/** Returns the run of a block: the main run, or a sub-agent run, which starts at its first block. */
export function runFor(writer: EventWriter, turn: string, author: Author): string {
  const { subagent = null, parent_tool_use_id: call = null } = author;
  return call === null ? turn : writer.subRun(turn, call, subagent ?? call);
}

/**
 * Writes the events of a block start. Returns the canonical index of the block if more frames of it will follow,
 * otherwise null.
 */
export function decodeStart(writer: EventWriter, turn: string, block: ContentBlock): number | null {
  switch (block.type) {
    case "thinking":
    case "text": {
      const run = runFor(writer, turn, block);
      const on = { ...writer.next(turn), run };
      if (block.type === "thinking") writer.write({ type: "thinking.start", ...on });
      else writer.write({ type: "text.start", ...on, part: block.is_part ?? false });
      return on.index;
    }
    case "file_processing": {
      const on = { ...writer.next(turn), run: turn };
      writer.write({ type: "files.start", ...on, files: block.files });
      return on.index;
    }
    case "tool_use":
      toolUse(writer, turn, block);
      return null;
    case "tool_result":
      toolResult(writer, turn, block);
      return null;
    case "form_request":
      requestForm(writer, { turn, run: runFor(writer, turn, block) }, block);
      return null;
    case "payment_request":
      requestPayment(writer, { turn, run: runFor(writer, turn, block) }, block.payment);
      return null;
    default:
      return null;
  }
}

/** After a disconnect between two frames of one event, the call or result arrives again. The repeat is ignored. */
function toolUse(writer: EventWriter, turn: string, block: ContentBlockOf<"tool_use">): void {
  const call = block.tool_use_id ?? block.id;
  if (writer.findRecent(turn, (b) => b.kind === "tool_call" && b.call === call) !== undefined) return;
  const run = runFor(writer, turn, block);
  const on = { ...writer.next(turn), run };
  writer.write({
    type: "tool_call.start",
    ...on,
    call,
    name: block.name,
    label: block.tool_content_message ?? "",
  });
  writer.write({ type: "tool_call.end", ...on, input: block.input ?? {} });
}

function toolResult(writer: EventWriter, turn: string, block: ContentBlockOf<"tool_result">): void {
  const call = block.tool_use_id;
  const run = runFor(writer, turn, block);
  const name = block.name ?? block.tool_name;
  const label = block.tool_content_message;
  writer.openResult(turn, call, { run, ...(name ? { name } : {}), ...(label ? { label } : {}) });
  const result = writer.openResultOf(turn, call);
  if (result === undefined) return;
  const { results, whole } = block;
  const status = block.status ?? "success";
  const preview = block.content ?? "";
  const artifact = block.artifact ?? null;
  const runStatus = { success: "completed", error: "failed", cancelled: "cancelled" } as const;
  writer.endRunOf(turn, call, runStatus[status]);
  writer.write({
    type: "tool_result.end",
    ...named(turn, result),
    status,
    preview,
    artifact,
    ...(results === undefined ? {} : { results }),
    ...(whole === undefined ? {} : { whole }),
  });
}
