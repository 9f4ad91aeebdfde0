/**
 * What a client sends over a WebSocket, and what the server answers, each declared once (W16). The source
 * documents imply these and don't spell them out; `native` and `tasks` sockets take the same ones.
 */
import { z } from "zod";
import { CURSOR_PATTERN } from "../cursor.ts";
import { ERROR_CODES } from "../errors.ts";
import { id, json } from "../events/fields.ts";
import { answer } from "../events/interactions.ts";
import type { Immutable } from "../json.ts";

/** Comes back on the answer, so that a client can tell which command it is for. */
const request = { request_id: id.exactOptional() };
const session = { session_id: id };
/** Why something was refused: the same fields over sockets and HTTP. */
export const errorFields = {
  error: z.enum(ERROR_CODES),
  code: z.int().describe("the same as a number"),
  message: z.string().describe("in words, for the one who sent it"),
  can_retry: z.boolean(),
  retry_after_seconds: z.int().nonnegative().exactOptional(),
};
/** Of a stop: the turn will; somebody had asked before; it doesn't run. */
export const stopReceipt = z.enum(["stopping", "already", "over"]);
export const formValues = z
  .record(z.string(), json)
  .describe("what was filled in; without it a form that waits is declined, with the text as the reason");
const messageText = z.string().max(1_000_000);
const reason = z.string().max(4096).exactOptional();

/** What commands say beside what they are for: the same over sockets and as bodies over HTTP. */
export const decideFields = {
  decision: z.enum(["approve", "edit", "reject"]),
  args: json.exactOptional().describe("with edit: the arguments to use instead"),
  reason,
  digest: z.string().max(256).exactOptional().describe("of what was shown"),
  always: z
    .literal(true)
    .exactOptional()
    .describe("with approve: also for every later call of the tool in this session"),
};
export const answerFields = { answers: z.array(answer).min(1).max(20) };
export const submitFields = { values: z.record(z.string(), json) };
export const reasonFields = { reason };

interface Decide {
  readonly decision: string;
  readonly args?: unknown;
  readonly always?: true;
}
type Rule = [(decide: Decide) => boolean, { message: string; path: string[] }];
export const argsComeWithEdit: Rule = [
  (decide) => (decide.decision === "edit") === (decide.args !== undefined),
  { message: "args come with the decision edit, and only with it", path: ["args"] },
];
export const alwaysComesWithApprove: Rule = [
  (decide) => decide.always === undefined || decide.decision === "approve",
  { message: "always comes with the decision approve, and only with it", path: ["always"] },
];

export const socketCommands = {
  subscribe: z
    .strictObject({
      type: z.literal("subscribe"),
      ...request,
      ...session,
      last_event_id: z.string().regex(CURSOR_PATTERN).exactOptional(),
    })
    .describe("Show me this session, after the last event that I have seen."),
  unsubscribe: z
    .strictObject({ type: z.literal("unsubscribe"), ...request, ...session })
    .describe("Show it no longer. The turn goes on."),
  ping: z
    .strictObject({ type: z.literal("ping"), ...request })
    .describe("Are you there? A page sees no pings of the socket itself."),
  send: z
    .strictObject({
      type: z.literal("send"),
      ...request,
      ...session,
      client_message_id: id.describe("chosen by the client; the same id never makes a second message"),
      text: messageText,
      content_urls: z.array(z.string().max(4096)).max(100).exactOptional(),
      agent_id: id.exactOptional(),
      resume_form_request_id: id.exactOptional(),
      form_values: formValues.exactOptional(),
    })
    .refine(
      (send) => send.text !== "" || (send.content_urls ?? []).length > 0 || send.form_values !== undefined,
      "a message needs text, files or the values of a form",
    )
    .refine((send) => send.form_values === undefined || send.resume_form_request_id !== undefined, {
      message: "form_values come with resume_form_request_id, and only with it",
      path: ["form_values"],
    })
    .describe("A message. It starts a turn, or waits for the running one to end."),
  stop: z
    .strictObject({ type: z.literal("stop"), ...request, ...session, message_id: id.exactOptional() })
    .describe("Stop the running turn, or only that turn."),
  decide: z
    .strictObject({
      type: z.literal("decide"),
      ...request,
      ...session,
      approval_key: id,
      ...decideFields,
    })
    .refine(...argsComeWithEdit)
    .refine(...alwaysComesWithApprove)
    .describe("The decision on an approval."),
  answer: z
    .strictObject({
      type: z.literal("answer"),
      ...request,
      ...session,
      approval_key: id,
      ...answerFields,
    })
    .describe("The answer to a question."),
  dismiss: z
    .strictObject({
      type: z.literal("dismiss"),
      ...request,
      ...session,
      approval_key: id,
      ...reasonFields,
    })
    .describe("A question will not be answered. The turn goes on without."),
  submit: z
    .strictObject({
      type: z.literal("submit"),
      ...request,
      ...session,
      form_request_id: id,
      ...submitFields,
    })
    .describe("A form, filled in."),
  decline: z
    .strictObject({
      type: z.literal("decline"),
      ...request,
      ...session,
      form_request_id: id,
      ...reasonFields,
    })
    .describe("A form will not be filled in."),
};

export const socketReplies = {
  ack: z
    .strictObject({
      type: z.literal("ack"),
      ...request,
      message_id: id.exactOptional().describe("the turn, where the command started or stopped one"),
      user_message_id: id.exactOptional().describe("the message, where the command sent one"),
      receipt: stopReceipt.exactOptional().describe("what came of a stop"),
    })
    .describe("Done, durably."),
  subscribed: z
    .strictObject({
      type: z.literal("subscribed"),
      ...request,
      ...session,
      resumed: z.boolean().describe("false: forget what you have, what follows is the state anew"),
      reason: z.enum(["fresh", "cursor", "expired", "invalid", "slow"]).describe("why it was resumed or not"),
      head: z
        .string()
        .regex(CURSOR_PATTERN)
        .exactOptional()
        .describe("of native: up to here it is what was there already, and from here on as it happens"),
    })
    .describe("Frames of the session follow."),
  snapshot: z
    .strictObject({
      type: z.literal("snapshot"),
      ...session,
      event_id: z.string().regex(CURSOR_PATTERN).describe("where it stands: events after it follow"),
      snapshot: z
        .record(z.string(), json)
        .describe("the newest turns; `earlier` says how many are not in it"),
    })
    .describe("The state of a session, for a native client that begins anew."),
  unsubscribed: z
    .strictObject({
      type: z.literal("unsubscribed"),
      ...request,
      ...session,
      reason: z
        .enum(["gone", "unavailable"])
        .describe("gone: the session was deleted; unavailable: its log can't be reached, subscribe again"),
    })
    .describe("No more frames of the session come, though nobody asked."),
  error: z
    .strictObject({
      type: z.literal("error"),
      ...request,
      ...errorFields,
    })
    .describe("The command was not carried out."),
};

export type SocketCommand = Immutable<z.infer<(typeof socketCommands)[keyof typeof socketCommands]>>;
export type SocketReply = Immutable<z.infer<(typeof socketReplies)[keyof typeof socketReplies]>>;

const options = Object.values(socketCommands) as unknown as readonly [z.ZodObject, ...z.ZodObject[]];
export const socketCommandSchema = z.discriminatedUnion(
  "type",
  options,
) as unknown as z.ZodType<SocketCommand>;
