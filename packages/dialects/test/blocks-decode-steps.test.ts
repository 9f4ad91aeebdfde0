/** Tests the `blocks` decoder with tool blocks and groups as the source documents print them, with our own data. */
import { viewTurn } from "@turnstream/protocol";
import { blocksDecoder } from "../src/blocks/decode.ts";
import { describe, expect, test } from "vitest";
import { blocksIn, pick, read, turnOf } from "@turnstream/conformance/suites/frames.ts";
import { block, delta, start, stop } from "@turnstream/conformance/suites/printed-blocks.ts";

/** A call and its result as the source document prints them: without authors, and the result without a name. */
const tool = (index: number, id: string, name: string) => [
  block(index, { type: "tool_use", id, name, input: { for: id }, tool_content_message: `Label of ${name}` }),
  stop(index),
];
const done = (index: number, id: string, content = "ok") => [
  block(index, { type: "tool_result", tool_use_id: id, content, status: "success" }),
  stop(index),
];

const tideResult = (more: object) =>
  block(3, { type: "tool_result", tool_use_id: "toolu_02", tool_name: "get_tide", artifact: null, ...more });

describe("printed tool blocks", () => {
  const call = block(2, {
    type: "tool_use",
    id: "toolu_02",
    name: "get_tide",
    input: { port: "Vung Tau" },
    tool_content_message: "Reading the tide table",
  });
  test.each([
    [{ content: "high at 02:40", status: "success" }, "done", false],
    [{ content: "Error: no such port", status: "error" }, "error", true],
    [{ content: "", status: "cancelled" }, "error", true],
  ])("W07 U01 U02 a result %j", (more, status, isError) => {
    const { state, problems } = read(blocksDecoder, [start, call, stop(2), tideResult(more), stop(3)]);
    expect(problems).toEqual([]);
    const resultText = more.content;
    expect(viewTurn(turnOf(state))).toMatchObject([{ type: "tool", status, resultText, isError }]);
  });

  test.each(["name", "tool_name"])("W07 reads the tool's name from %s if the call is unknown", (field) => {
    const orphan = {
      type: "tool_result",
      tool_use_id: "toolu_x",
      [field]: "get_tide",
      status: "success",
      content: "ok",
    };
    const { state, problems } = read(blocksDecoder, [start, block(0, orphan), stop(0)]);
    expect(problems).toEqual([]);
    expect(blocksIn(state)).toMatchObject([{ kind: "tool_result", name: "get_tide" }]);
  });

  test("W07 a result carries its artifact", () => {
    const artifact = { type: "chart", data: { labels: ["Mon", "Tue"], values: [3.1, 3.4] } };
    const { state } = read(blocksDecoder, [
      start,
      call,
      stop(2),
      tideResult({ content: "drawn", status: "success", artifact }),
      stop(3),
    ]);
    expect(viewTurn(turnOf(state))).toMatchObject([{ artifact }]);
  });

  test("W08 parallel results are matched by tool_use_id, in any order and without a name", () => {
    const frames = [
      start,
      ...tool(1, "a", "get_tide"),
      ...tool(2, "b", "get_tide"),
      ...done(3, "b", "tide of b"),
      ...done(4, "a", "tide of a"),
    ];
    const { state, problems } = read(blocksDecoder, frames);
    expect(problems).toEqual([]);
    expect(pick(viewTurn(turnOf(state)), "input", "resultText")).toEqual([
      { input: { for: "a" }, resultText: "tide of a" },
      { input: { for: "b" }, resultText: "tide of b" },
    ]);
  });
});

describe("printed groups", () => {
  test("W14 markers group the blocks between them under the summary", () => {
    const { state, problems } = read(blocksDecoder, [
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
      {
        type: "group",
        open: false,
        header: "Looked for tides",
        items: [{ status: "done" }, { status: "done" }],
      },
    ]);
  });

  test("W14 a text that is not a part, or a new group, ends a group whose end is missing", () => {
    const { state } = read(blocksDecoder, [
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

  test("W09 W14 a sub-agent's blocks are inside its call, and its text is in the group", () => {
    const author = { subagent: "tides", parent_tool_use_id: "a" };
    const { state, problems } = read(blocksDecoder, [
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
