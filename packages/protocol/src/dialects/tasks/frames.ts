/**
 * `tasksFrames` declares the schemas for the frames of the `tasks` dialect.
 * Invariant: each frame is declared once. Field names follow the original format; comments mark Turnstream's additions
 * with "Added". The frame types derive from it.
 */
import { z } from "zod";
import { CURSOR_PATTERN } from "../../cursor.ts";
import { artifact } from "../../events/blocks.ts";
import { json, template, usage, whole } from "../../events/fields.ts";
import type { Immutable } from "../../json.ts";
import { actionRequest, reviewConfig } from "../shapes.ts";

/** Added: the cursor to resume from, on the last frame of each event. Over SSE it is the `id:` line. */
const cursor = { event_id: z.string().regex(CURSOR_PATTERN).exactOptional() };
const ofTask = { task_id: z.string() };
const ofOutput = { ...ofTask, output_index: z.int().nonnegative() };
const inItem = { ...ofOutput, item_id: z.string() };
const inSummary = { ...inItem, summary_index: z.int().nonnegative() };
const inBlock = { ...inItem, block_index: z.int().nonnegative() };

const annotation = z.strictObject({
  type: z.literal("reference_to_block"),
  reference_id: z.int(),
  start_index: z.int(),
  end_index: z.int(),
});
const summaryText = z.strictObject({ type: z.literal("text"), text: z.string() });
const source = {
  id: z.int().exactOptional(),
  title: z.string().exactOptional(),
  url: z.string().exactOptional(),
};
const textBlock = z.strictObject({
  type: z.literal("text"),
  text: z.string(),
  ...source,
  annotations: z.array(annotation).exactOptional(),
});
const imageBlock = z.strictObject({
  type: z.literal("image"),
  image_url: z.strictObject({ url: z.string() }),
  ...source,
});
const block = z.discriminatedUnion("type", [textBlock, imageBlock]);

/** Added: absent while the item is incomplete. `superseded` empties an item that a takeover replaced. */
const status = z.enum(["completed", "failed", "cancelled", "superseded"]).exactOptional();

/** Added: the request for an approval of the call, and its outcome. */
const approval = z.strictObject({
  approval_key: z.string(),
  status: z.enum(["pending", "approved", "edited", "rejected", "timed_out", "cancelled"]),
  version: z.int(),
  action_requests: z.array(actionRequest),
  review_configs: z.array(reviewConfig),
  timeout_seconds: z.number().nullable(),
  deadline: z.number().nullable(),
  digest: z.string().exactOptional(),
  reason: z.string().exactOptional(),
  edited_requests: z.array(actionRequest).exactOptional(),
  always: z.literal(true).exactOptional(),
});

const taskItems = {
  reasoning: z.strictObject({
    type: z.literal("reasoning"),
    id: z.string(),
    summary: z.array(summaryText),
    status,
  }),
  tool_call: z.strictObject({
    type: z.literal("tool_call"),
    id: z.string(),
    call_id: z.string(),
    name: z.string(),
    arguments: z.string(),
    /** Added: the description of the call that users see. */
    label: z.string().exactOptional(),
    /** Added: sent with a further `.done` of the item when the approval is requested and when it is decided. */
    approval: approval.exactOptional(),
    status,
  }),
  tool_result: z.strictObject({
    type: z.literal("tool_result"),
    id: z.string(),
    call_id: z.string(),
    /** Absent on the `.done` of a result that a sub-agent filled, because only its status is new. */
    block_list: z.array(block).exactOptional(),
    status,
    /** Added. */
    preview: z.string().exactOptional(),
    artifact: artifact.exactOptional(),
    whole: whole.exactOptional(),
    results: z.int().exactOptional(),
    usage: usage.exactOptional(),
  }),
  message: z.strictObject({
    type: z.literal("message"),
    id: z.string(),
    role: z.literal("assistant"),
    block_list: z.array(block),
    status,
    /** Added. */
    is_part: z.boolean().exactOptional(),
    is_final: z.boolean().exactOptional(),
    notice: z
      .strictObject({
        type: z.enum(["stopped", "error"]),
        code: z.string().exactOptional(),
        can_retry: z.boolean().exactOptional(),
        error_type: z.string().exactOptional(),
        details: json.exactOptional(),
        template: template.exactOptional(),
      })
      .exactOptional(),
  }),
};

const item = z.discriminatedUnion("type", [
  taskItems.reasoning,
  taskItems.tool_call,
  taskItems.tool_result,
  taskItems.message,
]);

export const tasksFrames = {
  /** Added: start and end of a task, which the original format lacks. */
  "task.created": z.strictObject({
    type: z.literal("task.created"),
    ...ofTask,
    session_id: z.string(),
    agent: z.string(),
    parent_task_id: z.string().exactOptional(),
    timestamp: z.number(),
    display_mode: z.enum(["agent", "chat"]),
    ...cursor,
  }),
  "task.done": z.strictObject({
    type: z.literal("task.done"),
    ...ofTask,
    status: z.enum(["completed", "failed", "cancelled", "superseded"]),
    stop_reason: z.enum(["end_turn", "user_stopped", "error", "requires_interaction"]).exactOptional(),
    duration_ms: z.int().exactOptional(),
    usage: usage.exactOptional(),
    ...cursor,
  }),
  "task.output_item.added": z.strictObject({
    type: z.literal("task.output_item.added"),
    ...ofOutput,
    item,
    ...cursor,
  }),
  "task.output_item.done": z.strictObject({
    type: z.literal("task.output_item.done"),
    ...ofOutput,
    item,
    ...cursor,
  }),
  "task.reasoning_summary_item.added": z.strictObject({
    type: z.literal("task.reasoning_summary_item.added"),
    ...inSummary,
    item: summaryText,
    ...cursor,
  }),
  "task.reasoning_summary_text.delta": z.strictObject({
    type: z.literal("task.reasoning_summary_text.delta"),
    ...inSummary,
    delta: z.string(),
    ...cursor,
  }),
  "task.reasoning_summary_item.done": z.strictObject({
    type: z.literal("task.reasoning_summary_item.done"),
    ...inSummary,
    item: summaryText,
    ...cursor,
  }),
  "task.tool_call_arguments.delta": z.strictObject({
    type: z.literal("task.tool_call_arguments.delta"),
    ...inItem,
    delta: z.string(),
    ...cursor,
  }),
  "task.tool_call_arguments.done": z.strictObject({
    type: z.literal("task.tool_call_arguments.done"),
    ...inItem,
    arguments: z.string(),
    ...cursor,
  }),
  "task.text.added": z.strictObject({
    type: z.literal("task.text.added"),
    ...inBlock,
    item: textBlock,
    ...cursor,
  }),
  "task.text.delta": z.strictObject({
    type: z.literal("task.text.delta"),
    ...inBlock,
    delta: z.string(),
    /** Added: citations that this delta completes. */
    annotations: z.array(annotation).exactOptional(),
    ...cursor,
  }),
  "task.text.done": z.strictObject({
    type: z.literal("task.text.done"),
    ...inBlock,
    item: textBlock,
    ...cursor,
  }),
  "task.image.added": z.strictObject({
    type: z.literal("task.image.added"),
    ...inBlock,
    item: imageBlock,
    ...cursor,
  }),
  "task.image.delta": z.strictObject({
    type: z.literal("task.image.delta"),
    ...inBlock,
    partial_image_index: z.int().nonnegative(),
    item: imageBlock,
    ...cursor,
  }),
  "task.image.done": z.strictObject({
    type: z.literal("task.image.done"),
    ...inBlock,
    item: imageBlock,
    ...cursor,
  }),
};

export type TasksFrameOf<T extends keyof typeof tasksFrames> = Immutable<z.infer<(typeof tasksFrames)[T]>>;
export type TasksFrame = { [T in keyof typeof tasksFrames]: TasksFrameOf<T> }[keyof typeof tasksFrames];
export type TaskItem = TasksFrameOf<"task.output_item.done">["item"];
export type TaskItemOf<T extends TaskItem["type"]> = Extract<TaskItem, { type: T }>;
export type TaskBlock = NonNullable<TaskItemOf<"tool_result">["block_list"]>[number];
export type TaskAnnotation = Immutable<z.infer<typeof annotation>>;

const options = Object.values(tasksFrames) as unknown as readonly [z.ZodObject, ...z.ZodObject[]];
export const tasksFrameSchema = z.discriminatedUnion("type", options) as unknown as z.ZodType<TasksFrame>;
