/**
 * The `blocks` decoder on frames as 000, 003 and 004 print them: their field names and what they leave out,
 * with data of our own.
 */
import { fold, findTurn, viewTurn } from "@turnstream/protocol";
import { blocks } from "@turnstream/protocol/blocks";
import { describe, expect, test } from "vitest";
import { blocksIn, read, pick, turnOf } from "./frames.ts";

const start = {
  type: "message_start",
  session_id: "ses-9",
  timestamp: 1_710_000_000.0,
  display_mode: "agent",
  message_id: "msg-1",
};
const block = (index: number, content_block: object) => ({
  type: "content_block_start",
  index,
  content_block,
});
const delta = (index: number, inner: object) => ({ type: "content_block_delta", index, delta: inner });
const stop = (index: number, more: object = {}) => ({ type: "content_block_stop", index, ...more });

/** 000's whole turn: no `message_id` inside, no authors, no `is_new_session_from_share`. */
const wholeTurn = [
  start,
  block(0, { type: "thinking", thinking: "" }),
  delta(0, { type: "thinking_delta", thinking: "Look at the " }),
  delta(0, { type: "thinking_delta", thinking: "tide table." }),
  stop(0),
  block(1, {
    type: "tool_use",
    id: "toolu_01",
    name: "get_tide",
    tool_use_id: "toolu_01",
    tool_content_message: "Reading the tide table",
    input: { port: "Hai Phong" },
  }),
  stop(1),
  block(2, {
    type: "tool_result",
    tool_use_id: "toolu_01",
    name: "get_tide",
    status: "success",
    content: "high at 05:10",
  }),
  stop(2),
  block(3, { type: "text", text: "" }),
  delta(3, { type: "text_delta", text: "High water is " }),
  delta(3, { type: "text_delta", text: "at **05:10**." }),
  stop(3, { is_final: true }),
  { type: "message_delta", delta: { stop_reason: "end_turn" } },
  { type: "message_stop", duration_ms: 2840, message_id: "msg-1" },
];

describe("a whole turn of 000", () => {
  test("W01 W02 W03 W04 W05 W06 W07 folds to what it says", () => {
    const { state, problems } = read(blocks, wholeTurn);
    expect(problems).toEqual([]);
    expect(state).toMatchObject({ session: "ses-9" });
    const turn = findTurn(state, "msg-1");
    expect(turn).toMatchObject({
      started_at: 1_710_000_000_000,
      mode: "agent",
      from_share: false,
      status: "end_turn",
      duration_ms: 2840,
    });
    expect(blocksIn(state)).toMatchObject([
      { kind: "thinking", text: "Look at the tide table." },
      {
        kind: "tool_call",
        call: "toolu_01",
        name: "get_tide",
        label: "Reading the tide table",
        input: { port: "Hai Phong" },
      },
      {
        kind: "tool_result",
        call: "toolu_01",
        name: "get_tide",
        status: "success",
        preview: "high at 05:10",
        artifact: null,
      },
      { kind: "text", text: "High water is at **05:10**.", part: false, final: true },
    ]);
  });

  test("U01 shows call and result as one item", () => {
    expect(pick(viewTurn(turnOf(read(blocks, wholeTurn).state)), "type", "dot", "toolResult")).toEqual([
      { type: "block" },
      { type: "tool", dot: "done", toolResult: "high at 05:10" },
      { type: "block" },
    ]);
  });

  test("H03 the decoder's events fold to the decoder's state, one by one", () => {
    const { state, events } = read(blocks, wholeTurn);
    const [first, ...rest] = events;
    expect(first?.type).toBe("session.start");
    let folded = read(blocks, []).state;
    for (const event of [first, ...rest]) if (event !== undefined) folded = fold(folded, event);
    expect(folded).toEqual(state);
  });
});

describe("tool blocks of 003", () => {
  const call = block(2, {
    type: "tool_use",
    id: "toolu_02",
    name: "get_tide",
    input: { port: "Vung Tau" },
    tool_content_message: "Reading the tide table",
  });
  const result = (more: object) =>
    block(3, {
      type: "tool_result",
      tool_use_id: "toolu_02",
      tool_name: "get_tide",
      artifact: null,
      ...more,
    });

  test.each([
    [{ content: "high at 02:40", status: "success" }, "done", false],
    [{ content: "Error: no such port", status: "error" }, "error", true],
    [{ content: "", status: "cancelled" }, "error", true],
  ])("W07 U01 U02 a result %j", (more, dot, toolResultError) => {
    const { state, problems } = read(blocks, [start, call, stop(2), result(more), stop(3)]);
    expect(problems).toEqual([]);
    const toolResult = more.content;
    expect(viewTurn(turnOf(state))).toMatchObject([{ type: "tool", dot, toolResult, toolResultError }]);
  });

  test.each(["name", "tool_name"])(
    "W07 takes the tool's name from %s when it has not seen the call",
    (field) => {
      const orphan = {
        type: "tool_result",
        tool_use_id: "toolu_x",
        [field]: "get_tide",
        status: "success",
        content: "ok",
      };
      const { state, problems } = read(blocks, [start, block(0, orphan), stop(0)]);
      expect(problems).toEqual([]);
      expect(blocksIn(state)).toMatchObject([{ kind: "tool_result", name: "get_tide" }]);
    },
  );

  test("W07 an artifact comes along", () => {
    const artifact = { type: "chart", data: { labels: ["Mon", "Tue"], values: [3.1, 3.4] } };
    const { state } = read(blocks, [
      start,
      call,
      stop(2),
      result({ content: "drawn", status: "success", artifact }),
      stop(3),
    ]);
    expect(viewTurn(turnOf(state))).toMatchObject([{ artifact }]);
  });

  test("W08 parallel results find their calls by tool_use_id, in any order and without a name", () => {
    const use = (index: number, id: string) =>
      block(index, { type: "tool_use", id, name: "get_tide", input: { port: id } });
    const done = (index: number, id: string) =>
      block(index, { type: "tool_result", tool_use_id: id, content: `tide of ${id}`, status: "success" });
    const frames = [
      start,
      use(1, "a"),
      stop(1),
      use(2, "b"),
      stop(2),
      done(3, "b"),
      stop(3),
      done(4, "a"),
      stop(4),
    ];
    const { state, problems } = read(blocks, frames);
    expect(problems).toEqual([]);
    expect(pick(viewTurn(turnOf(state)), "input", "toolResult")).toEqual([
      { input: { port: "a" }, toolResult: "tide of a" },
      { input: { port: "b" }, toolResult: "tide of b" },
    ]);
  });
});

describe("groups of 004", () => {
  const tool = (index: number, id: string, name: string) => [
    block(index, { type: "tool_use", id, name, input: {}, tool_content_message: `Label of ${name}` }),
    stop(index),
  ];
  const done = (index: number, id: string) => [
    block(index, { type: "tool_result", tool_use_id: id, content: "ok", status: "success" }),
    stop(index),
  ];

  test("W14 markers group what stands between them, under the summary", () => {
    const { state, problems } = read(blocks, [
      start,
      { type: "group_start", index: 5, message_id: "msg-1" },
      ...tool(6, "a", "write_todos"),
      ...tool(7, "b", "web_search"),
      ...done(8, "a"),
      ...done(9, "b"),
      { type: "group_end", index: 10, summary: "Looked for tides", message_id: "msg-1" },
    ]);
    expect(problems).toEqual([]);
    expect(viewTurn(turnOf(state))).toMatchObject([
      { type: "group", open: false, header: "Looked for tides", items: [{ dot: "done" }, { dot: "done" }] },
    ]);
  });

  test("W14 a text that is not a part, or a new group, ends a group whose end is missing", () => {
    const { state } = read(blocks, [
      start,
      { type: "group_start", index: 0 },
      ...tool(1, "a", "web_search"),
      { type: "group_start", index: 2 },
      ...tool(3, "b", "get_tide"),
      block(4, { type: "text", text: "" }),
      delta(4, { type: "text_delta", text: "So." }),
    ]);
    expect(viewTurn(turnOf(state))).toMatchObject([
      { type: "group", open: false, header: "Label of web_search", items: [{}] },
      { type: "group", open: false, header: "Label of get_tide", items: [{}] },
      { type: "block", block: { text: "So." } },
    ]);
  });

  test("W09 W14 a sub-agent's blocks stand inside its call, and its text in the group", () => {
    const author = { subagent: "tides", parent_tool_use_id: "a" };
    const { state, problems } = read(blocks, [
      start,
      { type: "group_start", index: 0 },
      ...tool(1, "a", "ask_tides"),
      block(2, { type: "text", text: "", is_part: true, ...author }),
      delta(2, { type: "text_delta", text: "High at five." }),
      stop(2),
      ...done(3, "a"),
      { type: "group_end", index: 4, summary: "Asked" },
    ]);
    expect(problems).toEqual([]);
    const [group] = viewTurn(turnOf(state));
    expect(group).toMatchObject({
      type: "group",
      items: [{ type: "tool", run: { agent: "tides", call: "a" } }],
    });
    expect(blocksIn(state).find((b) => b.kind === "text")).toMatchObject({
      text: "High at five.",
      part: true,
    });
  });
});

describe("terminal blocks, files and approvals of 000", () => {
  test("W10 a stop becomes a notice and the turn user_stopped", () => {
    const { state, problems } = read(blocks, [
      start,
      block(4, { type: "text", text: "" }),
      delta(4, { type: "text_delta", text: "You stopped it.", extras: { block_subtype: "user_stopped" } }),
      stop(4),
      { type: "message_delta", delta: { stop_reason: "user_stopped" } },
      { type: "message_stop", duration_ms: 10, message_id: "msg-1" },
    ]);
    expect(problems).toEqual([]);
    expect(turnOf(state).status).toBe("user_stopped");
    expect(blocksIn(state)).toMatchObject([{ kind: "notice", notice: "stopped", text: "You stopped it." }]);
  });

  test("W11 an error becomes a notice with code, retry, type and details", () => {
    const details = { error: "over quota" };
    const extras = {
      block_subtype: "error",
      code: "LLM_ERROR",
      can_retry: true,
      error_type: "terminal",
      details,
    };
    const { state, problems } = read(blocks, [
      start,
      block(4, { type: "text", text: "" }),
      delta(4, { type: "text_delta", text: "It failed.", extras }),
      stop(4),
    ]);
    expect(problems).toEqual([]);
    const error = { code: "LLM_ERROR", can_retry: true, error_type: "terminal", details };
    expect(blocksIn(state)).toMatchObject([{ kind: "notice", notice: "error", text: "It failed.", error }]);
  });

  test("W12 file_processing becomes a files block", () => {
    const { state, problems } = read(blocks, [
      start,
      block(0, {
        type: "file_processing",
        status: "processing",
        files: [{ url: "https://files.example/tides.pdf" }],
      }),
      delta(0, { status: "completed", message: "Read 1 file" }),
      stop(0),
    ]);
    expect(problems).toEqual([]);
    expect(blocksIn(state)).toMatchObject([
      {
        kind: "files",
        status: "completed",
        message: "Read 1 file",
        files: [{ url: "https://files.example/tides.pdf" }],
      },
    ]);
  });

  test("W13 approval_request becomes an approval of the call that waits", () => {
    const { state, problems } = read(blocks, [
      start,
      block(4, { type: "tool_use", id: "toolu_3", name: "book_berth", input: { length: 12 } }),
      stop(4),
      block(5, { type: "approval_request", approval_key: "ses-9_1" }),
      delta(5, {
        action_requests: [{ name: "book_berth", args: { length: 12 } }],
        review_configs: [{ require_approval: true }],
        timeout_seconds: 300,
      }),
      stop(5),
    ]);
    expect(problems).toEqual([]);
    expect(blocksIn(state).at(-1)).toMatchObject({
      kind: "approval",
      key: "ses-9_1",
      call: "toolu_3",
      actions: [{ name: "book_berth", input: { length: 12 } }],
      timeout_seconds: 300,
      status: "pending",
    });
  });
});

describe("what a decoder does not know", () => {
  test.each([
    { type: "ack", request_id: "r1" },
    { type: "subscribed", session_id: "ses-9", resumed: true, reason: "fresh" },
    { type: "error", code: "BAD_REQUEST", number: 10006, message: "no", can_retry: false },
    { type: "something_new", index: 3 },
  ])("W01 W16 a frame that is no agent output changes nothing: %j", (frame) => {
    expect(read(blocks, [frame]).events).toEqual([]);
    const before = read(blocks, wholeTurn).state;
    expect(read(blocks, [...wholeTurn, frame]).state).toEqual(before);
  });

  test("W03 a block of an unknown kind is passed over, with its deltas and its stop", () => {
    const unknown = [
      block(7, { type: "hologram", beam: 1 }),
      delta(7, { type: "beam_delta", beam: 2 }),
      stop(7),
    ];
    const shown = (frames: object[]) => blocksIn(read(blocks, frames).state);
    expect(shown([...wholeTurn.slice(0, 5), ...unknown])).toEqual(shown(wholeTurn.slice(0, 5)));
  });

  test("H03 a client that attaches in mid-turn, without message_start, folds what it gets", () => {
    const frames = wholeTurn.slice(9, 13).map((frame) => ({ ...frame, message_id: "msg-1" }));
    const { state, problems } = read(blocks, frames);
    expect(problems).toEqual([]);
    expect(blocksIn(state)).toMatchObject([{ kind: "text", text: "High water is at **05:10**." }]);
  });
});
