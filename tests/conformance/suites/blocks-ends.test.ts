/** Tests how a turn ends in the `blocks` dialect: stopped by the user, failed, or waiting for a form or payment. */
import { blocks } from "../support/codecs.ts";
import { listBlocks, toolItem } from "@turnstream/protocol";
import { TURN_ERROR_CODES, type TurnErrorCode } from "@turnstream/protocol/writer";
import type { BlocksFrame } from "@turnstream/protocol/blocks";
import { describe, expect, test } from "vitest";
import { BlocksClient } from "../clients/blocks-client.ts";
import { LogWriter } from "../support/log-writer.ts";
import { bareFramesOf, framesOf, read, turnOf } from "./frames.ts";

/** One entry per frame that starts or ends something, in order. */
function order(frames: readonly BlocksFrame[]): string[] {
  return frames.flatMap((frame) => {
    if (frame.type === "content_block_delta" || frame.type === "content_block_stop") return [];
    if (frame.type !== "content_block_start") return [frame.type];
    const { content_block: block } = frame;
    return [block.type === "tool_result" ? `${block.type} ${block.status}` : block.type];
  });
}

/** Two running calls in a group, cut short. */
function cutShort(): LogWriter {
  const log = new LogWriter().session().begin("Compare").openGroup();
  const calls = ["toolu_a", "toolu_b"].map((call) => log.call("find_train", [], { call }));
  const places = calls.map((call) => log.startResult(call, "find_train"));
  for (const on of places) log.endResult(on, "", { status: "cancelled" });
  return log.closeGroup("Stopped while comparing");
}

const atTheEnd = [
  "tool_result cancelled",
  "tool_result cancelled",
  "group_end",
  "text",
  "message_delta",
  "message_stop",
];

function stopped(): LogWriter {
  const log = cutShort();
  log.add({ type: "notice.stopped", ...log.place(), text: "You stopped this answer.", by: "usr_an" });
  return log.end("user_stopped");
}

const notice = (log: LogWriter) => () =>
  log.add({ type: "notice.stopped", ...log.place(), text: "Stopped." });

describe("a stop", () => {
  test("W02 W10 sends cancelled results, group_end, terminal block, message_delta, message_stop", () => {
    expect(order(framesOf(blocks, stopped())).slice(-6)).toEqual(atTheEnd);
  });

  test("W02 W10 has a text block whose delta carries the subtype", () => {
    const log = stopped();
    const at = { message_id: log.turn, index: 6 };
    const content_block = {
      type: "text",
      text: "",
      subagent: null,
      parent_tool_use_id: null,
      is_part: false,
    };
    const extras = { block_subtype: "user_stopped" };
    expect(bareFramesOf(blocks, log).slice(-5)).toEqual([
      { type: "content_block_start", ...at, content_block },
      {
        type: "content_block_delta",
        ...at,
        delta: { type: "text_delta", text: "You stopped this answer.", extras },
      },
      { type: "content_block_stop", ...at },
      { type: "message_delta", message_id: log.turn, delta: { stop_reason: "user_stopped" } },
      { type: "message_stop", message_id: log.turn, duration_ms: 2840 },
    ]);
  });

  test("W10 gives a plain client a terminal_user_stopped block", () => {
    const client = new BlocksClient();
    for (const frame of framesOf(blocks, stopped())) client.handle({ ...frame });
    expect(client.problems).toEqual([]);
    const [message] = Object.values(client.display());
    expect(message?.items.at(-1)).toMatchObject({ type: "terminal_user_stopped" });
    expect(message?.streaming).toBe(false);
  });

  test("W02 W10 is refused while a block or a group is open, or a call has no result", () => {
    const grouped = new LogWriter().session().begin("x").openGroup().think(["Hm."]);
    expect(notice(grouped)).toThrow("L22");
    const calling = new LogWriter().session().begin("x");
    calling.call("find_train", []);
    expect(notice(calling)).toThrow("L22");
    const writing = new LogWriter().session().begin("x");
    writing.add({ type: "text.start", ...writing.place(), part: false });
    expect(notice(writing)).toThrow("L22");
  });

  test("W10 a terminal block from any server ends all streaming marks immediately, before message_stop", () => {
    const { state } = read(blocks, [
      { type: "message_start", session_id: "s", timestamp: 1.5, display_mode: "agent", message_id: "m" },
      {
        type: "content_block_start",
        index: 0,
        content_block: { type: "tool_use", id: "c", name: "find_train", input: {} },
      },
      { type: "content_block_stop", index: 0 },
      { type: "content_block_start", index: 1, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 1, delta: { type: "text_delta", text: "The train" } },
      { type: "content_block_start", index: 2, content_block: { type: "text", text: "" } },
      {
        type: "content_block_delta",
        index: 2,
        delta: { type: "text_delta", text: "Stopped.", extras: { block_subtype: "user_stopped" } },
      },
    ]);
    const turn = turnOf(state);
    const dots = listBlocks(turn).flatMap((b) => (b.kind === "tool_call" ? [toolItem(turn, b).status] : []));
    const open = listBlocks(turn).filter((block) => block.end === null);
    expect({ dots, open: open.length }).toEqual({ dots: ["stopped"], open: 0 });
  });
});

function failed(code: TurnErrorCode = "LLM_ERROR"): LogWriter {
  const log = cutShort();
  const details = { error: "429 from the provider" };
  const error = { code, can_retry: true, error_type: "terminal", details } as const;
  log.add({ type: "notice.error", ...log.place(), text: "That did not work. Try again.", ...error });
  return log.end("error");
}

describe("an error", () => {
  test("W02 W11 sends frames in the same order as a stop", () => {
    expect(order(framesOf(blocks, failed())).slice(-6)).toEqual(atTheEnd);
  });

  test("W11 has the printed fields in its extras", () => {
    const log = failed();
    const frames = bareFramesOf(blocks, log);
    expect(frames.slice(-4)).toEqual([
      {
        type: "content_block_delta",
        message_id: log.turn,
        index: 6,
        delta: {
          type: "text_delta",
          text: "That did not work. Try again.",
          extras: {
            block_subtype: "error",
            code: "LLM_ERROR",
            can_retry: true,
            error_type: "terminal",
            details: { error: "429 from the provider" },
          },
        },
      },
      { type: "content_block_stop", message_id: log.turn, index: 6 },
      { type: "message_delta", message_id: log.turn, delta: { stop_reason: "error" } },
      { type: "message_stop", message_id: log.turn, duration_ms: 2840 },
    ]);
  });

  test("W11 gives a plain client a terminal_error block with its extras", () => {
    const client = new BlocksClient();
    for (const frame of framesOf(blocks, failed())) client.handle({ ...frame });
    const [message] = Object.values(client.display());
    expect(message?.items.at(-1)).toMatchObject({ type: "terminal_error", extras: { code: "LLM_ERROR" } });
  });

  test.each(TURN_ERROR_CODES)("W11 the code %s survives encode and decode", (code) => {
    const { state, problems } = read(blocks, framesOf(blocks, failed(code)));
    expect(problems).toEqual([]);
    expect(listBlocks(turnOf(state)).at(-1)).toMatchObject({
      kind: "notice",
      notice: "error",
      error: { code },
    });
  });

  test.each(["QUOTA_USED_UP", "toString", "__proto__", ""])(
    "W11 an unknown code of another server is a server error: %j",
    (code) => {
      const extras = { block_subtype: "error", code, can_retry: false, error_type: "terminal", details: {} };
      const { state, problems } = read(blocks, [
        { type: "message_start", session_id: "s", timestamp: 1, display_mode: "agent", message_id: "m" },
        { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
        { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "No.", extras } },
      ]);
      expect(problems).toEqual([]);
      expect(listBlocks(turnOf(state)).at(-1)).toMatchObject({ error: { code: "SERVER_ERROR" } });
    },
  );
});

describe("a turn that waits for a form or payment", () => {
  test("W02 ends with the stop reason requires_interaction and no terminal block", () => {
    const log = new LogWriter().session().begin("x");
    const schema = { id: "contact", title: "Contact", fields: [] };
    log.add({ type: "form.request", ...log.place(), form: "frm_1", schema });
    log.end("requires_interaction");
    expect(order(framesOf(blocks, log)).slice(-3)).toEqual(["form_request", "message_delta", "message_stop"]);
    expect(bareFramesOf(blocks, log).at(-2)).toEqual({
      type: "message_delta",
      message_id: log.turn,
      delta: { stop_reason: "requires_interaction" },
    });
  });
});
