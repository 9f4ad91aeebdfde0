/**
 * Events of the blocks that agents write: thinking, text, tool calls and results, files, notices.
 * What people must decide or do is in `interactions.ts`.
 */
import { z } from "zod";
import { TURN_ERROR_CODES } from "../errors.ts";
import { MAX_PREVIEW } from "../limits.ts";
import { count, envelope, file, id, json, label, onBlock, usage, whole } from "./fields.ts";

export const annotation = z
  .strictObject({
    reference: count.describe("id of the cited item, unique in the turn"),
    start: count.describe("where the marker starts in the block's text, in UTF-16 code units"),
    end: count.describe("where the marker ends"),
  })
  .describe("a citation");

const reference = z
  .strictObject({ id: count, title: label.exactOptional(), url: z.string().max(4096).exactOptional() })
  .describe("makes the part citable");

export const artifact = z
  .strictObject({
    type: z.string().max(100),
    title: label.exactOptional(),
    data: json,
    whole: whole.exactOptional(),
  })
  .describe("a chart, table, file, image or piece of code");

const ofTool = { call: id.describe("the tool call"), name: id.describe("the tool"), label };
const hidden = z.boolean().exactOptional().describe("kept for the record, shown to nobody");

export const blockEvents = {
  "thinking.start": z
    .strictObject({ ...envelope, type: z.literal("thinking.start"), ...onBlock })
    .describe("The agent begins to think."),
  "thinking.delta": z
    .strictObject({ ...envelope, type: z.literal("thinking.delta"), ...onBlock, text: z.string() })
    .describe("More of the thought; joined, the deltas are the whole."),
  "thinking.end": z
    .strictObject({ ...envelope, type: z.literal("thinking.end"), ...onBlock })
    .describe("The thought is complete."),

  "text.start": z
    .strictObject({
      ...envelope,
      type: z.literal("text.start"),
      ...onBlock,
      part: z.boolean().describe("intermediate text, such as a shared thought"),
      call: id.exactOptional().describe("the tool call that this text stands for (share_thought)"),
    })
    .describe("The agent begins to write."),
  "text.delta": z
    .strictObject({
      ...envelope,
      type: z.literal("text.delta"),
      ...onBlock,
      text: z.string(),
      annotations: z
        .array(annotation)
        .exactOptional()
        .describe("citations whose marker this delta completes"),
    })
    .describe("More text."),
  "text.end": z
    .strictObject({
      ...envelope,
      type: z.literal("text.end"),
      ...onBlock,
      final: z.boolean().describe("the last answer of the turn: no tool call follows"),
    })
    .describe("The text is complete. Held back until it is known whether it is final."),

  "tool_call.start": z
    .strictObject({ ...envelope, type: z.literal("tool_call.start"), ...onBlock, ...ofTool, hidden })
    .describe("The agent begins to call a tool."),
  "tool_call.delta": z
    .strictObject({ ...envelope, type: z.literal("tool_call.delta"), ...onBlock, args: z.string() })
    .describe("More of the arguments, as JSON text."),
  "tool_call.end": z
    .strictObject({
      ...envelope,
      type: z.literal("tool_call.end"),
      ...onBlock,
      input: json.exactOptional().describe("the arguments, when they did not stream or were repaired"),
      whole: whole.exactOptional(),
      aborted: z.boolean().exactOptional().describe("the call was cut off; its arguments may be incomplete"),
    })
    .describe("The call is complete. The tool has not started yet."),

  "tool_result.start": z
    .strictObject({ ...envelope, type: z.literal("tool_result.start"), ...onBlock, ...ofTool, hidden })
    .describe("The tool starts. Sub-agent runs of the call stand inside this block."),
  "tool_result.delta": z
    .strictObject({
      ...envelope,
      type: z.literal("tool_result.delta"),
      ...onBlock,
      part: count.describe("which part of the result; a new number adds a part"),
      media: z.enum(["text", "image"]),
      data: z.string().describe("text to append, or the address of a whole picture that replaces the last"),
      reference: reference.exactOptional(),
      done: z.boolean().describe("the part is complete with this"),
    })
    .describe("More of what people see of the result."),
  "tool_result.end": z
    .strictObject({
      ...envelope,
      type: z.literal("tool_result.end"),
      ...onBlock,
      status: z.enum(["success", "error", "cancelled"]),
      preview: z.string().max(MAX_PREVIEW).describe("the result in short; may be empty"),
      artifact: artifact.nullable(),
      whole: whole.exactOptional(),
      results: count.exactOptional().describe("how many things were found"),
      usage: usage.exactOptional(),
    })
    .describe("The tool is done."),

  "files.start": z
    .strictObject({
      ...envelope,
      type: z.literal("files.start"),
      ...onBlock,
      files: z.array(file).min(1).max(100),
    })
    .describe("The files that came with the message are being read."),
  "files.delta": z
    .strictObject({
      ...envelope,
      type: z.literal("files.delta"),
      ...onBlock,
      status: z.enum(["processing", "completed", "failed"]),
      message: label,
      file: count.exactOptional().describe("which of the files; absent for all"),
    })
    .describe("Progress with the files."),
  "files.end": z
    .strictObject({
      ...envelope,
      type: z.literal("files.end"),
      ...onBlock,
      status: z.enum(["completed", "failed"]),
      message: label,
    })
    .describe("The files are read, or could not be."),

  "notice.stopped": z
    .strictObject({
      ...envelope,
      type: z.literal("notice.stopped"),
      ...onBlock,
      text: z.string(),
      by: id.exactOptional().describe("the user who stopped it"),
    })
    .describe("A person stopped the turn."),
  "notice.error": z
    .strictObject({
      ...envelope,
      type: z.literal("notice.error"),
      ...onBlock,
      text: z.string(),
      code: z.enum(TURN_ERROR_CODES),
      can_retry: z.boolean(),
      error_type: z.enum(["terminal", "transient"]),
      details: json.exactOptional(),
    })
    .describe("The turn failed."),
};
