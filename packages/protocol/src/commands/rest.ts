/**
 * `restBodies` and `restReplies` are the schemas for bodies and replies of the HTTP API except messages: agents,
 * decisions, turns, interactions, payments, files, knowledge and memories.
 * Invariant: each shape is declared once, and clients derive their types from it. Commands share their fields with
 * `socket.ts`, so both channels accept the same input. The paths are in docs/http.md, not here.
 */
import { z } from "zod";
import { CURSOR_PATTERN } from "../cursor.ts";
import { boundedList, count, id, json, milliseconds, parsedJson } from "../events/fields.ts";
import type { Immutable } from "../json.ts";
import {
  alwaysComesWithApprove,
  answerFields,
  argsComeWithEdit,
  decideFields,
  declineFields,
  messageFields,
  messageText,
  needsContent,
  paymentStatus,
  reasonFields,
  stopReceipt,
  submitFields,
  valuesComeWithForm,
  valuesFields,
} from "./socket.ts";

const text = z.string();
const schemaVersion = count.describe("schema version of the turns");
/** Fields of pages that go back in time. Pass `next_before` as `before` to get the next page. */
const olderPage = { has_more: z.boolean(), next_before: count.nullable() };

const MAX_SHARE_SECONDS = 366 * 24 * 60 * 60;

export const restBodies = {
  create_share: z
    .strictObject({
      expires_in_seconds: z
        .int()
        .min(1)
        .max(MAX_SHARE_SECONDS)
        .exactOptional()
        .describe("how long the link works, by the server's clock; without it, until it is revoked"),
    })
    .describe("A link to the session as it is now."),
  send: z
    .strictObject({
      text: messageText,
      ...messageFields,
      client_message_id: id.exactOptional(),
      stream: z.boolean().default(false).describe("true: the answer as an event stream"),
      include_tool_tags: z.boolean().default(false),
    })
    .refine(...needsContent("text"))
    .refine(...valuesComeWithForm)
    .describe("A message to a session."),
  upload: z
    .strictObject({
      name: text.min(1).max(300),
      media_type: text.max(200),
      size: count,
      sha256: text.regex(/^[A-Za-z0-9+/]{43}=$/).describe("the SHA-256 of the content in base64"),
    })
    .describe("The content of an upload to the object storage."),
  decide: z
    .strictObject(decideFields)
    .refine(...argsComeWithEdit)
    .refine(...alwaysComesWithApprove)
    .describe("The decision on an approval."),
  answer: z.strictObject(answerFields).describe("The answer to a question."),
  dismiss: z.strictObject(reasonFields).describe("Dismisses a question without an answer."),
  submit: z.strictObject(submitFields).describe("The values of a completed form."),
  decline: z.strictObject(declineFields).describe("Declines a form."),
  save_draft: z.strictObject(valuesFields).describe("The values of a form that is not completed yet."),
  import_knowledge: z
    .strictObject({
      objects: boundedList(
        z.strictObject({
          id: id.describe("unique in its knowledge base and stable across imports, such as a path"),
          text: text.describe("text, Markdown, HTML, CSV or JSON"),
          media_type: text.max(200).exactOptional(),
          title: text.max(500).exactOptional(),
          url: text.max(4096).exactOptional().describe("where users can read it"),
          metadata: parsedJson.exactOptional(),
        }),
        { max: 1_000 },
      ),
      prune: z.boolean().default(false).describe("removes all other objects from the knowledge base"),
    })
    .describe("Texts for a knowledge base."),
  edit_memory: z
    .strictObject({ text: text.max(2_000).exactOptional(), pinned: z.boolean().exactOptional() })
    .refine((edit) => edit.text !== undefined || edit.pinned !== undefined, "text or pinned is required")
    .describe("Changes a memory."),
};

const interaction = {
  key: text.describe("`approval_key` or `form_request_id` of its frames"),
  kind: z.enum(["approval", "question", "form", "payment"]),
  status: text,
  version: count,
  turn_id: text,
  call_id: text.nullable(),
  request: json.describe("the request as the user saw it"),
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
  body: json.describe("the data of the change: edited actions, answers or values"),
  at: milliseconds,
});

const payment = {
  payment_request_id: text,
  merchant_order_no: text,
  item_desc: text.describe("what the payment is for"),
  amount: count.describe("in the smallest unit that payment providers accept for the currency"),
  currency: text,
  amount_twd: count.nullable().describe("whole dollars; null if the currency is not TWD"),
  status: paymentStatus,
  checkout_url: text.nullable().describe("null once the status is final"),
  created_at: milliseconds,
  changed_at: milliseconds.nullable(),
  expires_at: milliseconds.nullable().describe("when it expires unless it is paid before"),
  refunded_amount: count.nullable().describe("null if nothing was refunded"),
};

const draft = z.strictObject({ values: json, version: count, saved_at: milliseconds });
const memory = z.strictObject({
  id: text,
  text,
  pinned: z.boolean(),
  created_at: milliseconds,
  updated_at: milliseconds,
});
const share = {
  share_id: text.describe("names the share when it is revoked"),
  token: text.describe("the secret part of the link"),
  session_id: id,
  event_id: text.regex(CURSOR_PATTERN).describe("the position of the session that the share shows"),
  created_at: milliseconds,
  expires_at: milliseconds.nullable().describe("null if the link does not expire"),
};
/** Objects whose fields PROTOCOL.md describes; they have no schema here. */
const object = z.record(z.string(), json);

export const restReplies = {
  history: z
    .strictObject({
      messages: z.array(object),
      ...olderPage,
      title: text.nullable().exactOptional(),
      agent_status: z.enum(["running", "idle"]).exactOptional(),
      running_message_id: text.nullable().exactOptional(),
      pending_approval: object.nullable().exactOptional(),
      pending: z.array(object).exactOptional(),
      last_event_id: text.regex(CURSOR_PATTERN).exactOptional(),
    })
    .describe("A page of history. Only the newest page has fields other than the messages."),
  snapshot: z
    .strictObject({
      session_id: id,
      event_id: text.regex(CURSOR_PATTERN).describe("the position of the snapshot; subscribe from here"),
      snapshot: object,
    })
    .describe("The state of a session and its position."),
  share: z.strictObject(share).describe("A link to a session."),
  session_shares: z
    .strictObject({ shares: z.array(z.strictObject(share)) })
    .describe("The open links of a session, oldest first."),
  shares: z
    .strictObject({
      shares: z.array(z.strictObject({ ...share, title: text.nullable().describe("the current title") })),
      next_before: text.nullable(),
    })
    .describe("A page of the caller's open links, newest first."),
  shared: z
    .strictObject({
      title: text.nullable(),
      event_id: share.event_id,
      created_at: milliseconds,
      expires_at: share.expires_at,
      ...olderPage,
      snapshot: object.exactOptional().describe("only in the newest page"),
      v: schemaVersion.exactOptional(),
      turns: z.array(object).exactOptional().describe("only in older pages"),
    })
    .describe("A page of a shared session, for native clients."),
  turns: z
    .strictObject({ v: schemaVersion, turns: z.array(object), ...olderPage })
    .describe("A page of turns, oldest first."),
  turn: z.strictObject({ v: schemaVersion, turn: object }).describe("One turn as it is in snapshots."),
  end_state: z.strictObject({ task_id: text, output: z.array(object) }).describe("The end state of a task."),
  stop: z
    .strictObject({
      receipt: stopReceipt,
      turn_id: text.nullable().describe("the stopped turn; null if it has ended"),
    })
    .describe("The receipt of a stop."),
  retry: z
    .strictObject({
      receipt: z.enum(["retrying", "busy"]),
      turn_id: text.nullable().describe("the new turn, or the turn that is already running"),
    })
    .describe("The receipt of a retry."),
  decided: z
    .strictObject({ interaction: z.strictObject({ ...interaction, changes: z.array(change) }) })
    .describe("The current state of an interaction and its changes."),
  interactions: z
    .strictObject({
      interactions: z.array(z.strictObject({ ...interaction, n: count })),
      has_more: z.boolean(),
      next_after: count.nullable(),
    })
    .describe("A page of interactions, oldest first."),
  payment: z.strictObject({ payment: z.strictObject(payment) }).describe("One payment."),
  payments: z
    .strictObject({ payments: z.array(z.strictObject(payment)), ...olderPage })
    .describe("A page of the payments of a session, newest first."),
  draft: z.strictObject({ draft: draft.nullable() }).describe("The values that the user has saved so far."),
  allowances: z
    .strictObject({
      allowances: z.array(
        z.strictObject({
          agent: text,
          tool: text,
          digest: text.describe(
            "of the tool's description and input schema; the allowance ends when it changes",
          ),
          by: text.nullable(),
          at: milliseconds,
        }),
      ),
    })
    .describe("The tools that no longer need approval in this session."),
  file: z
    .strictObject({
      id: text.describe("for the `upload` of a form's file"),
      url: text.describe("for `content_urls`"),
      name: text,
      media_type: text,
      size: count,
    })
    .describe("A file of a session."),
  upload: z
    .strictObject({
      id: text.describe("for `/uploads/{id}/complete`"),
      file: z
        .strictObject({ id: text, url: text, name: text, media_type: text, size: count })
        .nullable()
        .describe("the file, if it was uploaded before"),
      send: z
        .strictObject({ url: text, method: z.literal("PUT"), headers: z.record(text, text) })
        .nullable()
        .describe("the request with the content; null if the content must be sent to `/files`"),
    })
    .describe("An upload that was started."),
  agents: z
    .strictObject({
      agents: z.array(
        z.strictObject({
          agent_id: text.describe("the name of the agent, for `agent_id` of a message"),
          label: text.describe("what the agent does, for users; empty if it has no label"),
          description: text.describe("what the agent is good for; empty if it has no description"),
          inputs: z
            .array(z.enum(["text", "file", "image"]))
            .describe("what it accepts: text, files whose text it reads, images that its model sees"),
        }),
      ),
    })
    .describe("The agents that a message can name."),
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
    .describe("The result of an import."),
  removed: z.strictObject({ removed: count }).describe("The number of removed entries."),
  memories: z.strictObject({ memories: z.array(memory) }).describe("The memories of the caller."),
  memory: z.strictObject({ memory }).describe("One memory."),
};

/** The type of a request body, by name. */
export type RestBody<Name extends keyof typeof restBodies> = Immutable<z.input<(typeof restBodies)[Name]>>;
/** The type of a reply, by name. */
export type RestReply<Name extends keyof typeof restReplies> = Immutable<z.infer<(typeof restReplies)[Name]>>;
