/**
 * `DOCUMENT_002` has the examples of document 002: every event of a response.
 * Invariant: both printed shapes of a form are here, with and without `interaction_type`.
 */
import type { PrintedExample } from "./printed-example.ts";

const of = { response_id: "res-4", chat_id: 88 };
const created = {
  type: "response.created",
  ...of,
  agent_id: "0f4c1a52-6f0e-4b7e-9d42-2f8f4c3d9a10",
  model: "model-y",
  conversation_group_id: "group-2",
  user_conversation_id: 17,
};
const tokens = { total_prompt_tokens: 21, total_completion_tokens: 8, total_tokens: 29, total_calls: 1 };
const request = (more: object): object => ({
  type: "response.interaction_request",
  ...of,
  conversation_group_id: "group-2",
  ...more,
});
const end = { type: "[DONE]" };

export const DOCUMENT_002: readonly PrintedExample[] = [
  {
    lines: "49-180",
    about: "a title, a step, text and the end",
    frames: [
      created,
      { type: "response.chat.title.updated", ...of, name: "Ferries on Sunday" },
      {
        type: "response.reasoning_step.start",
        ...of,
        step: {
          id: "step-1",
          content: "Looking for the timetable",
          tool_name: "retrieve_context_objs",
          args: { query: "timetable" },
          timestamp: "2026-02-03T08:00:00Z",
        },
      },
      {
        type: "response.reasoning_step.end",
        ...of,
        step: {
          id: "step-1",
          tool_name: "retrieve_context_objs",
          result: { success: true, data: "2 documents" },
          timestamp: "2026-02-03T08:00:01Z",
          token_usage: tokens,
        },
      },
      { type: "response.output_text.delta", ...of, delta: "Two ferries " },
      { type: "response.output_text.delta", ...of, delta: "on Sunday." },
      { type: "response.output_text.completed", ...of, final_text: "Two ferries on Sunday.", usage: tokens },
      end,
    ],
    shows: [
      { kind: "tool_call", call: "step-1", name: "retrieve_context_objs", input: { query: "timetable" } },
      { kind: "tool_result", call: "step-1", status: "success", preview: "2 documents" },
      { kind: "text", text: "Two ferries on Sunday.", final: true },
    ],
  },
  {
    lines: "127-148",
    about: "a form with history_id",
    frames: [
      created,
      request({
        history_id: 88,
        form_request_id: "form-1",
        form_schema: { title: "Passenger", fields: [{ name: "phone", label: "Phone", type: "text" }] },
      }),
      end,
    ],
    shows: [{ kind: "form", form: "form-1", status: "pending", schema: { title: "Passenger" } }],
  },
  {
    lines: "184-194",
    about: "an error",
    frames: [created, { type: "response.error", ...of, message: "The pier is closed.", code: 10_005 }, end],
    shows: [
      { kind: "notice", notice: "error", text: "The pier is closed.", error: { code: "SERVER_ERROR" } },
    ],
  },
  {
    lines: "214-235",
    about: "a form with interaction_type",
    frames: [
      created,
      request({
        interaction_type: "form",
        form_request_id: "form-2",
        form_schema: {
          id: "passenger",
          title: "Passenger",
          fields: [{ name: "phone", label: "Phone", type: "shortText", required: true }],
        },
      }),
      end,
    ],
    shows: [{ kind: "form", form: "form-2", status: "pending", schema: { id: "passenger" } }],
  },
  {
    lines: "237-254",
    about: "a payment",
    frames: [
      created,
      request({
        interaction_type: "payment",
        payment: {
          payment_request_id: "pay-1",
          checkout_url: "https://pay.example/checkout/t1",
          merchant_order_no: "FERRY0001",
          amount_twd: 240,
          currency: "TWD",
          status: "pending",
          item_desc: "Two tickets",
        },
      }),
      end,
    ],
    shows: [{ kind: "payment", payment: "pay-1", amount: 240, currency: "TWD", status: "pending" }],
  },
];
