/** Tests interactions and errors in the `responses` dialect, frame by frame. */
import { responses } from "../support/codecs.ts";
import { ERRORS } from "@turnstream/protocol";
import { TURN_ERROR_CODES } from "@turnstream/protocol/writer";
import { describe, expect, test } from "vitest";
import { LogWriter } from "../support/log-writer.ts";
import { decodeAll } from "../support/replay.ts";
import { bareFramesOf, framesOf } from "./frames.ts";

function startedLog(): LogWriter {
  return new LogWriter().session("cvg-shop", 12_345).begin("When do you open?");
}

const common = (log: LogWriter) => ({ response_id: log.turn, chat_id: 12_345 });

describe("interaction requests", () => {
  const schema = {
    id: "contact_form",
    title: "How to reach you",
    fields: [
      { name: "email", label: "Email", type: "shortText", required: true },
      { name: "note", label: "Note", type: "text", required: false },
    ],
  } as const;

  test("S07 a form has all fields of both printed shapes, and then the stream ends", () => {
    const log = startedLog();
    log.add({ type: "form.request", ...log.place(), form: "frm_1", schema });
    log.end("requires_interaction");
    expect(bareFramesOf(responses, log).slice(1)).toEqual([
      {
        type: "response.interaction_request",
        ...common(log),
        history_id: 1,
        conversation_group_id: "cvg-shop",
        interaction_type: "form",
        form_request_id: "frm_1",
        form_schema: schema,
      },
      { type: "[DONE]" },
    ]);
  });

  test("S03 S07 a request for a form is a step before it, although its call is hidden", () => {
    const log = startedLog();
    const tool = { call: "call_1", name: "request_form", label: "", hidden: true } as const;
    const asked = log.place();
    log.add({ type: "tool_call.start", ...asked, ...tool });
    log.add({ type: "tool_call.end", ...asked, input: schema });
    const result = log.place();
    log.add({ type: "tool_result.start", ...result, ...tool });
    log.endResult(result, "");
    log.add({ type: "form.request", ...log.place(), form: "frm_1", schema, call: tool.call });
    log.end("requires_interaction");
    const frames = bareFramesOf(responses, log).slice(1);
    expect(frames.map(({ type }) => type)).toEqual([
      "response.reasoning_step.start",
      "response.reasoning_step.end",
      "response.interaction_request",
      "[DONE]",
    ]);
    expect(frames[0]).toMatchObject({ step: { tool_name: "request_form", args: schema } });
    const { events } = decodeAll(responses, frames);
    expect(events.filter(({ type }) => type.startsWith("tool_"))).toMatchObject([
      { type: "tool_call.start", hidden: true },
      { type: "tool_call.end" },
      { type: "tool_result.start", hidden: true },
      { type: "tool_result.end" },
    ]);
  });

  const order = {
    payment: "pay_1",
    order_no: "SHOP0042",
    description: "Consultation",
    checkout_url: "https://pay.example/t",
  };

  test("S08 a payment is nested under payment, and then the stream ends", () => {
    const log = startedLog();
    log.add({ type: "payment.request", ...log.place(), ...order, amount: 1200, currency: "TWD" });
    log.end("requires_interaction");
    expect(bareFramesOf(responses, log).slice(1)).toEqual([
      {
        type: "response.interaction_request",
        ...common(log),
        history_id: 1,
        conversation_group_id: "cvg-shop",
        interaction_type: "payment",
        payment: {
          payment_request_id: "pay_1",
          checkout_url: "https://pay.example/t",
          merchant_order_no: "SHOP0042",
          amount_twd: 1200,
          amount: 1200,
          currency: "TWD",
          status: "pending",
          item_desc: "Consultation",
        },
      },
      { type: "[DONE]" },
    ]);
  });

  test("S08 amount_twd is null for an amount in another currency", () => {
    const log = startedLog();
    log.add({ type: "payment.request", ...log.place(), ...order, amount: 990, currency: "EUR" });
    const request = framesOf(responses, log).at(-1);
    expect(request).toMatchObject({ payment: { amount_twd: null, amount: 990, currency: "EUR" } });
  });

  test("S07 an approval and a question are requests of our own, and their outcome is sent", () => {
    const log = startedLog();
    const call = log.call("http_request", ['{"url":"https://shop.example"}'], { call: "step_1" });
    const on = log.place();
    const actions = [{ name: "http_request", input: { url: "https://shop.example" } }];
    log.add({
      type: "approval.request",
      ...on,
      key: "cvg-shop_1",
      call,
      actions,
      editable: true,
      timeout_seconds: 300,
    });
    log.add({ type: "approval.update", ...on, version: 1, status: "rejected", reason: "not now" });
    log.result(call, "http_request", "refused", { status: "error" });
    const asked = log.place();
    const questions = [{ id: "q", text: "Which day?", options: [], multiple: false, free_text: true }];
    log.add({ type: "question.request", ...asked, key: "cvg-shop_2", call: "step_2", questions });
    const frames = bareFramesOf(responses, log).filter((frame) =>
      frame.type.startsWith("response.interaction"),
    );
    const request = {
      type: "response.interaction_request",
      ...common(log),
      history_id: 1,
      conversation_group_id: "cvg-shop",
    };
    expect(frames).toEqual([
      {
        ...request,
        interaction_type: "approval",
        approval_key: "cvg-shop_1",
        action_requests: [{ name: "http_request", args: { url: "https://shop.example" } }],
        review_configs: [{ require_approval: true, allow_edit: true }],
        timeout_seconds: 300,
        deadline: null,
        tool_use_id: "step_1",
      },
      {
        type: "response.interaction_update",
        ...common(log),
        interaction_type: "approval",
        interaction_id: "cvg-shop_1",
        status: "rejected",
        version: 1,
        reason: "not now",
      },
      {
        ...request,
        interaction_type: "question",
        approval_key: "cvg-shop_2",
        action_requests: [{ name: "ask_user_question", args: { questions } }],
        review_configs: [{ require_approval: false }],
        timeout_seconds: null,
        deadline: null,
        tool_use_id: "step_2",
      },
    ]);
  });
});

describe("errors", () => {
  test.each(TURN_ERROR_CODES)("S09 %s has its message and its number, then [DONE] follows", (code) => {
    const log = startedLog();
    const error = { code, can_retry: ERRORS[code].can_retry, error_type: "terminal" } as const;
    log.add({ type: "notice.error", ...log.place(), text: "That did not work.", ...error });
    log.end("error");
    expect(bareFramesOf(responses, log).slice(1)).toEqual([
      {
        type: "response.error",
        ...common(log),
        message: "That did not work.",
        code: ERRORS[code].number,
        error: code,
        can_retry: ERRORS[code].can_retry,
      },
      { type: "[DONE]" },
    ]);
  });
});
