/**
 * `DOCUMENT_000` has the examples of document 000: the frames around a turn, and each kind of block.
 * Invariant: fields that the document leaves out, such as `message_id` on most frames, are left out here too.
 */
import { blockDelta, blockStart, blockStop, type PrintedExample } from "./printed-example.ts";

const start = {
  type: "message_start",
  session_id: "harbour-7",
  timestamp: 1_720_000_000.5,
  display_mode: "agent",
  is_new_session_from_share: false,
  message_id: "turn-9",
};
const end = [
  { type: "message_delta", delta: { stop_reason: "end_turn" } },
  { type: "message_stop", duration_ms: 1240, message_id: "turn-9" },
];
const author = { subagent: null, parent_tool_use_id: null };

export const DOCUMENT_000: readonly PrintedExample[] = [
  {
    lines: "4-54",
    about: "a delta with `message_id`, and the frames around a turn",
    frames: [
      start,
      blockStart(1, { type: "text", text: "" }),
      blockDelta(1, { type: "text_delta", text: "The ferry is late." }, { message_id: "turn-9" }),
      blockStop(1),
      ...end,
    ],
    shows: [{ kind: "text", text: "The ferry is late." }],
  },
  {
    lines: "63-89",
    about: "thinking",
    frames: [
      start,
      blockStart(0, { type: "thinking", thinking: "", ...author }),
      blockDelta(0, { type: "thinking_delta", thinking: "Ask for the " }),
      blockDelta(0, { type: "thinking_delta", thinking: "timetable first." }),
      blockStop(0),
    ],
    shows: [{ kind: "thinking", text: "Ask for the timetable first." }],
  },
  {
    lines: "90-113",
    about: "text",
    frames: [
      start,
      blockStart(1, { type: "text", text: "", ...author, is_part: false }),
      blockDelta(1, { type: "text_delta", text: "Next ferry:\n\n" }),
      blockDelta(1, { type: "text_delta", text: "**14:20**" }),
      blockStop(1, { is_final: true }),
    ],
    shows: [{ kind: "text", text: "Next ferry:\n\n**14:20**", part: false, final: true }],
  },
  {
    lines: "114-176",
    about: "a call and its result",
    frames: [
      start,
      blockStart(2, {
        type: "tool_use",
        id: "call-a",
        name: "get_timetable",
        tool_use_id: "call-a",
        tool_content_message: "Reading the timetable",
        input: { pier: "North" },
        ...author,
      }),
      blockStop(2),
      blockStart(3, {
        type: "tool_result",
        tool_use_id: "call-a",
        name: "get_timetable",
        status: "success",
        content: "North pier\n14:20\n15:05",
        artifact: null,
        ...author,
      }),
      blockStop(3),
    ],
    shows: [
      { kind: "tool_call", call: "call-a", label: "Reading the timetable", input: { pier: "North" } },
      { kind: "tool_result", call: "call-a", status: "success", preview: "North pier\n14:20\n15:05" },
    ],
  },
  {
    lines: "177-201",
    about: "a stop by the user",
    frames: [
      start,
      blockStart(4, { type: "text", text: "" }),
      blockDelta(4, {
        type: "text_delta",
        text: "You ended this answer.",
        extras: { block_subtype: "user_stopped" },
      }),
      blockStop(4),
    ],
    shows: [{ kind: "notice", notice: "stopped", text: "You ended this answer." }],
  },
  {
    lines: "202-223",
    about: "an error",
    frames: [
      start,
      blockStart(4, { type: "text", text: "" }),
      blockDelta(4, {
        type: "text_delta",
        text: "The answer failed.",
        extras: {
          block_subtype: "error",
          code: "LLM_ERROR",
          can_retry: true,
          error_type: "terminal",
          details: { error: "Too many requests" },
        },
      }),
      blockStop(4),
    ],
    shows: [{ kind: "notice", notice: "error", text: "The answer failed.", error: { code: "LLM_ERROR" } }],
  },
  {
    lines: "224-253",
    about: "files",
    frames: [
      start,
      blockStart(0, {
        type: "file_processing",
        status: "processing",
        files: [{ url: "https://files.example/pier-map.pdf" }],
      }),
      blockDelta(0, { status: "completed", message: "Read one file" }),
      blockStop(0),
    ],
    shows: [{ kind: "files", status: "completed", message: "Read one file" }],
  },
  {
    lines: "254-286",
    about: "an approval",
    frames: [
      start,
      blockStart(5, { type: "approval_request", approval_key: "harbour-7_1" }),
      blockDelta(5, {
        action_requests: [{ name: "book_ferry", args: { pier: "North", tickets: 2 } }],
        review_configs: [{ require_approval: true }],
        timeout_seconds: 300,
      }),
    ],
    shows: [{ kind: "approval", key: "harbour-7_1", actions: [{ name: "book_ferry" }] }],
  },
  {
    lines: "287-301",
    about: "a complete turn",
    frames: [
      {
        type: "message_start",
        session_id: "harbour-7",
        timestamp: 1_720_000_001.5,
        display_mode: "agent",
        message_id: "turn-10",
      },
      blockStart(0, { type: "thinking", thinking: "" }),
      blockDelta(0, { type: "thinking_delta", thinking: "Look it up." }),
      blockStop(0),
      blockStart(1, {
        type: "tool_use",
        id: "call-b",
        name: "get_timetable",
        tool_use_id: "call-b",
        tool_content_message: "Reading the timetable",
        input: { pier: "South" },
      }),
      blockStop(1),
      blockStart(2, {
        type: "tool_result",
        tool_use_id: "call-b",
        name: "get_timetable",
        status: "success",
        content: "South pier: 16:40",
      }),
      blockStop(2),
      blockStart(3, { type: "text", text: "" }),
      blockDelta(3, { type: "text_delta", text: "It leaves at **16:40**." }),
      blockStop(3, { is_final: true }),
      { type: "message_delta", delta: { stop_reason: "end_turn" } },
      { type: "message_stop", duration_ms: 900, message_id: "turn-10" },
    ],
    shows: [
      { kind: "thinking", text: "Look it up." },
      { kind: "tool_call", call: "call-b", input: { pier: "South" } },
      { kind: "tool_result", call: "call-b", preview: "South pier: 16:40" },
      { kind: "text", text: "It leaves at **16:40**.", final: true },
    ],
  },
];
