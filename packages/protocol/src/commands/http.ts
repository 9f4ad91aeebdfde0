/**
 * The body of `POST /api/v1/chats/{chat_id}/messages`, and its answer when `stream` is false (S01).
 */
import { z } from "zod";
import { id } from "../events/fields.ts";
import type { Immutable } from "../json.ts";
import { errorFields, formValues } from "./socket.ts";
import { responsesFrames } from "../dialects/responses/frames.ts";

export const postMessage = z
  .strictObject({
    message: z.string().max(1_000_000),
    stream: z.boolean().default(false),
    agent_id: id.exactOptional(),
    include_tool_tags: z.boolean().default(false),
    resume_form_request_id: id.exactOptional(),
    /** Ours: submits the form; without it a form that waits is declined, with the message as the reason. */
    form_values: formValues.exactOptional(),
    /** Ours: files to read, and an id that keeps a repeat from making a second message. */
    content_urls: z.array(z.string().max(4096)).max(100).exactOptional(),
    client_message_id: id.exactOptional(),
  })
  .refine(
    (post) => post.message !== "" || (post.content_urls ?? []).length > 0 || post.form_values !== undefined,
    "a message needs text, files or the values of a form",
  )
  .refine((post) => post.form_values === undefined || post.resume_form_request_id !== undefined, {
    message: "form_values come with resume_form_request_id, and only with it",
    path: ["form_values"],
  })
  .describe("A message to a chat.");

const completed = responsesFrames["response.output_text.completed"].shape;

export const postMessageReply = z
  .strictObject({
    response_id: z.string(),
    chat_id: z.int(),
    status: z.enum(["completed", "stopped", "requires_interaction"]),
    final_text: completed.final_text,
    usage: completed.usage,
    interactions: z
      .array(responsesFrames["response.interaction_request"])
      .describe("what a person must do first"),
  })
  .describe("The turn's end state, when it was not streamed.");

export const errorReply = z.strictObject(errorFields).describe("Why the request was refused.");

export type PostMessage = Immutable<z.infer<typeof postMessage>>;
export type PostMessageReply = Immutable<z.infer<typeof postMessageReply>>;
export type ErrorReply = Immutable<z.infer<typeof errorReply>>;
