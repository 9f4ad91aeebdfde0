/**
 * Checks the written frames of the stories without a server: they contain what the documents print, match their
 * schemas, and bring plain clients to the written final state.
 */
import { blocksFrameSchema, responsesFrameSchema, tasksFrameSchema } from "@turnstream/protocol/schema";
import { describe, expect, test } from "vitest";
import { BlocksClient } from "../clients/blocks-client.ts";
import { TasksClient } from "../clients/tasks-client.ts";
import { contactForm } from "./contact-form/script.ts";
import { filesReport } from "./files-report/script.ts";
import { ownIds, STORIES, writtenEnd, writtenFrames } from "./index.ts";
import { marketOverview } from "./market-overview/script.ts";
import { normalise } from "./normalise.ts";
import { parisCitations } from "./paris-citations/script.ts";
import { parisWeather } from "./paris-weather/script.ts";
import { marketOrderApproved } from "./market-order-approved/script.ts";
import { marketOrderEdited } from "./market-order-edited/script.ts";
import { marketOrderRejected } from "./market-order-rejected/script.ts";
import { marketOrderTimedOut } from "./market-order-timed-out/script.ts";
import {
  APPROVAL_OF_004,
  CALLS_OF_003,
  CITATIONS_OF_001,
  FILES_OF_000,
  FORM_OF_002,
  GROUPS_OF_004,
  QUESTION_OF_004,
  STOP_OF_003,
  SUB_AGENT_OF_001,
  TURN_OF_000,
} from "./printed.ts";
import { twoToolsStopped } from "./two-tools-stopped/script.ts";
import { twoTools } from "./two-tools/script.ts";
import { vnmStock } from "./vnm-stock/script.ts";

/** The frames of `printed` that are not in `frames` in this order. Additional frames are ignored. */
function missing(frames: readonly unknown[], printed: readonly object[]): object[] {
  let from = 0;
  return printed.filter((wanted) => {
    const at = frames.findIndex((frame, n) => n >= from && holds(frame, wanted));
    if (at >= 0) from = at + 1;
    return at < 0;
  });
}

function holds(actual: unknown, wanted: unknown): boolean {
  if (typeof wanted !== "object" || wanted === null) return actual === wanted;
  if (typeof actual !== "object" || actual === null) return false;
  if (Array.isArray(wanted) && (!Array.isArray(actual) || actual.length !== wanted.length)) return false;
  const fields = actual as Record<string, unknown>;
  return Object.entries(wanted).every(([field, value]) => holds(fields[field], value));
}

describe("the frames that the documents print", () => {
  test.each([
    ["000", vnmStock, "blocks", TURN_OF_000],
    ["000", filesReport, "blocks", FILES_OF_000],
    ["003", twoTools, "blocks", CALLS_OF_003],
    ["003", twoToolsStopped, "blocks", STOP_OF_003],
    ["004", marketOverview, "blocks", GROUPS_OF_004],
    ["004", marketOrderApproved, "blocks", APPROVAL_OF_004],
    ["004", marketOrderEdited, "blocks", QUESTION_OF_004],
    ["004", marketOrderRejected, "blocks", APPROVAL_OF_004],
    ["004", marketOrderTimedOut, "blocks", APPROVAL_OF_004],
    ["001", parisWeather, "tasks", SUB_AGENT_OF_001],
    ["001", parisCitations, "tasks", CITATIONS_OF_001],
    ["002", contactForm, "responses", FORM_OF_002],
  ] as const)("of %s are in the frames of its story, in the same order", (_, story, dialect, printed) => {
    expect(missing(writtenFrames(story, dialect), printed)).toEqual([]);
  });

  test("are reported if a story has other frames or another order", () => {
    const frames = [{ type: "a", item: { text: "1", more: 1 } }, { type: "b" }];
    expect(missing(frames, [{ type: "a", item: { text: "1" } }, { type: "b" }])).toEqual([]);
    expect(missing(frames, [{ type: "a", item: { text: "2" } }])).toHaveLength(1);
    expect(missing(frames, [{ type: "b" }, { type: "a" }])).toEqual([{ type: "a" }]);
    expect(missing([{ list: [1, 2] }], [{ list: [1] }])).toHaveLength(1);
  });
});

const SCHEMAS = { blocks: blocksFrameSchema, tasks: tasksFrameSchema };

describe.each(STORIES)("the frames of $name", (story) => {
  test("match their schemas", () => {
    for (const [dialect, schema] of Object.entries(SCHEMAS)) {
      for (const frame of writtenFrames(story, dialect as keyof typeof SCHEMAS))
        expect(schema.safeParse(frame).error).toBeUndefined();
    }
    for (const frame of writtenFrames(story, "responses")) {
      // Normalized times are 0, but in this dialect a time is text.
      const step = frame["step"] as object | undefined;
      const timed =
        step === undefined ? frame : { ...frame, step: { ...step, timestamp: "1970-01-01T00:00:00.000Z" } };
      expect(responsesFrameSchema.safeParse(timed).error).toBeUndefined();
    }
  });

  test("are already normalized", () => {
    for (const dialect of ["blocks", "tasks", "responses"] as const) {
      const frames = writtenFrames(story, dialect);
      expect(normalise(frames, ownIds(story)).frames).toEqual(frames);
    }
  });

  test("bring plain clients to the written final state", () => {
    const [blocks, tasks] = [new BlocksClient(), new TasksClient()];
    for (const frame of writtenFrames(story, "blocks")) blocks.handle(frame);
    for (const frame of writtenFrames(story, "tasks")) tasks.handle(frame);
    expect([...blocks.problems, ...tasks.problems]).toEqual([]);
    const end = writtenEnd(story);
    expect({ blocks: blocks.display(), tasks: tasks.display() }).toEqual({
      blocks: end.blocks,
      tasks: end.tasks,
    });
  });
});

const text = (index: number, part: string) => ({
  type: "content_block_delta",
  message_id: "m",
  index,
  delta: { type: "text_delta", text: part },
});
const output = (delta: string) => ({ type: "response.output_text.delta", delta });

describe("normalising", () => {
  const own = new Set(["call_1"]);
  const plain = (...frames: { type: string; [field: string]: unknown }[]) => normalise(frames, own).frames;

  test("numbers ids in order of appearance and leaves those of the story", () => {
    expect(
      plain(
        { type: "x", task_id: "9f", session_id: "s" },
        { type: "task.output_item.added", task_id: "call_1", parent_task_id: "9f", item: { id: "b7" } },
        { type: "y", item_id: "b7", task_id: "a0" },
      ),
    ).toEqual([
      { type: "x", task_id: "turn-1", session_id: "session-1" },
      { type: "task.output_item.added", task_id: "call_1", parent_task_id: "turn-1", item: { id: "item-1" } },
      { type: "y", item_id: "item-1", task_id: "turn-2" },
    ]);
  });

  test("replaces the URLs of served files with those of the story", () => {
    const served = new Map([["http://127.0.0.1:9/a", "https://example.com/a"]]);
    const frame = { type: "x", content_urls: ["http://127.0.0.1:9/a", "http://127.0.0.1:9/ab"] };
    expect(normalise([frame], own, served).frames).toEqual([
      { type: "x", content_urls: ["https://example.com/a", "http://127.0.0.1:9/ab"] },
    ]);
  });

  test("removes cursors, times and token counts, but not the number of calls", () => {
    const usage = { total_tokens: 7, calls: 2, total_calls: 3 };
    expect(
      plain({ type: "x", event_id: "1-2", duration_ms: 5, step: { timestamp: "2026-01-01", usage } }),
    ).toEqual([
      {
        type: "x",
        duration_ms: 0,
        step: { timestamp: 0, usage: { total_tokens: 0, calls: 2, total_calls: 3 } },
      },
    ]);
  });

  test("joins the deltas of each block at the position of the first one", () => {
    const joined = plain(text(0, "a"), text(1, "x"), text(0, "b"), { type: "stop" }, text(1, "y"));
    expect(joined.map((frame) => (frame["delta"] as { text: string } | undefined)?.text)).toEqual([
      "ab",
      "xy",
      undefined,
    ]);
  });

  test("joins output text only if no frame is in between, and moves a title to the end", () => {
    const title = { type: "response.chat.title.updated", name: "t" };
    expect(plain(output("a"), output("b"), { type: "step" }, output("c"), title, output("d"))).toEqual([
      output("ab"),
      { type: "step" },
      output("cd"),
      title,
    ]);
  });
});
