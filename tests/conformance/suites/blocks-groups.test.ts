/** Tests group markers, sub-agents and hidden tools in the `blocks` dialect. */
import { SCHEMA_VERSION } from "@turnstream/protocol";
import { checkEvent } from "@turnstream/protocol/writer";
import { blocks, type BlocksFrame } from "@turnstream/protocol/blocks";
import { describe, expect, test } from "vitest";
import { LogWriter } from "../support/log-writer.ts";
import { bareFramesOf, framesOf } from "./frames.ts";

/** One line per block or marker, in the order of the frames. */
function outline(log: LogWriter): string[] {
  return framesOf(blocks, log).flatMap((frame) => outlineOf(frame));
}

function outlineOf(frame: BlocksFrame): string[] {
  if (frame.type === "content_block_start") {
    const block = frame.content_block;
    const part = block.type === "text" && block.is_part ? " part" : "";
    return [`${frame.index} ${block.type}${"name" in block ? ` ${block.name}` : ""}${part}`];
  }
  if (frame.type === "group_start" || frame.type === "group_end") return [`${frame.index} ${frame.type}`];
  return [];
}

const hidden = { hidden: true, label: "" } as const;

/** Writes a call and a result that no client sees; `between` writes the visible block for them. */
function hiddenTool(log: LogWriter, name: string, call: string, between: () => void): void {
  const onCall = log.place();
  log.add({ type: "tool_call.start", ...onCall, call, name, ...hidden });
  log.add({ type: "tool_call.end", ...onCall, input: {} });
  between();
  const onResult = log.place();
  log.add({ type: "tool_result.start", ...onResult, call, name, ...hidden });
  log.add({ type: "tool_result.end", ...onResult, status: "success", preview: "", artifact: null });
}

describe("groups", () => {
  test("W14 are surrounded by the printed markers, the end with the summary", () => {
    const log = new LogWriter().session().begin("x").openGroup();
    log.result(log.call("web_search", []), "web_search", "three found");
    log.closeGroup("Searched for trains");
    const markers = bareFramesOf(blocks, log).filter((frame) => frame.type.startsWith("group_"));
    expect(markers).toEqual([
      { type: "group_start", index: 0, message_id: log.turn },
      { type: "group_end", index: 3, summary: "Searched for trains", message_id: log.turn },
    ]);
  });

  test("W03 one counter numbers markers and blocks: 5 to 12 around six blocks, as printed", () => {
    const log = new LogWriter().session().begin("x");
    log.openGroup().think(["Hm."]).closeGroup("Thought");
    log.text(["Let me look."], { part: true }).text(["One more thing."], { part: true });
    log.openGroup();
    const tools = ["web_search", "find_train", "list_stops"];
    const calls = tools.map((name) => log.call(name, []));
    for (const [n, name] of tools.entries()) log.result(calls[n] ?? "", name, "ok");
    log.closeGroup("Looked it up").text(["SE3."], { final: true }).end();
    expect(outline(log)).toEqual([
      "0 group_start",
      "1 thinking",
      "2 group_end",
      "3 text part",
      "4 text part",
      "5 group_start",
      "6 tool_use web_search",
      "7 tool_use find_train",
      "8 tool_use list_stops",
      "9 tool_result web_search",
      "10 tool_result find_train",
      "11 tool_result list_stops",
      "12 group_end",
      "13 text",
    ]);
  });

  test.each([
    ["a text that is not a part", { type: "text.start", part: false }],
    ["a question", { type: "question.request", key: "k", call: "c", questions: [] }],
    ["a form", { type: "form.request", form: "f", schema: { id: "f", title: "", fields: [] } }],
  ])("W14 %s does not start while a group is open", (_, draft) => {
    const log = new LogWriter().session().begin("x").openGroup().think(["Hm."]);
    const event = { v: SCHEMA_VERSION, id: `1-${log.state.seq + 1}`, at: 0, ...log.place(), ...draft };
    expect(checkEvent(log.state, event as unknown as Parameters<typeof checkEvent>[1])?.rule).toBe("L13");
  });

  test("W14 an ordinary approval stays inside its group", () => {
    const log = new LogWriter().session().begin("x").openGroup();
    const call = log.call("buy_ticket", ['{"train":4}'], { call: "toolu_1" });
    const on = log.place();
    const actions = [{ name: "buy_ticket", input: { train: 4 } }];
    log.add({ type: "approval.request", ...on, key: "ses_market_1", call, actions, editable: true });
    log.add({ type: "approval.update", ...on, version: 1, status: "approved", by: "usr_an" });
    log.result(call, "buy_ticket", "bought").closeGroup("Bought a ticket");
    const types = framesOf(blocks, log).map((f) =>
      f.type === "content_block_start" ? f.content_block.type : f.type,
    );
    expect(
      types.filter((type) => !["content_block_stop", "content_block_delta"].includes(type)).slice(2),
    ).toEqual(["group_start", "tool_use", "approval_request", "approval_result", "tool_result", "group_end"]);
  });
});

describe("hidden tools", () => {
  test("W19 share_thought is only a part of text between two groups", () => {
    const log = new LogWriter().session().begin("x").openGroup();
    log.result(log.call("web_search", []), "web_search", "ok").closeGroup("Searched");
    hiddenTool(log, "share_thought", "toolu_s", () => {
      const on = log.place();
      log.add({ type: "text.start", ...on, part: true, call: "toolu_s" });
      log.add({ type: "text.delta", ...on, text: "Two trains fit; I compare them." });
      log.add({ type: "text.end", ...on, final: false });
    });
    log.openGroup();
    log.result(log.call("find_train", []), "find_train", "ok").closeGroup("Compared");
    const lines = outline(log).map((line) => line.replace(/^\d+ /, ""));
    expect(lines).toEqual([
      "group_start",
      "tool_use web_search",
      "tool_result web_search",
      "group_end",
      "text part",
      "group_start",
      "tool_use find_train",
      "tool_result find_train",
      "group_end",
    ]);
    expect(JSON.stringify(framesOf(blocks, log))).not.toContain("share_thought");
  });

  test("W15 ask_user_question is an approval_request between two groups, as printed", () => {
    const log = new LogWriter().session().begin("x").openGroup();
    log.result(log.call("write_todos", []), "write_todos", "ok").closeGroup("Planned");
    const options = [{ id: "a", label: "Morning" }];
    const questions = [{ id: "q", text: "When?", options, multiple: false, free_text: true }];
    hiddenTool(log, "ask_user_question", "toolu_q", () => {
      const on = log.place();
      log.add({ type: "question.request", ...on, key: "ses_market_1", call: "toolu_q", questions });
      const answers = [{ question: "q", selected: ["a"] }];
      log.add({ type: "question.update", ...on, version: 1, status: "answered", answers });
    });
    log.openGroup();
    log.result(log.call("find_train", []), "find_train", "ok").closeGroup("Found");
    expect(outline(log).map((line) => line.replace(/^\d+ /, ""))).toEqual([
      "group_start",
      "tool_use write_todos",
      "tool_result write_todos",
      "group_end",
      "approval_request",
      "group_start",
      "tool_use find_train",
      "tool_result find_train",
      "group_end",
    ]);
  });
});

/** The main agent calls a sub-agent inside a group. */
function delegated(): { log: LogWriter; run: string } {
  const log = new LogWriter().session().begin("x").openGroup();
  const call = log.call("call_agent", ['{"agent":"timetable"}'], { call: "toolu_main" });
  const on = log.startResult(call, "call_agent");
  const run = log.startRun(call, "timetable");
  log.think(["Which line?"], run);
  const inner = log.call("find_train", [], { run, call: "toolu_sub" });
  log.result(inner, "find_train", "SE3", { run });
  log.text(["SE3 it is."], { part: true, run }).endRun(run);
  log.endResult(on, "SE3 it is.").closeGroup("Asked the timetable");
  log.text(["Take SE3."], { final: true }).end();
  return { log, run };
}

describe("sub-agents", () => {
  test("W09 blocks name their sub-agent and its call", () => {
    const starts = framesOf(blocks, delegated().log).filter((f) => f.type === "content_block_start");
    const authors = starts.map((frame) => {
      const block = frame.content_block as unknown as Record<string, unknown>;
      return [block["type"], block["subagent"], block["parent_tool_use_id"], block["is_part"]];
    });
    expect(authors).toEqual([
      ["tool_use", null, null, undefined],
      ["thinking", "timetable", "toolu_main", undefined],
      ["tool_use", "timetable", "toolu_main", undefined],
      ["tool_result", "timetable", "toolu_main", undefined],
      ["text", "timetable", "toolu_main", true],
      ["tool_result", null, null, undefined],
      ["text", null, null, false],
    ]);
  });

  test("W09 a sub-agent opens no group", () => {
    const log = new LogWriter().session().begin("x");
    const call = log.call("call_agent", []);
    log.startResult(call, "call_agent");
    const { turn, index } = log.place();
    const stamp = { v: SCHEMA_VERSION, id: `1-${log.state.seq + 2}`, at: 0 } as const;
    const run = log.startRun(call, "timetable");
    expect(checkEvent(log.state, { ...stamp, type: "group.start", turn, run, group: "g", index })?.rule).toBe(
      "L12",
    );
  });

  test("W09 a sub-agent's text is a part and never final", () => {
    const log = new LogWriter().session().begin("x");
    const call = log.call("call_agent", []);
    log.startResult(call, "call_agent");
    const run = log.startRun(call, "timetable");
    expect(() => log.text(["Hello"], { run })).toThrow("L14");
    expect(() => log.text(["Hello"], { part: true, final: true, run })).toThrow("L14");
  });

  test("W09 two sub-agents stream in parallel, and each frame finds its block by index", () => {
    const log = new LogWriter().session().begin("x");
    const calls = ["toolu_a", "toolu_b"].map((call) => log.call("call_agent", [], { call }));
    for (const call of calls) log.startResult(call, "call_agent");
    const runs = calls.map((call) => log.startRun(call, `agent of ${call}`));
    const places = runs.map((run) => {
      const on = log.place(run);
      log.add({ type: "text.start", ...on, part: true });
      return on;
    });
    for (const word of ["one ", "two ", "three"]) {
      for (const [n, on] of places.entries()) log.add({ type: "text.delta", ...on, text: `${n}:${word}` });
    }
    const texts = new Map<number, string>();
    for (const frame of framesOf(blocks, log)) {
      if (frame.type !== "content_block_delta" || !("text" in frame.delta)) continue;
      texts.set(frame.index, (texts.get(frame.index) ?? "") + frame.delta.text);
    }
    expect([...texts.values()]).toEqual(["0:one 0:two 0:three", "1:one 1:two 1:three"]);
  });

  test("W03 W09 index increases from block to block, also around a sub-agent", () => {
    const starts = framesOf(blocks, delegated().log).filter((f) => f.type === "content_block_start");
    const indexes = starts.map((frame) => frame.index);
    expect(indexes).toEqual(indexes.toSorted((a, b) => a - b));
  });
});
