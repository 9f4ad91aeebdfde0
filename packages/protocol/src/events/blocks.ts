/**
 * `blockEvents` declares the schemas of events of the blocks that agents write: thinking, text, tool calls and results,
 * files, notices. Interactions are in `interactions.ts`.
 * Invariant: each schema is strict and contains the fields of `envelope` and `onBlock`. A change that old readers or
 * logs can't handle needs a higher SCHEMA_VERSION. The published JSON Schemas are generated from it.
 */
import { z } from "zod";
import { TURN_ERROR_CODES } from "../errors.ts";
import { MAX_PREVIEW } from "../limits.ts";
import { count, envelope, file, id, json, label, onBlock, template, usage, whole } from "./fields.ts";

export const annotation = z
  .strictObject({
    reference: count.describe("`id` of the cited reference"),
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
const hidden = z.boolean().exactOptional().describe("stored in the log, but not shown");

export const blockEvents = {
  "thinking.start": z
    .strictObject({ ...envelope, type: z.literal("thinking.start"), ...onBlock })
    .describe("The agent starts to think."),
  "thinking.delta": z
    .strictObject({ ...envelope, type: z.literal("thinking.delta"), ...onBlock, text: z.string() })
    .describe("More of the thought. All deltas joined are the whole thought."),
  "thinking.end": z
    .strictObject({ ...envelope, type: z.literal("thinking.end"), ...onBlock })
    .describe("The thought is complete."),

  "text.start": z
    .strictObject({
      ...envelope,
      type: z.literal("text.start"),
      ...onBlock,
      part: z.boolean().describe("intermediate text, such as a shared thought"),
      call: id.exactOptional().describe("the tool call that this text represents (share_thought)"),
    })
    .describe("The agent starts to write text."),
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
    .describe("The text is complete. The writer delays this event until it knows whether the text is final."),

  "tool_call.start": z
    .strictObject({ ...envelope, type: z.literal("tool_call.start"), ...onBlock, ...ofTool, hidden })
    .describe("The agent starts a tool call."),
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
    .describe("The tool starts. Sub-agent runs of the call belong to this block."),
  "tool_result.delta": z
    .strictObject({
      ...envelope,
      type: z.literal("tool_result.delta"),
      ...onBlock,
      part: count.describe(
        "index of the part, from 0; if it equals the number of existing parts, the event adds a part",
      ),
      media: z.enum(["text", "image"]),
      data: z.string().describe("text to append, or the address of an image that replaces the previous one"),
      reference: reference.exactOptional(),
      done: z.boolean().describe("this delta completes the part"),
    })
    .describe("More of the result that clients display."),
  "tool_result.end": z
    .strictObject({
      ...envelope,
      type: z.literal("tool_result.end"),
      ...onBlock,
      status: z.enum(["success", "error", "cancelled"]),
      preview: z.string().max(MAX_PREVIEW).describe("a short form of the result; can be empty"),
      artifact: artifact.nullable(),
      whole: whole.exactOptional(),
      structured: json.exactOptional().describe("the result as data, if the tool publishes it"),
      results: count.exactOptional().describe("the number of results found"),
      usage: usage.exactOptional(),
    })
    .describe("The tool has ended."),

  "files.start": z
    .strictObject({
      ...envelope,
      type: z.literal("files.start"),
      ...onBlock,
      files: z.array(file).min(1).max(100),
    })
    .describe("The files of the message are being read."),
  "files.delta": z
    .strictObject({
      ...envelope,
      type: z.literal("files.delta"),
      ...onBlock,
      status: z.enum(["processing", "completed", "failed"]),
      message: label,
      file: count
        .exactOptional()
        .describe("the index of the file; absent if the progress is about all files"),
    })
    .describe("Progress of reading the files."),
  "files.end": z
    .strictObject({
      ...envelope,
      type: z.literal("files.end"),
      ...onBlock,
      status: z.enum(["completed", "failed"]),
      message: label,
    })
    .describe("The files were read, or reading them failed."),

  "notice.stopped": z
    .strictObject({
      ...envelope,
      type: z.literal("notice.stopped"),
      ...onBlock,
      text: z.string(),
      by: id.exactOptional().describe("the user who stopped it"),
      template: template.exactOptional(),
    })
    .describe("The user stopped the turn."),
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
      template: template.exactOptional(),
    })
    .describe("The turn failed."),
};
