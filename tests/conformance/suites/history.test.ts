/** Tests history in the `blocks` dialect: flat messages, their markers, and pending interactions. */
import { restore, snapshot, restoreTurn } from "@turnstream/protocol";
import { turnSnapshot } from "@turnstream/protocol/writer";
import { toHistory, toHistoryMessages, type HistoryMessage } from "@turnstream/protocol/blocks";
import { describe, expect, test } from "vitest";
import { LogWriter } from "../support/log-writer.ts";
import { pick } from "./frames.ts";

const noAgent = { subagent: null, parent_tool_use_id: null };

/** The example of the source document: a shared thought, two calls in a group, the answer. */
function tideTurn(log = new LogWriter().session()): LogWriter {
  log.begin("Can we sail today?").text(["Let me look."], { part: true }).openGroup();
  log.call("write_todos", [], { call: "tc-1", label: "Making a plan" });
  log.call("get_tide", ['{"port":"Hue"}'], { call: "tc-2", label: "Reading the tide table" });
  const first = log.startResult("tc-1", "write_todos", { label: "Making a plan" });
  log.endResult(first, "3 steps");
  const second = log.startResult("tc-2", "get_tide", { label: "Reading the tide table" });
  log.endResult(second, "high at 05:10").closeGroup("Read the tides");
  return log.text(["Yes, before five."], { final: true }).end();
}

const outline = (messages: readonly HistoryMessage[]) =>
  pick(messages, "role", "message_type", "display_type", "summary", "group_closed");

describe("messages", () => {
  test("W05 H01 a text that a call follows is a part, and the text that a stop cut off is not", () => {
    const log = new LogWriter().session().begin("Can we sail?").text(["Let me look."]).openGroup();
    log.result(log.call("get_tide", []), "get_tide", "high").closeGroup("Tides");
    log.text(["Yes, bef"]);
    log.add({ type: "notice.stopped", ...log.place(), text: "stopped" });
    log.end("user_stopped");
    const texts = toHistory(log.state).messages.flatMap(({ role, content }) =>
      role === "assistant" ? content.map(({ text, is_part }) => [text, is_part]) : [],
    );
    expect(texts.slice(0, 2)).toEqual([
      ["Let me look.", true],
      ["Yes, bef", false],
    ]);
  });

  test("H01 W14 are flat, with the printed fields", () => {
    const log = tideTurn();
    const common = { message_id: log.turn, ...noAgent };
    expect(toHistory(log.state).messages).toEqual([
      {
        role: "user",
        message_id: log.turn,
        user_message_id: "msg_1",
        content: [{ type: "text", text: "Can we sail today?" }],
        display_type: "content",
      },
      {
        role: "assistant",
        message_type: "chat",
        ...common,
        content: [{ type: "text", text: "Let me look.", is_part: true, is_final: false }],
        display_type: "content",
      },
      {
        role: "assistant",
        message_type: "step",
        ...common,
        content: [],
        tool_calls: [{ id: "tc-1", name: "write_todos", tool_content_message: "Making a plan", input: {} }],
        display_type: "group_start",
        summary: "Read the tides",
      },
      {
        role: "assistant",
        message_type: "step",
        ...common,
        content: [],
        tool_calls: [
          {
            id: "tc-2",
            name: "get_tide",
            tool_content_message: "Reading the tide table",
            input: { port: "Hue" },
          },
        ],
        display_type: "group_item",
      },
      {
        role: "tool",
        ...common,
        tool_call_id: "tc-1",
        name: "write_todos",
        status: "success",
        tool_content_message: "Making a plan",
        content: [{ type: "text", text: "3 steps" }],
        artifact: null,
        display_type: "group_item",
      },
      {
        role: "tool",
        ...common,
        tool_call_id: "tc-2",
        name: "get_tide",
        status: "success",
        tool_content_message: "Reading the tide table",
        content: [{ type: "text", text: "high at 05:10" }],
        artifact: null,
        display_type: "group_end",
        summary: "Read the tides",
      },
      {
        role: "assistant",
        message_type: "step",
        ...common,
        content: [{ type: "text", text: "Yes, before five.", is_part: false, is_final: true }],
        display_type: "content",
      },
    ]);
  });

  test("H01 a single thinking block is a group that its own message closes", () => {
    const log = new LogWriter()
      .session()
      .begin("x")
      .openGroup()
      .think(["Hm, ", "tides."])
      .closeGroup("Thought");
    log.text(["Yes."], { final: true }).end();
    expect(toHistory(log.state).messages[1]).toEqual({
      role: "assistant",
      message_id: log.turn,
      message_type: "chat",
      ...noAgent,
      content: [{ type: "thinking", thinking: "Hm, tides." }],
      display_type: "group_start",
      summary: "Thought",
      group_closed: true,
    });
  });

  test("H01 have one kind of content each: text, thinking or one call", () => {
    const log = new LogWriter().session().begin("x").openGroup().think(["Hm."]);
    log
      .result(log.call("get_tide", []), "get_tide", "ok")
      .closeGroup("Read")
      .text(["Yes."], { final: true })
      .end();
    for (const message of toHistory(log.state).messages) {
      expect((message.tool_calls ?? []).length + message.content.length).toBe(1);
    }
  });

  test("H01 W09 a sub-agent's messages name it", () => {
    const log = new LogWriter().session().begin("x");
    const call = log.call("call_agent", [], { call: "tc-1" });
    const on = log.startResult(call, "call_agent");
    const run = log.startRun(call, "tides");
    log.text(["Five."], { part: true, run }).endRun(run).endResult(on, "Five.");
    expect(pick(toHistory(log.state).messages, "role", "subagent", "parent_tool_use_id")).toEqual([
      { role: "user" },
      { role: "assistant", ...noAgent },
      { role: "assistant", subagent: "tides", parent_tool_use_id: "tc-1" },
      { role: "tool", ...noAgent },
    ]);
  });

  test("H01 don't contain hidden calls and results", () => {
    const log = new LogWriter().session().begin("x");
    const on = log.place();
    log.add({ type: "tool_call.start", ...on, call: "c", name: "share_thought", label: "", hidden: true });
    log.add({ type: "tool_call.end", ...on, input: {} });
    log.text(["A thought."], { part: true });
    expect(outline(toHistory(log.state).messages)).toEqual([
      { role: "user", display_type: "content" },
      { role: "assistant", message_type: "chat", display_type: "content" },
    ]);
  });

  test("H01 U06 each turn has one chat message, its first by the assistant", () => {
    const log = tideTurn(tideTurn());
    const chats = toHistory(log.state).messages.filter((message) => message.message_type === "chat");
    expect(new Set(chats.map((message) => message.message_id)).size).toBe(2);
    expect(chats).toHaveLength(2);
    expect(chats.every((message) => message.role === "assistant")).toBe(true);
  });

  test("H01 a stopped turn has its terminal block, marked by its extras", () => {
    const log = new LogWriter().session().begin("x");
    log.add({ type: "notice.stopped", ...log.place(), text: "You stopped it." });
    log.end("user_stopped");
    expect(toHistory(log.state).messages.at(-1)?.content).toEqual([
      { type: "text", text: "You stopped it.", is_part: false, extras: { block_subtype: "user_stopped" } },
    ]);
  });

  test("H01 can be read backwards: the newest turns first, then older ones turn by turn", () => {
    const log = tideTurn(tideTurn(tideTurn()));
    const all = toHistory(log.state).messages;
    const window = restore(snapshot(log.state, 1));
    const older = log.state.turns
      .toArray()
      .slice(0, -1)
      .map((turn) => restoreTurn(turnSnapshot(turn)));
    expect(window.earlier).toBe(2);
    expect([...toHistoryMessages(older), ...toHistory(window).messages]).toEqual(all);
  });
});

/** The only assistant message of kind `type`. */
function partOf(log: LogWriter, type: string): Record<string, unknown> | undefined {
  const parts = toHistory(log.state).messages.flatMap((message) => message.content);
  return parts.find((part) => part.type === type);
}

describe("outcomes in history", () => {
  test("H01 H03 U04 a result has its count and the reference to its complete content, as in the stream", () => {
    const log = new LogWriter().session().begin("x");
    const on = log.startResult(log.call("web_search", []), "web_search");
    const whole = { blob: "blob_1", size: 90_000, media_type: "text/plain" };
    log.add({
      type: "tool_result.end",
      ...on,
      status: "success",
      preview: "ten",
      artifact: null,
      results: 10,
      whole,
    });
    expect(toHistory(log.state).messages.at(-1)).toMatchObject({ role: "tool", results: 10, whole });
  });

  test("H01 H03 an edited approval has its edited actions, as in the stream", () => {
    const log = new LogWriter().session().begin("x");
    const call = log.call("book_berth", ['{"length":12}']);
    const on = log.place();
    const actions = [{ name: "book_berth", input: { length: 12 } }];
    log.add({ type: "approval.request", ...on, key: "k", call, actions, editable: true });
    const instead = [{ name: "book_berth", input: { length: 10 } }];
    log.add({
      type: "approval.update",
      ...on,
      version: 1,
      status: "edited",
      actions: instead,
      reason: "too long",
    });
    const part = partOf(log, "approval_request");
    expect(part).toMatchObject({ status: "edited", reason: "too long" });
    expect(JSON.stringify(part)).toContain('{"length":10}');
  });

  test("H01 H03 an answered question has its answers, as in the stream", () => {
    const log = new LogWriter().session().begin("x");
    const questions = [{ id: "q", text: "When?", options: [], multiple: false, free_text: true }];
    const on = log.place();
    log.add({ type: "question.request", ...on, key: "k", call: "c", questions });
    const answers = [{ question: "q", selected: [], text: "at five" }];
    log.add({ type: "question.update", ...on, version: 1, status: "answered", answers });
    expect(partOf(log, "approval_request")).toMatchObject({ status: "answered", answers });
  });

  test("H01 H03 a submitted form has its values, as in the stream", () => {
    const log = new LogWriter().session().begin("x");
    const on = log.place();
    log.add({ type: "form.request", ...on, form: "f", schema: { id: "f", title: "Boat", fields: [] } });
    log.end("requires_interaction");
    log.add({ type: "form.update", ...on, version: 1, status: "submitted", values: { length: 10 } });
    expect(partOf(log, "form_request")).toMatchObject({ status: "submitted", values: { length: 10 } });
  });

  test("S08 H01 a payment has its order, title, amount, currency and current state", () => {
    const log = new LogWriter().session().begin("x");
    const on = log.place();
    const order = { payment: "p", order_no: "ORD-1", amount: 300, currency: "TWD", description: "Berth fee" };
    log.add({ type: "payment.request", ...on, ...order, checkout_url: "https://pay.example/1" });
    log.end("requires_interaction");
    log.add({ type: "payment.update", ...on, version: 1, status: "processing" });
    log.add({ type: "payment.update", ...on, version: 2, status: "succeeded" });
    expect(partOf(log, "payment_request")).toMatchObject({
      payment: {
        payment_request_id: "p",
        merchant_order_no: "ORD-1",
        item_desc: "Berth fee",
        amount_twd: 300,
        currency: "TWD",
        status: "succeeded",
      },
    });
  });
});
