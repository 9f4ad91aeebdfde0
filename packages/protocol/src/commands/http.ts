/**
 * `postMessage` and `postMessageReply` are the schemas for `POST /api/v1/chats/{chat_id}/messages`: the body, and the
 * reply when `stream` is false (requirement S01).
 * Invariant: a body has the same rules as the socket command `send`: it needs text, files or form values, and form
 * values need their form. `/api/v1/sessions/{session}/messages` takes `restBodies.send` instead, with the names of the
 * socket. Comments mark Turnstream's additions to the original `responses` format with "Added".
 */
import { z } from "zod";
import { id } from "../events/fields.ts";
import type { Immutable } from "../json.ts";
import { errorFields, messageFields, messageText, needsContent, valuesComeWithForm } from "./socket.ts";
import { responsesFrames } from "../dialects/responses/frames.ts";

export const postMessage = z
  .strictObject({
    message: messageText,
    stream: z.boolean().default(false),
    agent_id: messageFields.agent_id,
    include_tool_tags: z.boolean().default(false),
    resume_form_request_id: messageFields.resume_form_request_id,
    /** Added: submits the form. Without it, a pending form is declined with the message as the reason. */
    form_values: messageFields.form_values,
    /** Added: files to read, and an idempotency key that prevents a second message when the request is repeated. */
    content_urls: messageFields.content_urls,
    client_message_id: id.exactOptional(),
    /** Added: whether clients show thinking, as `mode` of the turn. */
    display_mode: messageFields.display_mode,
    /** Added: the user's language. Default: that of the previous turn. */
    locale: messageFields.locale,
  })
  .refine(...needsContent("message"))
  .refine(...valuesComeWithForm)
  .describe("A message to a chat.");

const completed = responsesFrames["response.output_text.completed"].shape;

export const postMessageReply = z
  .strictObject({
    response_id: z.string().describe("the turn; with `queued`, the turn that the message waits for"),
    chat_id: z.int(),
    /** Added: `queued`, with HTTP status 202. */
    status: z.enum(["completed", "stopped", "requires_interaction", "queued"]),
    final_text: completed.final_text,
    usage: completed.usage,
    interactions: z
      .array(responsesFrames["response.interaction_request"])
      .describe("interactions that the user must complete first"),
  })
  .describe("The end state of a turn that was not streamed.");

export const errorReply = z.strictObject(errorFields).describe("Why the request was refused.");

export type PostMessageReply = Immutable<z.infer<typeof postMessageReply>>;
export type ErrorReply = Immutable<z.infer<typeof errorReply>>;
