/** Tests the `responses` decoder with frames as the source document prints them, with our own data. */
import { ERRORS } from "@turnstream/protocol";
import { responsesDecoder } from "../src/responses/decode.ts";
import { describe, expect, test } from "vitest";
import { blocksIn, read, turnOf } from "@turnstream/conformance/suites/frames.ts";

const of = { response_id: "res-1", chat_id: 4711 };
const created = {
  type: "response.created",
  ...of,
  agent_id: "7b0e7a6c-0000-4000-8000-000000000000",
  model: "model-x",
  conversation_group_id: "group_1",
  user_conversation_id: 31,
};
const tokens = { total_prompt_tokens: 9, total_completion_tokens: 4, total_tokens: 13, total_calls: 1 };
const delta = (text: string) => ({ type: "response.output_text.delta", ...of, delta: text });
const completed = (final_text: string) => ({
  type: "response.output_text.completed",
  ...of,
  final_text,
  usage: tokens,
});
const end = { type: "[DONE]" };

describe("the decoder with printed frames", () => {
  const step = { id: "step_1", tool_name: "search_web" };
  const whole = [
    created,
    { type: "response.chat.title.updated", ...of, name: "Opening hours" },
    {
      type: "response.reasoning_step.start",
      ...of,
      step: { ...step, content: "Searching", args: { q: "hours" }, timestamp: "2024-01-15T10:30:00Z" },
    },
    {
      type: "response.reasoning_step.end",
      ...of,
      step: {
        ...step,
        result: { success: true, data: "2 hits" },
        timestamp: "2024-01-15T10:30:01Z",
        token_usage: tokens,
      },
    },
    delta("We open "),
    delta("at nine."),
    completed("We open at nine."),
    end,
  ];

  test("S03 S04 S05 a complete response folds to its content", () => {
    const { state, problems } = read(responsesDecoder, whole);
    expect(problems).toEqual([]);
    expect(state).toMatchObject({ session: "group_1", number: 4711, title: "Opening hours" });
    expect(turnOf(state)).toMatchObject({
      id: "res-1",
      agent: "7b0e7a6c-0000-4000-8000-000000000000",
      model: "model-x",
      status: "end_turn",
      usage: { input_tokens: 9, output_tokens: 4, total_tokens: 13, calls: 1 },
    });
    expect(blocksIn(state)).toMatchObject([
      { kind: "tool_call", call: "step_1", name: "search_web", label: "Searching", input: { q: "hours" } },
      {
        kind: "tool_result",
        call: "step_1",
        status: "success",
        preview: "2 hits",
        usage: { total_tokens: 13 },
      },
      { kind: "text", text: "We open at nine.", final: true },
    ]);
  });

  test("S05 final_text is authoritative: it replaces deltas that differ", () => {
    const { state, problems } = read(responsesDecoder, [
      created,
      delta("We ope"),
      completed("Closed today."),
      end,
    ]);
    expect(problems).toEqual([]);
    expect(blocksIn(state)).toMatchObject([{ kind: "text", text: "Closed today.", final: true }]);
  });

  test("a turn that is repeated from its start produces no duplicates", () => {
    const frames = [created, delta("We open ")];
    const { state, problems } = read(responsesDecoder, [...whole.slice(0, 5), ...frames, delta("at nine.")]);
    expect(problems).toEqual([]);
    expect(blocksIn(state)).toMatchObject([{ kind: "text", text: "We open at nine." }]);
    expect(turnOf(state).status).toBe("running");
  });

  const field = { name: "email", label: "Email" };

  test("S07 a form with interaction_type", () => {
    const form_schema = {
      id: "contact",
      title: "Contact",
      fields: [{ ...field, type: "shortText", required: true }],
    };
    const { state, problems } = read(responsesDecoder, [
      created,
      {
        type: "response.interaction_request",
        ...of,
        interaction_type: "form",
        conversation_group_id: "group_1",
        form_request_id: "frm-1",
        form_schema,
      },
      end,
    ]);
    expect(problems).toEqual([]);
    expect(turnOf(state).status).toBe("requires_interaction");
    expect(blocksIn(state)).toMatchObject([
      { kind: "form", form: "frm-1", schema: form_schema, status: "pending" },
    ]);
  });

  test("S07 a form with history_id and without interaction_type, its schema without id and required", () => {
    const { state, problems } = read(responsesDecoder, [
      created,
      {
        type: "response.interaction_request",
        ...of,
        history_id: 4711,
        conversation_group_id: "group_1",
        form_request_id: "frm-1",
        form_schema: { title: "Contact", fields: [{ ...field, type: "text" }] },
      },
      end,
    ]);
    expect(blocksIn(state)).toMatchObject([{ kind: "form", form: "frm-1", schema: { title: "Contact" } }]);
    expect(problems).toEqual([]);
  });

  test("S08 a payment", () => {
    const { state, problems } = read(responsesDecoder, [
      created,
      {
        type: "response.interaction_request",
        ...of,
        interaction_type: "payment",
        conversation_group_id: "group_1",
        payment: {
          payment_request_id: "pay-1",
          checkout_url: "https://pay.example/t",
          merchant_order_no: "SHOP1",
          amount_twd: 1200,
          currency: "TWD",
          status: "pending",
          item_desc: "Consultation",
        },
      },
      end,
    ]);
    expect(problems).toEqual([]);
    expect(turnOf(state).status).toBe("requires_interaction");
    expect(blocksIn(state)).toMatchObject([
      {
        kind: "payment",
        payment: "pay-1",
        order_no: "SHOP1",
        amount: 1200,
        currency: "TWD",
        description: "Consultation",
      },
    ]);
  });

  test.each([
    [10_005, "SERVER_ERROR"],
    [10_006, "BAD_REQUEST"],
    [99_999, "SERVER_ERROR"],
  ])("S09 S02 an error %d is %s, and [DONE] ends the turn", (code, word) => {
    const { state, problems } = read(responsesDecoder, [
      created,
      { type: "response.error", ...of, message: "No.", code },
      end,
    ]);
    expect(problems).toEqual([]);
    expect(turnOf(state).status).toBe("error");
    expect(blocksIn(state)).toMatchObject([
      { kind: "notice", notice: "error", text: "No.", error: { code: word } },
    ]);
  });

  test("S10 a failed connection does not end the turn: it continues after the reconnect", () => {
    const timeout = {
      type: "response.error",
      ...of,
      message: "Silence.",
      code: ERRORS.STREAM_TIMEOUT.number,
    };
    const text = { type: "response.output_text.delta", ...of, delta: "Half " };
    const rest = { ...text, delta: "an answer." };
    const { state, problems } = read(responsesDecoder, [created, text, timeout, end, rest]);
    expect(problems).toEqual([]);
    expect(turnOf(state).status).toBe("running");
    expect(blocksIn(state)).toMatchObject([{ kind: "text", text: "Half an answer.", end: null }]);
  });

  test.each([{ type: "ping" }, { type: "response.something_new", ...of }])(
    "S02 an event of an unknown type changes nothing: %j",
    (frame) => {
      expect(read(responsesDecoder, [frame]).events).toEqual([]);
      expect(read(responsesDecoder, [...whole, frame]).state).toEqual(read(responsesDecoder, whole).state);
    },
  );
});
