/**
 * `DOCUMENT_004` has the examples of document 004: groups in the stream. `HISTORIES_004` has its pages of history.
 * Invariant: messages of history have no `message_id`, and those with calls or results have no `content`, as the
 * document prints them.
 */
import { blockDelta, blockStart, blockStop, type PrintedExample } from "./printed-example.ts";

const START = {
  type: "message_start",
  session_id: "harbour-7",
  timestamp: 1_720_000_000.25,
  display_mode: "agent",
  message_id: "turn-1",
};
const groupStart = (index: number): object => ({ type: "group_start", index, message_id: "turn-1" });
const groupEnd = (index: number, summary: string): object => ({
  type: "group_end",
  index,
  summary,
  message_id: "turn-1",
});
const use = (index: number, id: string, name: string, more: object = {}): object[] => [
  blockStart(index, { type: "tool_use", id, name, ...more }),
  blockStop(index),
];
const result = (index: number, tool_use_id: string, content = ""): object[] => [
  blockStart(index, { type: "tool_result", tool_use_id, content, status: "success" }),
  blockStop(index),
];
const approval = (index: number, name: string, args: object = {}): object[] => [
  blockStart(index, { type: "approval_request", approval_key: `harbour-7_${index}` }),
  blockDelta(index, { action_requests: [{ name, args }], review_configs: [{ require_approval: true }] }),
  blockStop(index),
];
const text = (index: number, content: string, more: object = {}): object[] => [
  blockStart(index, { type: "text", text: "", ...more }),
  blockDelta(index, { type: "text_delta", text: content }),
  blockStop(index),
];

/** The document prints no arguments of a question, so these are ours. */
const QUESTION = {
  id: "q1",
  text: "Which pier?",
  options: [
    { id: "o1", label: "North" },
    { id: "o2", label: "South" },
  ],
  multiple: false,
  free_text: true,
};

export const DOCUMENT_004: readonly PrintedExample[] = [
  {
    lines: "53-65",
    about: "text, a group and text",
    frames: [
      START,
      ...text(0, "One moment.", { is_part: true }),
      groupStart(1),
      ...use(2, "call-a", "get_timetable", { tool_content_message: "Reading the timetable" }),
      ...result(3, "call-a", "14:20"),
      groupEnd(4, "Timetable of today"),
      ...text(5, "It leaves at 14:20."),
    ],
    shows: [
      { kind: "text", text: "One moment.", part: true },
      { kind: "tool_call", call: "call-a" },
      { kind: "tool_result", call: "call-a", preview: "14:20" },
      { kind: "text", text: "It leaves at 14:20.", part: false },
    ],
  },
  {
    lines: "108-121",
    about: "a group whose results come in the order of the calls",
    frames: [
      START,
      groupStart(0),
      ...use(1, "call-a", "plan"),
      ...use(2, "call-b", "get_timetable"),
      ...result(3, "call-a"),
      ...result(4, "call-b"),
      groupEnd(5, "Timetable"),
    ],
    shows: [
      { kind: "tool_call", call: "call-a" },
      { kind: "tool_call", call: "call-b" },
      { kind: "tool_result", call: "call-a" },
      { kind: "tool_result", call: "call-b" },
    ],
  },
  {
    lines: "398-411",
    about: "a question between two groups",
    frames: [
      START,
      groupStart(0),
      ...use(1, "call-a", "plan"),
      ...result(2, "call-a"),
      groupEnd(3, "Plan"),
      ...approval(4, "ask_user_question", { questions: [QUESTION] }),
      groupStart(5),
      ...use(6, "call-b", "get_timetable"),
      ...result(7, "call-b"),
      groupEnd(8, "Timetable"),
    ],
    shows: [
      { kind: "tool_call", call: "call-a" },
      { kind: "tool_result", call: "call-a" },
      { kind: "question", key: "harbour-7_4" },
      { kind: "tool_call", call: "call-b" },
      { kind: "tool_result", call: "call-b" },
    ],
  },
  {
    lines: "421-429",
    about: "an approval inside its group",
    frames: [
      START,
      groupStart(0),
      ...use(1, "call-a", "book_ferry"),
      ...approval(2, "book_ferry"),
      { type: "approval_result", approval_key: "harbour-7_2", status: "approved" },
      ...result(3, "call-a", "booked"),
      groupEnd(4, "Booking"),
    ],
    shows: [
      { kind: "tool_call", call: "call-a" },
      { kind: "approval", key: "harbour-7_2", status: "approved" },
      { kind: "tool_result", call: "call-a" },
    ],
  },
  {
    lines: "468-480",
    about: "a call with a label and no input",
    frames: [
      START,
      ...use(0, "call-a", "read_warnings", { tool_content_message: "Reading the harbour warnings" }),
    ],
    shows: [{ kind: "tool_call", name: "read_warnings", label: "Reading the harbour warnings" }],
  },
];

const userMessage = {
  role: "user",
  content: [{ type: "text", text: "when is the next ferry" }],
  display_type: "content",
};
const calls = [
  { id: "call-a", name: "plan", tool_content_message: "Planning" },
  { id: "call-b", name: "get_timetable", tool_content_message: "Reading the timetable" },
];
const toolMessage = (tool_call_id: string, name: string, label: string, more: object): object => ({
  role: "tool",
  tool_call_id,
  name,
  status: "success",
  tool_content_message: label,
  ...more,
});

export interface PrintedHistory {
  readonly lines: string;
  readonly about: string;
  readonly messages: readonly object[];
  /** The items of the last turn, outlined by `outlineTurn`. */
  readonly outline: readonly string[];
}

export const HISTORIES_004: readonly PrintedHistory[] = [
  {
    lines: "19-51",
    about: "a thought, a call and a result as three messages",
    messages: [
      {
        role: "assistant",
        message_type: "chat",
        content: [{ type: "text", text: "I check the pier.", is_part: true }],
        display_type: "content",
      },
      {
        role: "assistant",
        message_type: "step",
        content: [],
        tool_calls: [{ id: "call-b", name: "get_timetable", tool_content_message: "Reading the timetable" }],
        display_type: "group_start",
        summary: "Reading the timetable",
      },
      toolMessage("call-b", "get_timetable", "Reading the timetable", { display_type: "group_item" }),
    ],
    outline: ["text: I check the pier.", "group: Reading the timetable", "- Reading the timetable: done"],
  },
  {
    lines: "133-160",
    about: "a group of one message",
    messages: [
      {
        role: "assistant",
        content: [{ type: "thinking", thinking: "Piers close at night." }],
        display_type: "group_start",
        summary: "Thinking",
        group_closed: true,
      },
    ],
    outline: ["group: Thinking", "- thinking: Piers close at night."],
  },
  {
    lines: "168-237",
    about: "the example of a page: a list of messages",
    messages: [
      userMessage,
      {
        role: "assistant",
        content: [{ type: "text", text: "Hello! I look it up.", is_part: true }],
        display_type: "content",
      },
      { role: "assistant", tool_calls: calls, display_type: "group_start", summary: "Reading the timetable" },
      toolMessage("call-a", "plan", "Planning", { display_type: "group_item" }),
      toolMessage("call-b", "get_timetable", "Reading the timetable", {
        display_type: "group_end",
        summary: "Reading the timetable",
      }),
      {
        role: "assistant",
        content: [{ type: "text", text: "The next ferry leaves at 14:20.", is_final: true }],
        display_type: "content",
      },
    ],
    outline: [
      "text: Hello! I look it up.",
      "group: Reading the timetable",
      "- Planning: done",
      "- Reading the timetable: done",
      "text: The next ferry leaves at 14:20.",
    ],
  },
];
