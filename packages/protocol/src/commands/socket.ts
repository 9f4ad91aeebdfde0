/**
 * `socketCommands` and `socketReplies` are the schemas for commands over a WebSocket and for the server's replies
 * (requirement W16). Sockets of the `native`, `blocks` and `tasks` dialects accept the same commands.
 * Invariant: each shape is declared once; HTTP bodies reuse the exported fields. `ack` means that the command was
 * executed and its effect is stored. A reply repeats the `request_id` of its command.
 */
import { z } from "zod";
import { CURSOR_PATTERN } from "../cursor.ts";
import { ERROR_CODES } from "../errors.ts";
import { boundedList, id, json, locale, parsedJson } from "../events/fields.ts";
import { answer } from "../events/interactions.ts";
import type { Immutable } from "../json.ts";

/** Copied to the reply, so that the client can match it to its command. */
const request = { request_id: id.exactOptional() };
const session = { session_id: id };
const payment = { payment_request_id: id };
/** The fields of an error, the same over sockets and HTTP. */
export const errorFields = {
  error: z.enum(ERROR_CODES),
  code: z.int().describe("the error as a number"),
  message: z.string().describe("the reason, for the sender of the command"),
  can_retry: z.boolean(),
  retry_after_seconds: z.int().nonnegative().exactOptional(),
  details: z
    .strictObject({
      limit: z.string().describe("the name of the limit, such as requests_per_minute"),
      scope: z.enum(["address", "key", "user", "tenant", "gateway"]).describe("what the limit counts"),
      retry_after_ms: z.int().nonnegative(),
    })
    .exactOptional()
    .describe("the limit that the request exceeds"),
};
/** The status of a payment, in acknowledgments and HTTP replies. */
export const paymentStatus = z.enum(["pending", "processing", "succeeded", "failed", "cancelled", "expired"]);
/** Outcome of a stop: the turn will stop, a stop was already requested, or the turn has ended. */
export const stopReceipt = z.enum(["stopping", "already", "over"]);
const formValues = z
  .record(z.string(), parsedJson)
  .describe("the values of the form; without them, a pending form is declined with the text as the reason");
const displayMode = z
  .enum(["agent", "chat"])
  .describe("the mode of the turn; without it, the mode of the agent applies");
export const messageText = z.string().max(1_000_000);
const reason = z.string().max(4096).exactOptional();

/** Fields of commands other than their target: the same over sockets and in HTTP bodies. */
export const decideFields = {
  decision: z.enum(["approve", "edit", "reject"]),
  args: parsedJson.exactOptional().describe("with edit: the arguments to use instead"),
  reason,
  digest: z.string().max(256).exactOptional().describe("the digest of the request that the user saw"),
  always: z
    .literal(true)
    .exactOptional()
    .describe("with approve: also approves every later call of the tool in this session"),
};
export const answerFields = { answers: boundedList(answer, { min: 1, max: 20 }) };
const goOn = {
  go_on: z
    .boolean()
    .exactOptional()
    .describe("false: the next turn does not start, because the client sends a message next"),
};
export const valuesFields = { values: z.record(z.string(), parsedJson) };
export const submitFields = { ...valuesFields, ...goOn };
export const reasonFields = { reason };
export const declineFields = { ...reasonFields, ...goOn };
/** Fields of a message other than its text and its idempotency key. */
export const messageFields = {
  content_urls: boundedList(z.string().max(4096), { max: 100 }).exactOptional(),
  agent_id: id.exactOptional(),
  display_mode: displayMode.exactOptional(),
  locale: locale.exactOptional().describe("the user's language; default: that of the previous turn"),
  resume_form_request_id: id.exactOptional(),
  form_values: formValues.exactOptional(),
};

interface Message {
  readonly content_urls?: readonly string[];
  readonly form_values?: unknown;
  readonly resume_form_request_id?: string;
}
/** Returns the rule that a message is not empty. `text` names the field of its text. */
export function needsContent<Text extends string>(
  text: Text,
): [(message: Message & Readonly<Record<Text, string>>) => boolean, string] {
  return [
    (message) =>
      message[text] !== "" || (message.content_urls ?? []).length > 0 || message.form_values !== undefined,
    "a message needs text, files or form values",
  ];
}
export const valuesComeWithForm: [(message: Message) => boolean, { message: string; path: string[] }] = [
  (message) => message.form_values === undefined || message.resume_form_request_id !== undefined,
  { message: "form_values requires resume_form_request_id", path: ["form_values"] },
];

interface Decide {
  readonly decision: string;
  readonly args?: unknown;
  readonly always?: true;
}
type Rule = [(decide: Decide) => boolean, { message: string; path: string[] }];
export const argsComeWithEdit: Rule = [
  (decide) => (decide.decision === "edit") === (decide.args !== undefined),
  { message: "args requires the decision edit, and the reverse", path: ["args"] },
];
export const alwaysComesWithApprove: Rule = [
  (decide) => decide.always === undefined || decide.decision === "approve",
  { message: "always requires the decision approve", path: ["always"] },
];

export const socketCommands = {
  subscribe: z
    .strictObject({
      type: z.literal("subscribe"),
      ...request,
      ...session,
      last_event_id: z.string().regex(CURSOR_PATTERN).exactOptional(),
    })
    .describe("Subscribes to a session, from the event after `last_event_id`."),
  unsubscribe: z
    .strictObject({ type: z.literal("unsubscribe"), ...request, ...session })
    .describe("Ends the subscription. The turn continues."),
  ping: z
    .strictObject({ type: z.literal("ping"), ...request })
    .describe("Checks the connection. Pages need it, because they can't see WebSocket pings."),
  send: z
    .strictObject({
      type: z.literal("send"),
      ...request,
      ...session,
      client_message_id: id.describe(
        "idempotency key, chosen by the client: the same id never creates a second message",
      ),
      text: messageText,
      ...messageFields,
    })
    .refine(...needsContent("text"))
    .refine(...valuesComeWithForm)
    .describe(
      "Sends a message. It starts a turn, waits until the running turn ends, or answers a pending question.",
    ),
  stop: z
    .strictObject({ type: z.literal("stop"), ...request, ...session, turn_id: id.exactOptional() })
    .describe("Stops the running turn. With `turn_id`: only if that turn is running."),
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
    .describe("Dismisses a question. The turn continues without an answer."),
  submit: z
    .strictObject({
      type: z.literal("submit"),
      ...request,
      ...session,
      form_request_id: id,
      ...submitFields,
    })
    .describe("Submits the values of a form."),
  decline: z
    .strictObject({
      type: z.literal("decline"),
      ...request,
      ...session,
      form_request_id: id,
      ...declineFields,
    })
    .describe("Declines a form."),
  cancel_payment: z
    .strictObject({ type: z.literal("cancel_payment"), ...request, ...session, ...payment })
    .describe("Cancels a payment. Only a pending payment can be cancelled."),
  refresh_payment: z
    .strictObject({ type: z.literal("refresh_payment"), ...request, ...session, ...payment })
    .describe("Asks the payment provider for the status of a payment."),
};

export const socketReplies = {
  ack: z
    .strictObject({
      type: z.literal("ack"),
      ...request,
      turn_id: id.exactOptional().describe("the turn, if the command stopped one"),
      user_message_id: id.exactOptional().describe("the message, if the command sent one"),
      receipt: stopReceipt.exactOptional().describe("the outcome of a stop"),
      payment_status: paymentStatus.exactOptional().describe("the current status, if it is about a payment"),
    })
    .describe("The command was executed and its effect is stored."),
  subscribed: z
    .strictObject({
      type: z.literal("subscribed"),
      ...request,
      ...session,
      resumed: z.boolean().describe("false: discard the local state, because the full state follows"),
      reason: z.enum(["fresh", "cursor", "expired", "invalid", "slow"]).describe("why it was resumed or not"),
      head: z
        .string()
        .regex(CURSOR_PATTERN)
        .exactOptional()
        .describe("native only: the position of the log at subscribe time; later events are live"),
    })
    .describe("Frames of the session follow."),
  snapshot: z
    .strictObject({
      type: z.literal("snapshot"),
      ...session,
      event_id: z
        .string()
        .regex(CURSOR_PATTERN)
        .describe("the position of the snapshot; the events after it follow"),
      snapshot: z
        .record(z.string(), json)
        .describe("the newest turns; `earlier` is the number of older turns that it leaves out"),
    })
    .describe(
      "The state of a session, for a native client. It follows every `subscribed` with `resumed` false.",
    ),
  unsubscribed: z
    .strictObject({
      type: z.literal("unsubscribed"),
      ...request,
      ...session,
      reason: z
        .enum(["gone", "unavailable"])
        .describe("gone: the session was deleted; unavailable: its log can't be reached, subscribe again"),
    })
    .describe("The server ended the subscription; no more frames of the session follow."),
  resuming: z
    .strictObject({ type: z.literal("resuming"), ...session, turn_id: id })
    .describe(
      "Native only: the running turn can't continue now, and will continue later. Its worker was lost, or its events can't be written. The next event ends this state.",
    ),
  no_worker: z
    .strictObject({ type: z.literal("no_worker"), ...session })
    .describe(
      "Native only: a message or turn has waited for 5 seconds, and no worker is running. The next event ends this state.",
    ),
  error: z
    .strictObject({
      type: z.literal("error"),
      ...request,
      ...errorFields,
    })
    .describe("The command was not executed."),
};

export type SocketCommand = Immutable<z.infer<(typeof socketCommands)[keyof typeof socketCommands]>>;
export type SocketReply = Immutable<z.infer<(typeof socketReplies)[keyof typeof socketReplies]>>;

const options = Object.values(socketCommands) as unknown as readonly [z.ZodObject, ...z.ZodObject[]];
export const socketCommandSchema = z.discriminatedUnion(
  "type",
  options,
) as unknown as z.ZodType<SocketCommand>;
