/**
 * `blocksFrames` declares the schemas for the frames of the `blocks` dialect (JSON over WebSocket or SSE).
 * Invariant: each frame is declared once. Field names follow the original format; comments mark Turnstream's additions
 * with "Added". The frame types derive from it.
 */
import { z } from "zod";
import { CURSOR_PATTERN } from "../../cursor.ts";
import { annotation, artifact } from "../../events/blocks.ts";
import { file, json, whole } from "../../events/fields.ts";
import { answer, formSchema } from "../../events/interactions.ts";
import type { Immutable } from "../../json.ts";
import { actionRequest, formWaits, paymentFields, reviewConfig } from "../shapes.ts";

/** Added: the cursor to resume from, on the last frame of each event. */
const cursor = { event_id: z.string().regex(CURSOR_PATTERN).exactOptional() };
const ofMessage = { message_id: z.string() };
const atIndex = { ...ofMessage, index: z.int().nonnegative() };
const author = { subagent: z.string().nullable(), parent_tool_use_id: z.string().nullable() };

const startOf = {
  thinking: z.strictObject({ type: z.literal("thinking"), thinking: z.literal(""), ...author }),
  text: z.strictObject({ type: z.literal("text"), text: z.literal(""), ...author, is_part: z.boolean() }),
  tool_use: z.strictObject({
    type: z.literal("tool_use"),
    id: z.string(),
    name: z.string(),
    tool_use_id: z.string(),
    tool_content_message: z.string(),
    input: json,
    ...author,
  }),
  tool_result: z.strictObject({
    type: z.literal("tool_result"),
    tool_use_id: z.string(),
    name: z.string(),
    tool_name: z.string(),
    status: z.enum(["success", "error", "cancelled"]),
    content: z.string().max(500),
    artifact: artifact.nullable(),
    tool_content_message: z.string(),
    /** Added: the number of results, and where the whole result is stored. */
    results: z.int().exactOptional(),
    whole: whole.exactOptional(),
    ...author,
  }),
  file_processing: z.strictObject({
    type: z.literal("file_processing"),
    status: z.literal("processing"),
    files: z.array(file),
  }),
  approval_request: z.strictObject({
    type: z.literal("approval_request"),
    approval_key: z.string(),
    ...author,
  }),
  /** Added: forms and payments, with the field names of the `responses` dialect. */
  form_request: z.strictObject({
    type: z.literal("form_request"),
    form_request_id: z.string(),
    form_schema: formSchema,
    ...formWaits,
    ...author,
  }),
  payment_request: z.strictObject({ type: z.literal("payment_request"), payment: paymentFields, ...author }),
};

const delta = z.union([
  z.strictObject({ type: z.literal("thinking_delta"), thinking: z.string() }),
  z.strictObject({
    type: z.literal("text_delta"),
    text: z.string(),
    /** Added: citations that this delta completes. */
    annotations: z.array(annotation).exactOptional(),
    extras: z
      .union([
        z.strictObject({ block_subtype: z.literal("user_stopped") }),
        z.strictObject({
          block_subtype: z.literal("error"),
          code: z.string(),
          can_retry: z.boolean(),
          error_type: z.string(),
          details: json,
        }),
      ])
      .exactOptional(),
  }),
  z.strictObject({ status: z.enum(["processing", "completed", "failed"]), message: z.string() }),
  z.strictObject({
    action_requests: z.array(actionRequest),
    review_configs: z.array(reviewConfig),
    timeout_seconds: z.int().nullable(),
    /** Added: the server's deadline in milliseconds since 1970, and the pending call. */
    deadline: z.int().nullable(),
    tool_use_id: z.string(),
    /** Added, approvals only: the client returns it with the decision. */
    digest: z.string().exactOptional(),
  }),
]);

export const blocksFrames = {
  message_start: z.strictObject({
    type: z.literal("message_start"),
    session_id: z.string(),
    timestamp: z.number(),
    display_mode: z.enum(["agent", "chat"]),
    is_new_session_from_share: z.boolean(),
    /** Added: the user message that this turn answers. */
    user_message_id: z.string().exactOptional(),
    ...ofMessage,
    ...cursor,
  }),
  content_block_start: z.strictObject({
    type: z.literal("content_block_start"),
    ...atIndex,
    content_block: z.discriminatedUnion("type", [
      startOf.thinking,
      startOf.text,
      startOf.tool_use,
      startOf.tool_result,
      startOf.file_processing,
      startOf.approval_request,
      startOf.form_request,
      startOf.payment_request,
    ]),
    ...cursor,
  }),
  content_block_delta: z.strictObject({
    type: z.literal("content_block_delta"),
    ...atIndex,
    delta,
    ...cursor,
  }),
  content_block_stop: z.strictObject({
    type: z.literal("content_block_stop"),
    ...atIndex,
    /** Only on the stop of a text. */
    is_final: z.boolean().exactOptional(),
    ...cursor,
  }),
  group_start: z.strictObject({ type: z.literal("group_start"), ...atIndex, ...cursor }),
  group_end: z.strictObject({ type: z.literal("group_end"), ...atIndex, summary: z.string(), ...cursor }),
  message_delta: z.strictObject({
    type: z.literal("message_delta"),
    ...ofMessage,
    delta: z.strictObject({
      stop_reason: z.enum(["end_turn", "user_stopped", "error", "requires_interaction"]),
    }),
    ...cursor,
  }),
  message_stop: z.strictObject({
    type: z.literal("message_stop"),
    ...ofMessage,
    duration_ms: z.int().nonnegative(),
    ...cursor,
  }),
  /**
   * The original format names this frame without defining it; the shape is an addition. Also carries the answer to a
   * question.
   */
  approval_result: z.strictObject({
    type: z.literal("approval_result"),
    ...atIndex,
    approval_key: z.string(),
    status: z.enum(["approved", "edited", "rejected", "timed_out", "cancelled", "answered", "dismissed"]),
    version: z.int(),
    action_requests: z.array(actionRequest).exactOptional(),
    always: z.literal(true).exactOptional(),
    answers: z.array(answer).exactOptional(),
    reason: z.string().exactOptional(),
    ...cursor,
  }),
  /** Added: a form or payment changed, possibly after its turn has ended. */
  interaction_update: z.strictObject({
    type: z.literal("interaction_update"),
    ...atIndex,
    interaction_type: z.enum(["form", "payment"]),
    interaction_id: z.string(),
    status: z.string(),
    version: z.int(),
    values: z.record(z.string(), json).exactOptional(),
    reason: z.string().exactOptional(),
    ...cursor,
  }),
  /** Added: the message of the user, for other tabs of the same user. */
  user_message: z.strictObject({
    type: z.literal("user_message"),
    user_message_id: z.string(),
    text: z.string(),
    content_urls: z.array(z.string()),
    ...cursor,
  }),
  /** Added: the new title of the session. */
  session_title: z.strictObject({
    type: z.literal("session_title"),
    session_id: z.string(),
    title: z.string(),
    ...cursor,
  }),
};

export type BlocksFrameOf<T extends keyof typeof blocksFrames> = Immutable<z.infer<(typeof blocksFrames)[T]>>;
export type BlocksFrame = { [T in keyof typeof blocksFrames]: BlocksFrameOf<T> }[keyof typeof blocksFrames];
export type ContentBlock = BlocksFrameOf<"content_block_start">["content_block"];
export type ContentBlockOf<T extends ContentBlock["type"]> = Extract<ContentBlock, { type: T }>;
export type ContentDelta = BlocksFrameOf<"content_block_delta">["delta"];

const options = Object.values(blocksFrames) as unknown as readonly [z.ZodObject, ...z.ZodObject[]];
export const blocksFrameSchema = z.discriminatedUnion("type", options) as unknown as z.ZodType<BlocksFrame>;
