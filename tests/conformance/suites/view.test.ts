/** Tests the view of a turn: tool items with their status, groups with their headers, the brand. */
import {
  firstVisibleBlock,
  findTurn,
  type GroupItem,
  type ToolItem,
  viewRun,
  viewTurn,
} from "@turnstream/protocol";
import { describe, expect, test } from "vitest";
import { LogWriter } from "../support/log-writer.ts";
import { pick, turnOf } from "./frames.ts";

const view = (log: LogWriter) => viewTurn(turnOf(log.state));

function toolOf(log: LogWriter): ToolItem {
  const item = view(log).find((shown) => shown.type === "tool");
  if (item === undefined) throw new Error("no tool item");
  return item;
}

function groupOf(log: LogWriter, n = 0): GroupItem {
  const item = view(log).filter((shown) => shown.type === "group")[n];
  if (item === undefined) throw new Error("no group");
  return item;
}

describe("a tool item", () => {
  test("U01 is the call merged with its result; the result is not shown again", () => {
    const log = new LogWriter().session().begin("x");
    const artifact = { type: "table", data: { rows: [["SE3", "19:20"]] } };
    log.result(log.call("find_train", ['{"to":"Hue"}'], { label: "Looking" }), "find_train", "1 train", {
      artifact,
    });
    expect(view(log)).toHaveLength(1);
    expect(toolOf(log)).toMatchObject({
      type: "tool",
      call: { name: "find_train", label: "Looking" },
      input: { to: "Hue" },
      resultText: "1 train",
      isError: false,
      artifact,
    });
  });

  test("U01 an empty result counts as a result", () => {
    const log = new LogWriter().session().begin("x");
    log.result(log.call("find_train", []), "find_train", "");
    expect(toolOf(log)).toMatchObject({ resultText: "", isError: false, status: "done" });
  });

  test("U01 W08 parallel results are merged by call, in any order", () => {
    const log = new LogWriter().session().begin("x");
    const [a, b] = [log.call("find_train", [], { call: "a" }), log.call("find_train", [], { call: "b" })];
    log.result(b, "find_train", "of b").result(a, "find_train", "of a");
    expect(pick(view(log), "resultText")).toEqual([{ resultText: "of a" }, { resultText: "of b" }]);
  });

  test("U01 its input is available while it streams", () => {
    const log = new LogWriter().session().begin("x");
    const on = log.place();
    log.add({ type: "tool_call.start", ...on, call: "c", name: "find_train", label: "" });
    log.add({ type: "tool_call.delta", ...on, args: '{"to":"Hue","da' });
    expect(toolOf(log)).toMatchObject({ input: { to: "Hue" }, status: "pending", resultText: null });
  });

  test("U01 W13 contains its approvals, and edited arguments replace the original ones", () => {
    const log = new LogWriter().session().begin("x");
    const call = log.call("buy_ticket", ['{"seats":2}']);
    const on = log.place();
    const actions = [{ name: "buy_ticket", input: { seats: 2 } }];
    log.add({ type: "approval.request", ...on, key: "k", call, actions, editable: true });
    expect(view(log)).toHaveLength(1);
    expect(toolOf(log)).toMatchObject({
      status: "pending",
      edited: false,
      approvals: [{ status: "pending" }],
    });
    const instead = [{ name: "buy_ticket", input: { seats: 1 } }];
    log.add({ type: "approval.update", ...on, version: 1, status: "edited", actions: instead });
    expect(toolOf(log)).toMatchObject({ input: { seats: 1 }, edited: true });
  });

  test.each([
    ["success", "done", false],
    ["error", "error", true],
    ["cancelled", "error", true],
  ] as const)("U02 a result %s is %s", (status, expected, isError) => {
    const log = new LogWriter().session().begin("x");
    const on = log.startResult(log.call("find_train", []), "find_train");
    expect(toolOf(log)).toMatchObject({ status: "pending", resultText: null });
    log.endResult(on, "", { status });
    expect(toolOf(log)).toMatchObject({ status: expected, isError });
  });

  test("U02 W13 an approved call is still pending until the tool has run", () => {
    const log = new LogWriter().session().begin("x");
    const call = log.call("buy_ticket", []);
    const on = log.place();
    log.add({
      type: "approval.request",
      ...on,
      key: "k",
      call,
      actions: [{ name: "buy_ticket", input: {} }],
      editable: false,
    });
    log.add({ type: "approval.update", ...on, version: 1, status: "approved" });
    expect(toolOf(log).status).toBe("pending");
  });

  test("U02 H05 a call without a result is stopped after its turn has ended", () => {
    const log = new LogWriter({ check: false }).session().begin("x");
    log.call("find_train", []);
    expect(toolOf(log).status).toBe("pending");
    log.end("error");
    expect(toolOf(log).status).toBe("stopped");
  });

  test("U01 T09 a sub-agent's blocks are inside the call that started it", () => {
    const log = new LogWriter().session().begin("x");
    const call = log.call("call_agent", []);
    const on = log.startResult(call, "call_agent");
    const run = log.startRun(call, "timetable");
    log.result(log.call("find_train", [], { run }), "find_train", "SE3", { run });
    log.text(["SE3."], { part: true, run }).endRun(run).endResult(on, "SE3.");
    expect(view(log)).toHaveLength(1);
    expect(toolOf(log).run).toMatchObject({ id: run, agent: "timetable" });
    expect(viewRun(turnOf(log.state), run)).toMatchObject([
      { type: "tool", resultText: "SE3" },
      { type: "block", block: { text: "SE3." } },
    ]);
  });
});

describe("a group", () => {
  test("U04 while running is open, with the last label as header, or none yet", () => {
    const log = new LogWriter().session().begin("x").openGroup();
    expect(groupOf(log)).toMatchObject({ open: true, header: "", items: [] });
    log.think(["Hm."]);
    expect(groupOf(log)).toMatchObject({ open: true, header: "" });
    const first = log.call("find_train", [], { label: "Looking for trains" });
    expect(groupOf(log)).toMatchObject({ open: true, header: "Looking for trains" });
    log.call("web_search", []);
    expect(groupOf(log)).toMatchObject({ open: true, header: "Web search" });
    log.result(first, "find_train", "ok");
    expect(groupOf(log)).toMatchObject({ open: true, header: "Web search" });
  });

  test("U04 after its end is closed, with its summary as header", () => {
    const log = new LogWriter().session().begin("x").openGroup();
    log
      .result(log.call("find_train", [], { label: "Looking" }), "find_train", "ok")
      .closeGroup("Found a train");
    expect(groupOf(log)).toMatchObject({ open: false, header: "Found a train", items: [{ status: "done" }] });
  });

  test("U04 without a summary has the last label as header", () => {
    const log = new LogWriter().session().begin("x").openGroup();
    log.result(log.call("find_train", [], { label: "Looking" }), "find_train", "ok").closeGroup("");
    expect(groupOf(log)).toMatchObject({ open: false, header: "Looking" });
  });

  test("U04 has all its items, and a result count if there is one", () => {
    const log = new LogWriter().session().begin("x").openGroup();
    for (const results of [3, 0, 12, 1]) {
      const on = log.startResult(log.call("web_search", []), "web_search");
      log.add({ type: "tool_result.end", ...on, status: "success", preview: "", artifact: null, results });
    }
    log.closeGroup("Searched");
    const counts = groupOf(log).items.map((item) => (item.type === "tool" ? item.result?.results : null));
    expect(counts).toEqual([3, 0, 12, 1]);
  });

  test("U04 that an ended turn left open is closed", () => {
    const log = new LogWriter({ check: false }).session().begin("x").openGroup();
    log.call("find_train", [], { label: "Looking" });
    log.end("error");
    expect(groupOf(log)).toMatchObject({ open: false, header: "Looking" });
  });

  test("W14 W15 is between texts and questions, never around them", () => {
    const log = new LogWriter().session().begin("x").openGroup();
    log.result(log.call("write_todos", []), "write_todos", "ok").closeGroup("Planned");
    const questions = [{ id: "q", text: "When?", options: [], multiple: false, free_text: true }];
    log.add({ type: "question.request", ...log.place(), key: "k", call: "c", questions });
    log.openGroup();
    log.result(log.call("find_train", []), "find_train", "ok").closeGroup("Found");
    log.text(["SE3."], { final: true });
    expect(view(log).map((item) => (item.type === "block" ? item.block.kind : item.type))).toEqual([
      "group",
      "question",
      "group",
      "text",
    ]);
  });

  test("U04 H04 after a takeover shows no superseded items", () => {
    const log = new LogWriter().session().begin("x").openGroup();
    log.result(log.call("find_train", [], { label: "Looking" }), "find_train", "ok");
    const on = log.place();
    log.add({ type: "tool_call.start", ...on, call: "c2", name: "web_search", label: "Searching" });
    log.add({ type: "turn.takeover", turn: log.turn, blocks: [on.block], groups: [], runs: [] });
    expect(groupOf(log)).toMatchObject({ open: true, header: "Looking", items: [{ status: "done" }] });
  });
});

const brandOf = (log: LogWriter) => {
  const turn = findTurn(log.state, log.turn);
  const id = turn === undefined ? null : firstVisibleBlock(turn);
  return turn?.items.toArray().find((item) => item?.id === id)?.kind ?? null;
};

describe("the brand header", () => {
  test("U06 is on the first visible block of the main agent", () => {
    const log = new LogWriter().session().begin("x");
    expect(brandOf(log)).toBeNull();
    log.openGroup().think(["Hm."]).closeGroup("Thought").text(["Hello."], { final: true });
    expect(brandOf(log)).toBe("thinking");
  });

  test("U06 W18 skips hidden blocks", () => {
    const log = new LogWriter().session().begin("x", { mode: "chat" }).think(["Hm."]);
    const on = log.place();
    log.add({ type: "tool_call.start", ...on, call: "c", name: "share_thought", label: "", hidden: true });
    log.add({ type: "tool_call.end", ...on, input: {} });
    log.text(["Hello."], { part: true });
    expect(brandOf(log)).toBe("text");
  });
});
