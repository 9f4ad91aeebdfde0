/** Tests the `blocks` dialect frame by frame: the frames around a turn, thinking and text. */
import { emptyState, SCHEMA_VERSION } from "@turnstream/protocol";
import { checkEvent } from "@turnstream/protocol/writer";
import { blocks, toHistory } from "@turnstream/protocol/blocks";
import { blocksFrameSchema } from "@turnstream/protocol/schema";
import { describe, expect, test } from "vitest";
import { LogWriter } from "../support/log-writer.ts";
import { framesFrom, statesOf } from "../support/replay.ts";
import { bareFramesOf, framesOf } from "./frames.ts";

const noAgent = { subagent: null, parent_tool_use_id: null };

/** A turn with one call, like the complete example of the source document. */
function trainTurn(mode: "agent" | "chat" = "agent"): LogWriter {
  const log = new LogWriter().session("ses_rail").begin("When does the next train to Hue leave?", { mode });
  log.think(["The timetable ", "will show."]);
  const args = ['{"to":', '"Hue"}'];
  const call = log.call("find_train", args, { label: "Looking up trains to Hue", call: "toolu_7" });
  log.result(call, "find_train", "SE3, 19:20, platform 2");
  return log.text(["**SE3** leaves ", "at 19:20."], { final: true }).end();
}

describe("a complete turn", () => {
  test("W01 W02 W03 W04 W05 W06 W07 has the printed frames in the printed order", () => {
    const log = trainTurn();
    const message_id = log.turn;
    const at = (index: number) => ({ message_id, index });
    expect(bareFramesOf(blocks, log)).toEqual([
      {
        type: "user_message",
        user_message_id: "msg_1",
        text: "When does the next train to Hue leave?",
        content_urls: [],
      },
      {
        type: "message_start",
        session_id: "ses_rail",
        timestamp: 1_800_000_000.12,
        display_mode: "agent",
        is_new_session_from_share: false,
        user_message_id: "msg_1",
        message_id,
      },
      {
        type: "content_block_start",
        ...at(0),
        content_block: { type: "thinking", thinking: "", ...noAgent },
      },
      {
        type: "content_block_delta",
        ...at(0),
        delta: { type: "thinking_delta", thinking: "The timetable " },
      },
      { type: "content_block_delta", ...at(0), delta: { type: "thinking_delta", thinking: "will show." } },
      { type: "content_block_stop", ...at(0) },
      {
        type: "content_block_start",
        ...at(1),
        content_block: {
          type: "tool_use",
          id: "toolu_7",
          name: "find_train",
          tool_use_id: "toolu_7",
          tool_content_message: "Looking up trains to Hue",
          input: { to: "Hue" },
          ...noAgent,
        },
      },
      { type: "content_block_stop", ...at(1) },
      {
        type: "content_block_start",
        ...at(2),
        content_block: {
          type: "tool_result",
          tool_use_id: "toolu_7",
          name: "find_train",
          tool_name: "find_train",
          status: "success",
          content: "SE3, 19:20, platform 2",
          artifact: null,
          tool_content_message: "Find train",
          ...noAgent,
        },
      },
      { type: "content_block_stop", ...at(2) },
      {
        type: "content_block_start",
        ...at(3),
        content_block: { type: "text", text: "", ...noAgent, is_part: false },
      },
      { type: "content_block_delta", ...at(3), delta: { type: "text_delta", text: "**SE3** leaves " } },
      { type: "content_block_delta", ...at(3), delta: { type: "text_delta", text: "at 19:20." } },
      { type: "content_block_stop", ...at(3), is_final: true },
      { type: "message_delta", message_id, delta: { stop_reason: "end_turn" } },
      { type: "message_stop", message_id, duration_ms: 2840 },
    ]);
  });

  test("W01 every frame has a type, and every frame of the turn its message_id", () => {
    const frames = framesOf(blocks, trainTurn());
    const ofTurn = frames.filter((frame) => frame.type !== "user_message");
    for (const frame of frames) expect(frame.type).toMatch(/^[a-z_]+$/);
    expect(new Set(ofTurn.map((frame) => "message_id" in frame && frame.message_id))).toEqual(
      new Set(["turn_2"]),
    );
    for (const frame of frames) expect(blocksFrameSchema.safeParse(frame).error).toBeUndefined();
  });

  test("W01 a second turn of the session has another message_id", () => {
    const log = trainTurn().begin("And back?").text(["At 06:00."], { final: true }).end();
    const ids = framesOf(blocks, log).flatMap((f) => (f.type === "message_start" ? [f.message_id] : []));
    expect(ids).toHaveLength(2);
    expect(new Set(ids).size).toBe(2);
  });

  test("W17 message_start marks a session that was created from a share link", () => {
    const log = new LogWriter().session("ses_shared");
    log.add({ type: "message.add", message: "m", text: "Hello" });
    const turn = { turn: "t", number: 1, message: "m", message_number: 1, agent: "rail" };
    log.add({ type: "turn.start", ...turn, mode: "chat", from_share: true });
    expect(bareFramesOf(blocks, log).at(-1)).toEqual({
      type: "message_start",
      session_id: "ses_shared",
      timestamp: 1_800_000_000.12,
      display_mode: "chat",
      is_new_session_from_share: true,
      user_message_id: "m",
      message_id: "t",
    });
  });

  test("W03 the cursor is on the last frame of each event, and is the event's position", () => {
    const { events } = trainTurn();
    const states = statesOf(events);
    const perEvent = events.map((event, k) => framesFrom(blocks, states[k] ?? emptyState, [event]));
    const cursors = perEvent.map((frames) => frames.map((frame) => frame.event_id));
    const expected = perEvent.map((frames, k) =>
      frames.map((_, n) => (n === frames.length - 1 ? events[k]?.id : undefined)),
    );
    expect(cursors).toEqual(expected);
  });
});

describe("thinking", () => {
  test("W23 is not shown in chat mode, neither live nor in history", () => {
    const log = trainTurn("chat");
    const text = JSON.stringify([framesOf(blocks, log), toHistory(log.state)]);
    expect(text).not.toContain("thinking");
    expect(text).not.toContain("timetable");
    expect(text).toContain("SE3");
  });

  test("W04 equals the joined deltas, character by character", () => {
    const whole = "Một chuyến tàu 🚆 sớm?";
    const log = new LogWriter().session().begin("x").think(Array.from(whole));
    const deltas = framesOf(blocks, log).flatMap((frame) =>
      frame.type === "content_block_delta" && "thinking" in frame.delta ? [frame.delta.thinking] : [],
    );
    expect(deltas.join("")).toBe(whole);
    expect(deltas).toHaveLength(Array.from(whole).length);
  });
});

describe("text", () => {
  test("W05 marks a part on its start, and that it is not final on its stop", () => {
    const log = new LogWriter().session().begin("x").text(["One moment."], { part: true });
    const frames = bareFramesOf(blocks, log).slice(2);
    expect(frames).toEqual([
      {
        type: "content_block_start",
        message_id: log.turn,
        index: 0,
        content_block: { type: "text", text: "", ...noAgent, is_part: true },
      },
      {
        type: "content_block_delta",
        message_id: log.turn,
        index: 0,
        delta: { type: "text_delta", text: "One moment." },
      },
      { type: "content_block_stop", message_id: log.turn, index: 0, is_final: false },
    ]);
  });

  test("W05 no tool call follows a final text", () => {
    const log = new LogWriter().session().begin("x").text(["Done."], { final: true });
    const stamp = { v: SCHEMA_VERSION, id: `1-${log.state.seq + 1}`, at: 0 } as const;
    const call = {
      type: "tool_call.start",
      ...log.place(),
      call: "c",
      name: "find_train",
      label: "",
    } as const;
    expect(checkEvent(log.state, { ...stamp, ...call })?.rule).toBe("L14");
  });
});
