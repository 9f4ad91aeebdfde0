/**
 * `DOCUMENT_003` has the examples of document 003: calls and their results, also failed, cancelled and parallel ones.
 * Invariant: results have `tool_name` and no `name` here, or neither, as the document prints them.
 */
import { blockStart, blockStop, type PrintedExample } from "./printed-example.ts";

const call = blockStart(
  2,
  {
    type: "tool_use",
    id: "call-a",
    name: "get_timetable",
    input: { pier: "North" },
    tool_content_message: "Reading the timetable of the north pier",
  },
  { message_id: "turn-3" },
);
const called = {
  kind: "tool_call",
  call: "call-a",
  label: "Reading the timetable of the north pier",
} as const;

function finished(about: string, lines: string, status: string, content: string): PrintedExample {
  const tool = { type: "tool_result", tool_use_id: "call-a", tool_name: "get_timetable" };
  return {
    lines,
    about,
    frames: [call, blockStop(2), blockStart(3, { ...tool, content, status, artifact: null }), blockStop(3)],
    shows: [
      called,
      {
        kind: "tool_result",
        call: "call-a",
        name: "get_timetable",
        status,
        preview: content,
        artifact: null,
      },
    ],
  };
}

const use = (index: number, id: string, pier: string): object[] => [
  blockStart(index, { type: "tool_use", id, name: "get_timetable", input: { pier } }),
  blockStop(index),
];
const result = (index: number, tool_use_id: string, content: string): object[] => [
  blockStart(index, { type: "tool_result", tool_use_id, content, status: "success" }),
  blockStop(index),
];

const chart = { type: "chart", data: { labels: ["Mon", "Tue", "Wed"], values: [12, 9, 15] } };

export const DOCUMENT_003: readonly PrintedExample[] = [
  finished("a result", "16-52", "success", "North pier\n14:20\n15:05"),
  finished("a failed result", "53-65", "error", "There is no such pier."),
  finished("a cancelled result", "66-78", "cancelled", ""),
  {
    lines: "92-104",
    about: "parallel calls",
    frames: [
      // None of the printed frames names its turn, so the frame before them does.
      { type: "group_start", index: 0, message_id: "turn-3" },
      ...use(1, "call-a", "North"),
      ...use(2, "call-b", "South"),
      ...result(3, "call-a", "14:20"),
      ...result(4, "call-b", "16:40"),
    ],
    shows: [
      { kind: "tool_call", call: "call-a", input: { pier: "North" } },
      { kind: "tool_call", call: "call-b", input: { pier: "South" } },
      { kind: "tool_result", call: "call-a", name: "get_timetable", preview: "14:20" },
      { kind: "tool_result", call: "call-b", name: "get_timetable", preview: "16:40" },
    ],
  },
  {
    lines: "140-163",
    about: "a result with a chart",
    frames: [
      call,
      blockStop(2),
      blockStart(3, {
        type: "tool_result",
        tool_use_id: "call-a",
        content: "The chart is ready",
        status: "success",
        artifact: chart,
      }),
      blockStop(3),
    ],
    shows: [called, { kind: "tool_result", call: "call-a", artifact: chart }],
  },
];
