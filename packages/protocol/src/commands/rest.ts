/**
 * Bodies and answers of the HTTP interface beside messages: decisions, turns, interactions, files, knowledge and memories.
 * Each is declared once; clients take their types from here. Never says at which address: docs/http.md does.
 */
import { z } from "zod";
import { CURSOR_PATTERN } from "../cursor.ts";
import { count, id, json, milliseconds } from "../events/fields.ts";
import type { Immutable } from "../json.ts";
import {
  alwaysComesWithApprove,
  answerFields,
  argsComeWithEdit,
  decideFields,
  reasonFields,
  stopReceipt,
  submitFields,
} from "./socket.ts";

const text = z.string();
const goOn = {
  go_on: z
    .boolean()
    .default(true)
    .describe("whether the next turn begins at once; false when a message of one's own follows"),
};
/** Of pages that go back in time: `next_before` is the `before` of the next one. */
const olderPage = { has_more: z.boolean(), next_before: count.nullable() };

export const restBodies = {
  decide: z
    .strictObject(decideFields)
    .refine(...argsComeWithEdit)
    .refine(...alwaysComesWithApprove)
    .describe("The decision on an approval."),
  answer: z.strictObject(answerFields).describe("The answer to a question."),
  dismiss: z.strictObject(reasonFields).describe("A question will not be answered."),
  submit: z.strictObject({ ...submitFields, ...goOn }).describe("A form, filled in."),
  decline: z.strictObject({ ...reasonFields, ...goOn }).describe("A form will not be filled in."),
  save_draft: z.strictObject(submitFields).describe("A form, as far as it is filled in."),
  import_knowledge: z
    .strictObject({
      objects: z
        .array(
          z.strictObject({
            id: id.describe("unique in its base and the same every time, such as a path"),
            text: text.describe("text, Markdown, HTML, CSV or JSON"),
            media_type: text.max(200).exactOptional(),
            title: text.max(500).exactOptional(),
            url: text.max(4096).exactOptional().describe("where people can read it"),
            metadata: json.exactOptional(),
          }),
        )
        .max(1_000),
      prune: z.boolean().default(false).describe("removes what is in the base and not among these"),
    })
    .describe("Texts for a knowledge base."),
  edit_memory: z
    .strictObject({ text: text.max(2_000).exactOptional(), pinned: z.boolean().exactOptional() })
    .refine((edit) => edit.text !== undefined || edit.pinned !== undefined, "say what to change")
    .describe("A change of what is remembered."),
};

const interaction = {
  key: text.describe("`approval_key` or `form_request_id` of its frames"),
  kind: z.enum(["approval", "question", "form", "payment"]),
  status: text,
  version: count,
  turn_id: text,
  call_id: text.nullable(),
  request: json.describe("what was asked, as it was shown"),
  digest: text.nullable(),
  deadline: milliseconds.nullable(),
  requested_at: milliseconds,
  changed_at: milliseconds.nullable(),
};

const change = z.strictObject({
  version: count,
  status: text,
  by: text.nullable(),
  reason: text.nullable(),
  body: json.describe("what came with it: edited actions, answers, values"),
  at: milliseconds,
});

const draft = z.strictObject({ values: json, version: count, saved_at: milliseconds });
const memory = z.strictObject({
  id: text,
  text,
  pinned: z.boolean(),
  created_at: milliseconds,
  updated_at: milliseconds,
});
/** As PROTOCOL.md has them; they are not declared as schemas. */
const object = z.record(z.string(), json);

export const restReplies = {
  history: z
    .strictObject({
      messages: z.array(object),
      ...olderPage,
      title: text.nullable().exactOptional(),
      agent_status: z.enum(["running", "idle"]).exactOptional(),
      pending_approval: object.nullable().exactOptional(),
      pending: z.array(object).exactOptional(),
      waiting: z.array(object).exactOptional(),
      last_event_id: text.regex(CURSOR_PATTERN).exactOptional(),
    })
    .describe("A page of history; all but the messages is on the newest page only."),
  snapshot: z
    .strictObject({
      session_id: id,
      event_id: text.regex(CURSOR_PATTERN).describe("subscribe after it"),
      snapshot: object,
    })
    .describe("The state of a session, and where it stands."),
  turns: z.strictObject({ turns: z.array(object), ...olderPage }).describe("A page of turns, oldest first."),
  turn: z.strictObject({ turn: object }).describe("One turn as it is in snapshots."),
  end_state: z.strictObject({ task_id: text, output: z.array(object) }).describe("The end state of a task."),
  stop: z
    .strictObject({
      receipt: stopReceipt,
      turn_id: text.nullable().describe("which turn; null when it is over"),
    })
    .describe("The receipt of a stop."),
  retry: z
    .strictObject({
      receipt: z.enum(["retrying", "busy"]),
      turn_id: text.nullable().describe("the new turn, or the one that runs already"),
    })
    .describe("The receipt of a retry."),
  decided: z
    .strictObject({ interaction: z.strictObject({ ...interaction, changes: z.array(change) }) })
    .describe("An interaction as it is now, and how it came to that."),
  interactions: z
    .strictObject({
      interactions: z.array(z.strictObject({ ...interaction, n: count })),
      has_more: z.boolean(),
      next_after: count.nullable(),
    })
    .describe("A page of interactions, oldest first."),
  draft: z.strictObject({ draft: draft.nullable() }).describe("What was filled in so far."),
  allowances: z
    .strictObject({
      allowances: z.array(z.strictObject({ agent: text, tool: text, by: text.nullable(), at: milliseconds })),
    })
    .describe("What needs no approval any more in this session."),
  file: z
    .strictObject({
      id: text.describe("for the `upload` of a form's file"),
      url: text.describe("for `content_urls`"),
      name: text,
      media_type: text,
      size: count,
    })
    .describe("A file of a session."),
  bases: z
    .strictObject({ bases: z.array(z.strictObject({ base: text, objects: count })) })
    .describe("The knowledge bases of a tenant."),
  objects: z
    .strictObject({
      objects: z.array(
        z.strictObject({
          id: text,
          title: text,
          url: text.nullable(),
          metadata: json,
          lines: count,
          changed_at: milliseconds,
        }),
      ),
      has_more: z.boolean(),
      next_after: text.nullable(),
    })
    .describe("A page of a knowledge base, by id."),
  imported: z
    .strictObject({
      created: count,
      replaced: count,
      unchanged: count,
      removed: count,
      failed: z.array(z.strictObject({ id: text, problem: text })),
    })
    .describe("What an import has done."),
  removed: z.strictObject({ removed: count }).describe("How many there were."),
  memories: z.strictObject({ memories: z.array(memory) }).describe("What is remembered of the caller."),
  memory: z.strictObject({ memory }).describe("One thing that is remembered."),
};

/** What a client sends, by the name of the body. */
export type RestBody<Name extends keyof typeof restBodies> = Immutable<z.input<(typeof restBodies)[Name]>>;
/** What it gets, by the name of the answer. */
export type RestReply<Name extends keyof typeof restReplies> = Immutable<z.infer<(typeof restReplies)[Name]>>;
