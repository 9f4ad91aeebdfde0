/**
 * Tests the `blocks` decoder with frames as the source document prints them: its field names and omissions, our own
 * data.
 */
import { fold, findTurn, viewTurn } from "@turnstream/protocol";
import { blocksDecoder } from "../src/blocks/decode.ts";
import { describe, expect, test } from "vitest";
import { blocksIn, read, pick, turnOf } from "@turnstream/conformance/suites/frames.ts";
import { block, delta, start, stop } from "@turnstream/conformance/suites/printed-blocks.ts";

/** A complete turn as printed: no `message_id` inside, no authors, no `is_new_session_from_share`. */
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

describe("a complete printed turn", () => {
  test("W01 W02 W03 W04 W05 W06 W07 folds to its content", () => {
    const { state, problems } = read(blocksDecoder, wholeTurn);
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
    expect(
      pick(viewTurn(turnOf(read(blocksDecoder, wholeTurn).state)), "type", "status", "resultText"),
    ).toEqual([
      { type: "block" },
      { type: "tool", status: "done", resultText: "high at 05:10" },
      { type: "block" },
    ]);
  });

  test("H03 the decoder's events fold to the decoder's state, one by one", () => {
    const { state, events } = read(blocksDecoder, wholeTurn);
    const [first, ...rest] = events;
    expect(first?.type).toBe("session.start");
    let folded = read(blocksDecoder, []).state;
    for (const event of [first, ...rest]) if (event !== undefined) folded = fold(folded, event);
    expect(folded).toEqual(state);
  });
});

describe("printed terminal blocks, files and approvals", () => {
  test("W10 a stop becomes a notice, and the turn ends as user_stopped", () => {
    const { state, problems } = read(blocksDecoder, [
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

  test.each([
    ["user_stopped", "user_stopped"],
    ["error", "error"],
  ])(
    "W02 W10 W11 a %s block sets how the turn ended, because the document has only the stop_reason end_turn",
    (subtype, status) => {
      const extras = {
        block_subtype: subtype,
        code: "LLM_ERROR",
        can_retry: true,
        error_type: "terminal",
        details: {},
      };
      const { state } = read(blocksDecoder, [
        start,
        block(4, { type: "text", text: "" }),
        delta(4, { type: "text_delta", text: "Over.", extras }),
        stop(4),
        { type: "message_delta", delta: { stop_reason: "end_turn" } },
        { type: "message_stop", duration_ms: 10, message_id: "msg-1" },
      ]);
      expect(turnOf(state).status).toBe(status);
    },
  );

  test("W02 an undefined stop_reason ends the turn normally", () => {
    const { state, problems } = read(blocksDecoder, [
      start,
      { type: "message_delta", delta: { stop_reason: "max_tokens" } },
      { type: "message_stop", duration_ms: 10, message_id: "msg-1" },
    ]);
    expect(problems).toEqual([]);
    expect(turnOf(state).status).toBe("end_turn");
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
    const { state, problems } = read(blocksDecoder, [
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
    const { state, problems } = read(blocksDecoder, [
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

  test("W13 approval_request becomes an approval of the waiting call", () => {
    const { state, problems } = read(blocksDecoder, [
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

describe("unknown input", () => {
  test.each([
    { type: "ack", request_id: "r1" },
    { type: "subscribed", session_id: "ses-9", resumed: true, reason: "fresh" },
    { type: "error", code: "BAD_REQUEST", number: 10006, message: "no", can_retry: false },
    { type: "something_new", index: 3 },
  ])("W01 W16 a frame that is not agent output changes nothing: %j", (frame) => {
    expect(read(blocksDecoder, [frame]).events).toEqual([]);
    const before = read(blocksDecoder, wholeTurn).state;
    expect(read(blocksDecoder, [...wholeTurn, frame]).state).toEqual(before);
  });

  test("W03 a block of an unknown kind is ignored, with its deltas and its stop", () => {
    const unknown = [
      block(7, { type: "hologram", beam: 1 }),
      delta(7, { type: "beam_delta", beam: 2 }),
      stop(7),
    ];
    const before = wholeTurn.slice(0, 5);
    expect(blocksIn(read(blocksDecoder, [...before, ...unknown]).state)).toEqual(
      blocksIn(read(blocksDecoder, before).state),
    );
  });

  test("H03 a client that attaches during a turn, without message_start, folds the frames that it receives", () => {
    const frames = wholeTurn.slice(9, 13).map((frame) => ({ ...frame, message_id: "msg-1" }));
    const { state, problems } = read(blocksDecoder, frames);
    expect(problems).toEqual([]);
    expect(blocksIn(state)).toMatchObject([{ kind: "text", text: "High water is at **05:10**." }]);
  });
});
