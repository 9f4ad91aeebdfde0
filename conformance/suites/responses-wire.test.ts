/** The `responses` dialect as SSE text, the decoder on frames as 002 prints them, and the table of errors. */
import { createSseParser, errorWordOf, ERRORS, type SseMessage } from "@turnstream/protocol";
import { responses, responsesFromSse, responsesToSse } from "@turnstream/protocol/responses";
import { errorReply, postMessageReply, readPostMessage } from "@turnstream/protocol/schema";
import { describe, expect, test } from "vitest";
import { SseReader } from "../clients/sse-reader.ts";
import { LogWriter } from "../support/log-writer.ts";
import { blocksIn, framesOf, read, turnOf } from "./frames.ts";
import { everyEvent } from "./every-event.ts";

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

describe("on the wire", () => {
  test("S02 a frame is an event line, the cursor and one data line; the end is data alone", () => {
    const log = new LogWriter().session("cvg", 9).begin("x").text(["a\nb"], { final: true }).end();
    const text = framesOf(responses, log).map(responsesToSse).join("");
    const data = (value: object) => `data: ${JSON.stringify(value)}`;
    const common = { response_id: log.turn, chat_id: 9 };
    const usage = {
      total_prompt_tokens: 120,
      total_completion_tokens: 45,
      total_tokens: 165,
      total_calls: 2,
    };
    const made = {
      agent_id: "market",
      model: "scripted-1",
      conversation_group_id: "cvg",
      user_conversation_id: 1,
    };
    expect(text.split("\n")).toEqual([
      "event: response.created",
      "id: 1-3",
      data({ type: "response.created", ...common, ...made }),
      "",
      "event: response.output_text.delta",
      "id: 1-6",
      data({ type: "response.output_text.delta", ...common, delta: "a\nb" }),
      "",
      "event: response.output_text.completed",
      data({
        type: "response.output_text.completed",
        ...common,
        final_text: "a\nb",
        usage,
        stop_reason: "end_turn",
      }),
      "",
      "id: 1-9",
      "data: [DONE]",
      "",
      "",
    ]);
  });

  test("S02 S05 the reader that 002 prints understands it, whatever the text and wherever it is cut", () => {
    const pieces = ["line\r\nline", "\u2028 \u0000 🚆", "data: [DONE]\n\n", " end"];
    const log = new LogWriter().session("cvg", 9).begin("x").text(pieces, { final: true }).end();
    const text = framesOf(responses, log).map(responsesToSse).join("");
    for (const size of [1, 7, text.length]) {
      const reader = new SseReader();
      for (let at = 0; at < text.length; at += size) reader.push(text.slice(at, at + size));
      expect(reader).toMatchObject({
        output: pieces.join(""),
        final: pieces.join(""),
        done: true,
        problems: [],
      });
      expect(reader.cursor).toBe(log.events.at(-1)?.id);
    }
  });

  test("S02 frames come out of the text as they went in", () => {
    const frames = framesOf(responses, everyEvent());
    const back: unknown[] = [];
    const parser = createSseParser((message: SseMessage) => back.push(responsesFromSse(message)));
    parser.push(frames.map(responsesToSse).join(""));
    expect(back).toEqual(frames);
  });

  test.each(["", "not JSON", "[1]", "null", "3", '{"no":"type"}'])(
    "S02 data that is no frame is passed over: %j",
    (data) => {
      expect(responsesFromSse({ data })).toBeNull();
    },
  );
});

describe("the decoder on frames of 002", () => {
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

  test("S03 S04 S05 a whole response folds to what it says", () => {
    const { state, problems } = read(responses, whole);
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

  test("S05 final_text is authoritative: where it differs, it replaces the deltas", () => {
    const { state, problems } = read(responses, [created, delta("We ope"), completed("Closed today."), end]);
    expect(problems).toEqual([]);
    expect(blocksIn(state)).toMatchObject([{ kind: "text", text: "Closed today.", final: true }]);
  });

  const field = { name: "email", label: "Email" };

  test("S07 a form with interaction_type", () => {
    const form_schema = {
      id: "contact",
      title: "Contact",
      fields: [{ ...field, type: "shortText", required: true }],
    };
    const { state, problems } = read(responses, [
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
    const { state, problems } = read(responses, [
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

  test("S07 a payment", () => {
    const { state, problems } = read(responses, [
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
    const { state, problems } = read(responses, [
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

  test.each([{ type: "ping" }, { type: "response.something_new", ...of }])(
    "S02 an event of an unknown type changes nothing: %j",
    (frame) => {
      expect(read(responses, [frame]).events).toEqual([]);
      expect(read(responses, [...whole, frame]).state).toEqual(read(responses, whole).state);
    },
  );
});

describe("the table of errors", () => {
  test("S09 W11 gives every word a number of its own, and 002's numbers to 002's errors", () => {
    const numbers = Object.values(ERRORS).map(({ number }) => number);
    expect(new Set(numbers).size).toBe(numbers.length);
    expect(ERRORS.SERVER_ERROR.number).toBe(10_005);
    expect(ERRORS.BAD_REQUEST.number).toBe(10_006);
  });

  test("S09 W11 leads from the word to the number and back", () => {
    for (const [word, { number, meaning }] of Object.entries(ERRORS)) {
      expect(word).toMatch(/^[A-Z]+(_[A-Z]+)*$/);
      expect(errorWordOf(number)).toBe(word);
      expect(meaning).toMatch(/[.]$/);
    }
  });
});

describe("a posted message", () => {
  const good = { message: "Hello", stream: true, agent_id: "a-1" };

  test("S01 S06 has 002's fields; stream and include_tool_tags are false unless said", () => {
    expect(readPostMessage(JSON.stringify({ ...good, include_tool_tags: true }))).toEqual({
      ok: true,
      value: { ...good, include_tool_tags: true },
    });
    expect(readPostMessage('{"message":"Hello"}')).toEqual({
      ok: true,
      value: { message: "Hello", stream: false, include_tool_tags: false },
    });
  });

  test("S01 S07 goes on from a form with resume_form_request_id", () => {
    const body = { ...good, resume_form_request_id: "frm-1" };
    expect(readPostMessage(JSON.stringify(body))).toMatchObject({ ok: true, value: body });
  });

  test.each([
    "",
    "{",
    "[]",
    "null",
    '"Hello"',
    "{}",
    '{"message":""}',
    '{"message":7}',
    '{"message":"x","stream":"true"}',
    '{"message":"x","include_tool_tags":1}',
    '{"message":"x","agent_id":""}',
    '{"message":"x","extra":1}',
    JSON.stringify({ message: "x".repeat(1_000_001) }),
  ])("S01 S09 a bad body is a bad request with a reason: %.40s", (text) => {
    const read = readPostMessage(text);
    expect(read).toMatchObject({ ok: false, code: "BAD_REQUEST" });
    expect(read.ok ? "" : read.message).not.toBe("");
  });

  test("S01 is answered, when it is not streamed, with the same end state or with what a person must do", () => {
    const usage = tokens;
    const reply = { ...of, status: "completed", final_text: "We open at nine.", usage, interactions: [] };
    expect(postMessageReply.safeParse(reply).error).toBeUndefined();
    const log = new LogWriter().session("cvg", 4711).begin("x");
    log.add({
      type: "form.request",
      ...log.place(),
      form: "frm-1",
      schema: { id: "f", title: "F", fields: [] },
    });
    const interactions = framesOf(responses, log).slice(-1);
    const waiting = { ...reply, status: "requires_interaction", final_text: "", interactions };
    expect(postMessageReply.safeParse(waiting).error).toBeUndefined();
    const refused = { error: "BAD_REQUEST", code: 10_006, message: "No.", can_retry: false };
    expect(errorReply.safeParse(refused).error).toBeUndefined();
  });
});
