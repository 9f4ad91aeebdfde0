/** Tests what a tool call shows for users: its status, the note beside its label, and what is visible without a click. */
import { Story } from "@turnstream/conformance/scenarios/story.ts";
import { type ToolItem, toolItem, type ToolCallBlock } from "@turnstream/protocol";
import { describe, expect, test } from "vitest";
import { callNote, callStatus } from "../../src/thread/call-note.ts";
import { listArtifacts, opensByItself } from "../../src/thread/call-rules.ts";
import { en } from "../../src/strings/en.ts";

const NAME = "get_price";

/** Returns the item of a call at the end of a story. */
function itemAfter(write: (log: Story, call: string) => void): ToolItem {
  const log = new Story({ check: false }).session("ses_call", 1).begin("How is VNM?");
  const call = log.call(NAME, ['{"symbol":"VNM"}'], { label: "Reading the price" });
  write(log, call);
  const turn = log.state.turns.last();
  const block = turn?.items.toArray().find((item) => item?.kind === "tool_call");
  if (turn === undefined) throw new Error("there is no turn");
  return toolItem(turn, block as ToolCallBlock);
}

const running = itemAfter((log, call) => void log.startResult(call, NAME));
const ended = (text: string, more: object = {}) =>
  itemAfter((log, call) => void log.endResult(log.startResult(call, NAME), text, more));
const streamed = (media: "text" | "image", ...pieces: readonly string[]) =>
  itemAfter((log, call) => {
    const on = log.startResult(call, NAME);
    for (const data of pieces)
      log.add({ type: "tool_result.delta", ...on, part: 0, media, data, done: false });
  });
const asking = itemAfter((log, call) => {
  const actions = [{ name: NAME, label: "Read", input: {} }];
  const details = { key: "k", call, actions, editable: false, digest: "d", deadline: null };
  log.add({ type: "approval.request", ...log.place(), ...details } as never);
});
const withRun = itemAfter((log, call) => {
  log.startResult(call, NAME);
  log.startRun(call, "analyst");
});

const noteOf = (item: ToolItem, isRunWaiting = false) => callNote(item, callStatus(item, isRunWaiting), en);

describe("the note of a call", () => {
  test("is the first line of its result, without the marks of Markdown", () => {
    expect(noteOf(ended("82,000 VND\nmore"))).toEqual({ text: "82,000 VND", isResult: true });
    expect(noteOf(ended("## **Keep** `VNM` [^1]."))?.text).toBe("Keep VNM.");
    expect(noteOf(ended("x".repeat(500)))?.text).toHaveLength(120);
  });

  test("is the count of results, if there is one", () => {
    const counted = itemAfter((log, call) => {
      const end = { status: "success", preview: "a long list", artifact: null, results: 10 } as const;
      log.add({ type: "tool_result.end", ...log.startResult(call, NAME), ...end });
    });
    expect(noteOf(counted)).toEqual({ text: "10 results", isResult: false });
  });

  test.each(['{"a":1}', " [1,2]", "<b>1</b>", ""])("is never JSON or markup: %s", (text) => {
    expect(noteOf(ended(text))).toBeNull();
    expect(noteOf(ended(text, { status: "error" }))).toBeNull();
  });

  test("is the newest line of the progress while the call runs", () => {
    expect(noteOf(running)).toBeNull();
    expect(noteOf(streamed("text", "Scanned 400\n", "Scanned 800\n"))?.text).toBe("Scanned 800");
  });

  test("is the status of a call that was stopped, or waits for the user", () => {
    expect(noteOf(ended("", { status: "cancelled" }))).toEqual({ text: "stopped", isResult: false });
    expect(noteOf(asking)?.text).toBe("waiting for you");
    expect(noteOf(withRun, true)?.text).toBe("waiting for you");
    const unanswered = itemAfter((log, call) => {
      log.startResult(call, NAME);
      log.end("user_stopped");
    });
    expect(noteOf(unanswered)?.text).toBe("stopped");
  });
});

describe("a call opens by itself", () => {
  test("in the turn itself while it runs, and not in a group or below a sub-agent", () => {
    expect(opensByItself(running, "turn", "auto")).toBe(true);
    expect(opensByItself(running, "group", "auto")).toBe(false);
    expect(opensByItself(running, "run", "auto")).toBe(false);
    expect(opensByItself(ended("82,000"), "turn", "auto")).toBe(false);
  });

  test("not while its approval waits for the user, because the card shows the same", () => {
    expect(opensByItself(asking, "turn", "auto")).toBe(false);
  });

  test.each(["auto", "closed", "hidden"] as const)(
    "for the steps of a running sub-agent, with %s",
    (details) => {
      expect(opensByItself(withRun, "group", details)).toBe(true);
    },
  );

  test("never with closed or hidden, and always with open", () => {
    for (const details of ["closed", "hidden"] as const)
      expect(opensByItself(running, "turn", details)).toBe(false);
    for (const item of [running, ended("82,000")]) expect(opensByItself(item, "group", "open")).toBe(true);
  });
});

test("pictures that a tool streams are artifacts, until it has returned one", () => {
  const url = "https://img.example/lake.png";
  expect(listArtifacts(streamed("image", url))).toEqual([{ type: "image", data: { url } }]);
  expect(listArtifacts(streamed("text", "drawing"))).toEqual([]);
});
