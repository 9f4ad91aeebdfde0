/**
 * `responsesFrames` declares the schemas for the frames of the `responses` dialect (SSE): the JSON after `data:`, and
 * the closing `[DONE]`.
 * Invariant: each frame is declared once. Field names follow the original format; comments mark Turnstream's additions
 * with "Added". The frame types derive from it.
 */
import { z } from "zod";
import { CURSOR_PATTERN } from "../../cursor.ts";
import { json } from "../../events/fields.ts";
import { answer, formSchema } from "../../events/interactions.ts";
import type { Immutable } from "../../json.ts";
import { actionRequest, formWaits, paymentFields, reviewConfig } from "../shapes.ts";

/** Added: the cursor to resume from, on the last frame of each event. On the wire it is the SSE `id:` line. */
const cursor = { event_id: z.string().regex(CURSOR_PATTERN).exactOptional() };
const common = { response_id: z.string(), chat_id: z.int() };
const tokens = z.strictObject({
  total_prompt_tokens: z.int(),
  total_completion_tokens: z.int(),
  total_tokens: z.int(),
  total_calls: z.int(),
});

const interaction = {
  type: z.literal("response.interaction_request"),
  ...common,
  history_id: z.int(),
  conversation_group_id: z.string(),
};

export const responsesFrames = {
  "response.created": z.strictObject({
    type: z.literal("response.created"),
    ...common,
    agent_id: z.string(),
    model: z.string(),
    conversation_group_id: z.string(),
    user_conversation_id: z.int(),
    ...cursor,
  }),
  "response.chat.title.updated": z.strictObject({
    type: z.literal("response.chat.title.updated"),
    ...common,
    name: z.string(),
    ...cursor,
  }),
  "response.reasoning_step.start": z.strictObject({
    type: z.literal("response.reasoning_step.start"),
    ...common,
    step: z.strictObject({
      id: z.string(),
      content: z.string(),
      tool_name: z.string(),
      args: json,
      timestamp: z.string(),
      /** Added: the step of the call that started the sub-agent. */
      parent_id: z.string().exactOptional(),
    }),
    ...cursor,
  }),
  "response.reasoning_step.end": z.strictObject({
    type: z.literal("response.reasoning_step.end"),
    ...common,
    step: z.strictObject({
      id: z.string(),
      tool_name: z.string(),
      result: z.strictObject({
        success: z.boolean(),
        data: z.string(),
        /** Added: distinguishes a cancelled step from a failed one. */
        status: z.enum(["success", "error", "cancelled"]),
      }),
      timestamp: z.string(),
      token_usage: tokens,
    }),
    ...cursor,
  }),
  "response.interaction_request": z.discriminatedUnion("interaction_type", [
    z.strictObject({
      ...interaction,
      interaction_type: z.literal("form"),
      form_request_id: z.string(),
      form_schema: formSchema,
      ...formWaits,
      ...cursor,
    }),
    z.strictObject({
      ...interaction,
      interaction_type: z.literal("payment"),
      payment: paymentFields,
      ...cursor,
    }),
    /** Added: approvals and questions. The stream continues after them. */
    z.strictObject({
      ...interaction,
      interaction_type: z.enum(["approval", "question"]),
      approval_key: z.string(),
      action_requests: z.array(actionRequest),
      review_configs: z.array(reviewConfig),
      timeout_seconds: z.int().nullable(),
      deadline: z.int().nullable(),
      tool_use_id: z.string(),
      digest: z.string().exactOptional(),
      ...cursor,
    }),
  ]),
  /** Added: an interaction changed. */
  "response.interaction_update": z.strictObject({
    type: z.literal("response.interaction_update"),
    ...common,
    interaction_type: z.enum(["approval", "question", "form", "payment"]),
    interaction_id: z.string(),
    status: z.string(),
    version: z.int(),
    reason: z.string().exactOptional(),
    action_requests: z.array(actionRequest).exactOptional(),
    always: z.literal(true).exactOptional(),
    answers: z.array(answer).exactOptional(),
    values: z.record(z.string(), json).exactOptional(),
    ...cursor,
  }),
  "response.output_text.delta": z.strictObject({
    type: z.literal("response.output_text.delta"),
    ...common,
    delta: z.string().min(1),
    ...cursor,
  }),
  "response.output_text.completed": z.strictObject({
    type: z.literal("response.output_text.completed"),
    ...common,
    final_text: z.string(),
    usage: tokens,
    /** Added: whether the turn ended by itself or the user stopped it. */
    stop_reason: z.enum(["end_turn", "user_stopped"]),
    ...cursor,
  }),
  "response.error": z.strictObject({
    type: z.literal("response.error"),
    ...common,
    message: z.string(),
    code: z.int(),
    /** Added: the error code as a word, and whether a retry can succeed. */
    error: z.string(),
    can_retry: z.boolean(),
    ...cursor,
  }),
  /** The end of the stream, `data: [DONE]`. It is the only frame whose data is not JSON. */
  "[DONE]": z.strictObject({ type: z.literal("[DONE]"), ...cursor }),
};

export type ResponsesFrameOf<T extends keyof typeof responsesFrames> = Immutable<
  z.infer<(typeof responsesFrames)[T]>
>;
export type ResponsesFrame = {
  [T in keyof typeof responsesFrames]: ResponsesFrameOf<T>;
}[keyof typeof responsesFrames];

const options = Object.values(responsesFrames) as unknown as readonly [z.ZodObject, ...z.ZodObject[]];
export const responsesFrameSchema = z.discriminatedUnion(
  "type",
  options,
) as unknown as z.ZodType<ResponsesFrame>;
