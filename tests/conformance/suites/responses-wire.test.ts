/** Tests the SSE text of the `responses` dialect, the body of its request, and the error table. */
import { createSseParser, errorCodeFromNumber, ERRORS, type SseMessage } from "@turnstream/protocol";
import { responses, responsesFromSse, responsesToSse } from "@turnstream/protocol/responses";
import { errorReply, postMessage } from "@turnstream/protocol/schema";
import { postMessageReply } from "../../../packages/protocol/src/commands/http.ts";
import { describe, expect, test } from "vitest";
import { SseReader } from "../clients/sse-reader.ts";
import { LogWriter } from "../support/log-writer.ts";
import { framesOf } from "./frames.ts";
import { everyEvent } from "./every-event.ts";

const dataLine = (value: object) => `data: ${JSON.stringify(value)}`;

describe("on the wire", () => {
  test("S02 a frame is an event line, the cursor and one data line; the end is data alone", () => {
    const log = new LogWriter().session("cvg", 9).begin("x").text(["a\nb"], { final: true }).end();
    const text = framesOf(responses, log).map(responsesToSse).join("");
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
      dataLine({ type: "response.created", ...common, ...made }),
      "",
      "event: response.output_text.delta",
      "id: 1-6",
      dataLine({ type: "response.output_text.delta", ...common, delta: "a\nb" }),
      "",
      "event: response.output_text.completed",
      dataLine({
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

  test("S02 S05 the printed reader parses it, for any text and any cut", () => {
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

  test("S02 frames survive formatting and parsing", () => {
    const frames = framesOf(responses, everyEvent());
    const back: unknown[] = [];
    const parser = createSseParser((message: SseMessage) => back.push(responsesFromSse(message)));
    parser.push(frames.map(responsesToSse).join(""));
    expect(back).toEqual(frames);
  });

  test.each(["", "not JSON", "[1]", "null", "3", '{"no":"type"}'])(
    "S02 data that is no frame is ignored: %j",
    (data) => {
      expect(responsesFromSse({ data })).toBeNull();
    },
  );
});

describe("the error table", () => {
  test("S09 W11 has a unique number for every code, and the printed numbers for the printed errors", () => {
    const numbers = Object.values(ERRORS).map(({ number }) => number);
    expect(new Set(numbers).size).toBe(numbers.length);
    expect(ERRORS.SERVER_ERROR.number).toBe(10_005);
    expect(ERRORS.BAD_REQUEST.number).toBe(10_006);
  });

  test("S09 W11 maps a code to its number and back", () => {
    for (const [word, { number, meaning }] of Object.entries(ERRORS)) {
      expect(word).toMatch(/^[A-Z]+(_[A-Z]+)*$/);
      expect(errorCodeFromNumber(number)).toBe(word);
      expect(meaning).toMatch(/[.]$/);
    }
  });
});

describe("a posted message", () => {
  const good = { message: "Hello", stream: true, agent_id: "a-1" };

  test("S01 S06 has the printed fields; stream and include_tool_tags are false by default", () => {
    expect(postMessage.safeParse({ ...good, include_tool_tags: true }).data).toEqual({
      ...good,
      include_tool_tags: true,
    });
    expect(postMessage.safeParse({ message: "Hello" }).data).toEqual({
      message: "Hello",
      stream: false,
      include_tool_tags: false,
    });
  });

  test("S01 S07 continues from a form with resume_form_request_id", () => {
    const body = { ...good, resume_form_request_id: "frm-1" };
    expect(postMessage.safeParse(body).data).toMatchObject(body);
    const filled = { ...body, message: "", form_values: { email: "an@example.org" } };
    expect(postMessage.safeParse(filled).data).toMatchObject(filled);
    const ofNone = { ...good, form_values: {} };
    expect(postMessage.safeParse(ofNone).success).toBe(false);
  });

  test.each([
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
  ])("S01 S09 an invalid body is rejected with a reason: %.40s", (text) => {
    const { error } = postMessage.safeParse(JSON.parse(text));
    expect(error?.issues[0]?.message).toMatch(/./);
  });

  test("S01 without streaming, returns the same end state or the pending interaction", () => {
    const usage = { total_prompt_tokens: 9, total_completion_tokens: 4, total_tokens: 13, total_calls: 1 };
    const of = { response_id: "res-1", chat_id: 4711 };
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
