/**
 * `interactionEvents` declares the schemas of events of interactions: approval, question, form, payment.
 * Invariant: a request is a block that arrives complete. Updates are versioned, and the fold keeps the highest version.
 * The statuses match `TRANSITIONS` of `fold/interaction.ts`, and `FIELD_TYPES` the cases of `form/check-field.ts`.
 */
import { z } from "zod";
import { ARGUMENT_LIMITS } from "../limits.ts";
import { boundedList, count, envelope, id, json, label, milliseconds, onBlock } from "./fields.ts";

const key = id.describe("`<session>_<n>`, identifies the request in the answer");
const deadline = {
  timeout_seconds: count.exactOptional(),
  deadline: milliseconds
    .exactOptional()
    .describe("the time at which the server decides without the user, by the server's clock"),
};
const choice = z.strictObject({ value: z.string(), label });

const ARGUMENT_TYPES = ["text", "number", "boolean", "date", "select"] as const;

/** Exported for the dialects, whose actions have the same fields. */
export const argumentField = z.strictObject({
  name: id,
  label: label.exactOptional(),
  type: z.enum(ARGUMENT_TYPES).exactOptional(),
  unit: z.string().max(ARGUMENT_LIMITS.unitChars).exactOptional(),
  options: z.array(choice).max(ARGUMENT_LIMITS.options).exactOptional(),
});

const action = z.strictObject({
  name: id,
  label: label.exactOptional(),
  server: label
    .exactOptional()
    .describe("the server that the tool comes from, by the developer's name for it"),
  title: label.exactOptional().describe("what that server calls the tool; an untrusted text"),
  input: json,
  fields: z
    .array(argumentField)
    .max(ARGUMENT_LIMITS.fields)
    .exactOptional()
    .describe("how to show the arguments in `input`, from the schema of the tool"),
});
const actions = z.array(action).min(1).max(20).describe("the actions to approve; usually one tool call");

const question = z.strictObject({
  id,
  text: z.string(),
  options: z.array(z.strictObject({ id, label, description: label.exactOptional() })).max(50),
  multiple: z.boolean(),
  free_text: z.boolean(),
});

export const answer = z.strictObject({
  question: id,
  selected: boundedList(id, { max: 50 }),
  text: z.string().exactOptional(),
});

export const FIELD_TYPES = [
  "text",
  "shortText",
  "longText",
  "number",
  "email",
  "phone",
  "date",
  "select",
  "multiSelect",
  "checkbox",
  "file",
] as const;

const formField = z.strictObject({
  name: id,
  label,
  type: z.enum(FIELD_TYPES),
  required: z.boolean(),
  help: label.exactOptional(),
  options: z.array(choice).max(500).exactOptional(),
  min: z.number().exactOptional().describe("minimum value, length or number of choices"),
  max: z.number().exactOptional(),
});

export const formSchema = z.strictObject({
  id,
  title: label,
  description: z.string().exactOptional(),
  fields: z.array(formField).max(200),
});

const change = {
  version: z.int().positive().describe("increases with every change; the request itself is version 0"),
  by: id.exactOptional().describe("the user who decided; absent if the server decided"),
  reason: z.string().max(4096).exactOptional(),
};

export const interactionEvents = {
  "approval.request": z
    .strictObject({
      ...envelope,
      type: z.literal("approval.request"),
      ...onBlock,
      key,
      call: id.describe("the pending tool call"),
      actions,
      editable: z.boolean(),
      ...deadline,
      digest: z
        .string()
        .max(256)
        .exactOptional()
        .describe("binds the decision to the request that the user saw"),
      always: z
        .literal(true)
        .exactOptional()
        .describe("the user may also allow the tool for the rest of the session"),
    })
    .describe("A tool call waits for the user's approval. The turn pauses."),
  "approval.update": z
    .strictObject({
      ...envelope,
      type: z.literal("approval.update"),
      ...onBlock,
      ...change,
      status: z.enum(["approved", "edited", "rejected", "timed_out", "cancelled"]),
      actions: actions.exactOptional().describe("the edited actions, which replace the original ones"),
      always: z
        .literal(true)
        .exactOptional()
        .describe("the tool needs no approval for the rest of the session"),
    })
    .describe("The approval was decided, or its deadline passed."),

  "question.request": z
    .strictObject({
      ...envelope,
      type: z.literal("question.request"),
      ...onBlock,
      key,
      call: id,
      questions: z.array(question).min(1).max(20),
      ...deadline,
    })
    .describe("The agent asks the user questions. The turn pauses."),
  "question.update": z
    .strictObject({
      ...envelope,
      type: z.literal("question.update"),
      ...onBlock,
      ...change,
      status: z.enum(["answered", "dismissed", "timed_out", "cancelled"]),
      answers: z.array(answer).max(20).exactOptional(),
      message: id
        .exactOptional()
        .describe("the queued user message that was the answer; it leaves the queue"),
    })
    .describe("The question was answered or closed without an answer."),

  "form.request": z
    .strictObject({
      ...envelope,
      type: z.literal("form.request"),
      ...onBlock,
      form: id.describe("`form_request_id`"),
      call: id.exactOptional(),
      schema: formSchema,
      waits: z
        .literal(true)
        .exactOptional()
        .describe(
          "the turn waits for the form, as for an approval; otherwise the turn ends and a later one continues",
        ),
      ...deadline,
    })
    .describe(
      "The agent asks the user to fill in a form. Unless `waits` is set, the turn ends and a later one continues.",
    ),
  "form.update": z
    .strictObject({
      ...envelope,
      type: z.literal("form.update"),
      ...onBlock,
      ...change,
      status: z.enum(["submitted", "declined", "cancelled", "expired"]),
      values: z.record(z.string(), json).exactOptional(),
    })
    .describe("The form was submitted, declined or withdrawn."),

  "payment.request": z
    .strictObject({
      ...envelope,
      type: z.literal("payment.request"),
      ...onBlock,
      payment: id.describe("`payment_request_id`"),
      call: id.exactOptional(),
      order_no: id,
      amount: count.describe("in the smallest unit that payment providers accept for this currency"),
      currency: z.string().length(3),
      description: label,
      checkout_url: z.string().max(4096),
      deadline: deadline.deadline,
    })
    .describe(
      "The agent asks for a payment. The turn ends without waiting for it; updates can follow later.",
    ),
  "payment.update": z
    .strictObject({
      ...envelope,
      type: z.literal("payment.update"),
      ...onBlock,
      ...change,
      status: z.enum(["processing", "succeeded", "failed", "cancelled", "expired"]),
    })
    .describe("The payment changed its status, possibly long after its turn."),
};
