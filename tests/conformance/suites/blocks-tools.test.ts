/** Tests tool calls and results in the `blocks` dialect, single and parallel, frame by frame. */
import { blocks } from "@turnstream/protocol/blocks";
import { describe, expect, test } from "vitest";
import { LogWriter } from "../support/log-writer.ts";
import { framesOf } from "./frames.ts";

/** The start frame of the only block that a log shows. */
function startOf(log: LogWriter): Record<string, unknown> {
  const start = framesOf(blocks, log).find((frame) => frame.type === "content_block_start");
  return { ...start?.content_block };
}

describe("a tool call", () => {
  test("W06 has its complete input in the start, however it streamed, and no delta", () => {
    const pieces = ['{"stops":["Vinh",', '"Huế"],"class":', "2", "}"];
    const log = new LogWriter().session().begin("x");
    log.call("plan_route", pieces, { label: "Planning" });
    expect(startOf(log)["input"]).toEqual({ stops: ["Vinh", "Huế"], class: 2 });
    expect(framesOf(blocks, log).map((frame) => frame.type)).toEqual([
      "user_message",
      "message_start",
      "content_block_start",
      "content_block_stop",
    ]);
  });

  test("W06 has an empty input if it has no arguments", () => {
    const log = new LogWriter().session().begin("x");
    log.call("list_stations", []);
    expect(startOf(log)["input"]).toEqual({});
  });

  test.each([
    ["web_search", "Web search"],
    ["list", "List"],
    ["get-live_delays", "Get live delays"],
  ])("W06 without a label uses its name as the label: %s", (name, label) => {
    const log = new LogWriter().session().begin("x");
    log.call(name, []);
    expect(startOf(log)["tool_content_message"]).toBe(label);
  });

  test("W06 has the same id in both fields", () => {
    const log = new LogWriter().session().begin("x");
    log.call("web_search", [], { call: "toolu_9" });
    expect(startOf(log)).toMatchObject({ id: "toolu_9", tool_use_id: "toolu_9", name: "web_search" });
  });
});

function resultFrame(
  preview: string,
  more: Parameters<LogWriter["endResult"]>[2] = {},
): Record<string, unknown> {
  const log = new LogWriter().session().begin("x");
  log.result(log.call("web_search", []), "web_search", preview, more);
  const starts = framesOf(blocks, log).filter((frame) => frame.type === "content_block_start");
  return { ...starts[1]?.content_block };
}

describe("a tool result", () => {
  test.each(["success", "error", "cancelled"] as const)("W07 has the status %s", (status) => {
    expect(resultFrame("", { status })).toMatchObject({ type: "tool_result", status, content: "" });
  });

  test("W07 has the tool's name in both printed fields", () => {
    expect(resultFrame("found")).toMatchObject({ name: "web_search", tool_name: "web_search" });
  });

  test.each([
    ["499 characters", "a".repeat(499), 499],
    ["500 characters", "a".repeat(500), 500],
    ["501 characters", "a".repeat(501), 500],
    ["an emoji that ends at the cut", `${"a".repeat(498)}🚆b`, 500],
    ["an emoji across the cut", `${"a".repeat(499)}🚆`, 499],
    ["nothing but emoji", "🚆".repeat(300), 500],
  ])("W07 is cut to 500 and never inside a surrogate pair: %s", (_, preview, length) => {
    const content = resultFrame(preview)["content"] as string;
    expect(content).toBe(preview.slice(0, length));
    expect(content).not.toMatch(/\p{Surrogate}/u);
  });

  test.each([
    { type: "chart", data: { labels: ["Mon", "Tue"], values: [41, 38] } },
    { type: "table", data: { columns: ["train"], rows: [["SE3"]] } },
    { type: "file", data: { url: "https://files.example/t.pdf" } },
  ])("W07 carries its artifact: $type", (artifact) => {
    expect(resultFrame("made", { artifact })["artifact"]).toEqual(artifact);
  });
});

function twoTrains(): LogWriter {
  const log = new LogWriter().session().begin("Compare two trains");
  const a = log.call("find_train", ['{"no":"SE1"}'], { call: "toolu_a" });
  const b = log.call("find_train", ['{"no":"SE3"}'], { call: "toolu_b" });
  const [onA, onB] = [log.startResult(a, "find_train"), log.startResult(b, "find_train")];
  return log.endResult(onB, "SE3 at 19:20").endResult(onA, "SE1 at 20:50");
}

function startsOf(log: LogWriter) {
  return framesOf(blocks, log).filter((frame) => frame.type === "content_block_start");
}

describe("parallel calls", () => {
  test("W08 have their own index, and a result is matched by its tool_use_id in any order", () => {
    const shown = startsOf(twoTrains());
    const blocksShown = shown.map((frame) => frame.content_block as unknown as Record<string, unknown>);
    expect(blocksShown.map((block) => [block["type"], block["tool_use_id"], block["content"]])).toEqual([
      ["tool_use", "toolu_a", undefined],
      ["tool_use", "toolu_b", undefined],
      ["tool_result", "toolu_b", "SE3 at 19:20"],
      ["tool_result", "toolu_a", "SE1 at 20:50"],
    ]);
    expect(new Set(shown.map((frame) => frame.index)).size).toBe(4);
  });

  test("W03 W08 index increases from block to block, also if results end in another order than they started", () => {
    const indexes = startsOf(twoTrains()).map((frame) => frame.index);
    expect(indexes).toEqual(indexes.toSorted((a, b) => a - b));
  });
});
