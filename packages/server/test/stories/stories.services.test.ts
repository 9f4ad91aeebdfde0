/**
 * Runs the stories of tests/conformance/stories end to end on PostgreSQL and Redis, and compares the frames of every
 * dialect with the recorded ones.
 */
import { BlocksClient } from "@turnstream/conformance/clients/blocks-client.ts";
import { SseReader } from "@turnstream/conformance/clients/sse-reader.ts";
import { TasksClient } from "@turnstream/conformance/clients/tasks-client.ts";
import { ownIds, STORIES, writtenEnd, writtenFrames } from "@turnstream/conformance/stories/index.ts";
import { normalise } from "@turnstream/conformance/stories/normalise.ts";
import { DETAIL, PHOTO } from "@turnstream/conformance/stories/photo-question/script.ts";
import type { Story } from "@turnstream/conformance/stories/story.ts";
import { framesFrom } from "@turnstream/conformance/support/replay.ts";
import { compareCursors, emptyState, snapshot } from "@turnstream/protocol";
import { blocks, toHistory } from "@turnstream/protocol/blocks";
import { responses, responsesToSse } from "@turnstream/protocol/responses";
import { blocksFrameSchema, responsesFrameSchema, tasksFrameSchema } from "@turnstream/protocol/schema";
import { tasks } from "@turnstream/protocol/tasks";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readTurnResult } from "../../src/session/history/turn-result.ts";
import type { TurnHarness } from "../engine/turn-harness.ts";
import { InProcessDriver } from "./in-process-driver.ts";
import { play, type PlayedStory } from "./run-story.ts";
import { StoryEnvironment } from "./story-environment.ts";

let environment: StoryEnvironment;
let harness: TurnHarness;
const played = new Map<string, PlayedStory>();

beforeAll(async () => {
  environment = await StoryEnvironment.open();
  ({ harness } = environment);
  const driver = new InProcessDriver(harness, environment.served);
  for (const story of STORIES)
    played.set(story.name, await play(harness, story, environment.gatesOf(story), driver));
});

afterAll(async () => {
  await environment.close();
});

function playedOf({ name }: Pick<Story, "name">): PlayedStory {
  const found = played.get(name);
  if (found === undefined) throw new Error(`${name} was not played`);
  return found;
}

/** The frames of a story as they were produced, before they are normalised. */
const FRAMES = {
  blocks: (story: Story) => framesFrom(blocks, emptyState, playedOf(story).events),
  tasks: (story: Story) => framesFrom(tasks, emptyState, playedOf(story).events),
  responses: (story: Story) => framesFrom(responses, emptyState, playedOf(story).events),
};
type DialectName = keyof typeof FRAMES;
const DIALECTS: readonly DialectName[] = ["blocks", "tasks", "responses"];

function normalOf(story: Story, dialect: DialectName) {
  return normalise(FRAMES[dialect](story), ownIds(story), environment.addressesOf(story));
}

function storyOf(name: string): Story {
  const story = STORIES.find((each) => each.name === name);
  if (story === undefined) throw new Error(`there is no story ${name}`);
  return story;
}

function actualAndWritten(name: string, dialect: DialectName) {
  const story = storyOf(name);
  return [normalOf(story, dialect).frames, writtenFrames(story, dialect)] as const;
}

describe("recorded frames", () => {
  test("W01 W02 W03 W04 W05 W06 W07 thinking, a call, its result and the answer: vnm-stock in blocks", () => {
    const [actual, written] = actualAndWritten("vnm-stock", "blocks");
    expect(actual).toEqual(written);
  });

  test("W05 W06 W07 W08 parallel calls, each matched with its result, one with a chart: two-tools in blocks", () => {
    const [actual, written] = actualAndWritten("two-tools", "blocks");
    expect(actual).toEqual(written);
  });

  test("W02 W07 W08 W10 one call fails, a stop cancels the other: two-tools-stopped in blocks", () => {
    const [actual, written] = actualAndWritten("two-tools-stopped", "blocks");
    expect(actual).toEqual(written);
  });

  test("W02 W11 open blocks are closed before the error: vnm-error in blocks", () => {
    const [actual, written] = actualAndWritten("vnm-error", "blocks");
    expect(actual).toEqual(written);
  });

  test("W02 W09 W10 a stop cancels from the inside out: paris-weather-stopped in blocks", () => {
    const [actual, written] = actualAndWritten("paris-weather-stopped", "blocks");
    expect(actual).toEqual(written);
  });

  test("W05 W06 W08 W14 groups with summaries and shared thoughts between them: market-overview in blocks", () => {
    const [actual, written] = actualAndWritten("market-overview", "blocks");
    expect(actual).toEqual(written);
  });

  test.each(DIALECTS)(
    "W08 W14 W19 shared thoughts beside parallel calls stand outside of their group: market-thought in %s",
    (dialect) => {
      const [actual, written] = actualAndWritten("market-thought", dialect);
      expect(actual).toEqual(written);
    },
  );

  test.each(DIALECTS)(
    "W13 W14 W20 a refusal closes the group, and another plan opens a new one: market-order-replanned in %s",
    (dialect) => {
      const [actual, written] = actualAndWritten("market-order-replanned", dialect);
      expect(actual).toEqual(written);
    },
  );

  test.each(["approved", "edited", "rejected", "timed-out", "stopped"])(
    "W02 W13 W14 W15 an approval inside its group, a question outside, a new group after it: market-order-%s in blocks",
    (how) => {
      const [actual, written] = actualAndWritten(`market-order-${how}`, "blocks");
      expect(actual).toEqual(written);
    },
  );

  test.each(["contact-form", "contact-form-declined"])(
    "W14 W15 S07 a form outside of groups ends the turn, and the next turn continues: %s in blocks",
    (name) => {
      const [actual, written] = actualAndWritten(name, "blocks");
      expect(actual).toEqual(written);
    },
  );

  test.each(DIALECTS)(
    "W04 W12 files first, at index 0, then the answer; only blocks has frames for files: files-report in %s",
    (dialect) => {
      const [actual, written] = actualAndWritten("files-report", dialect);
      expect(actual).toEqual(written);
    },
  );

  test.each(["blocks", "tasks"] as const)(
    "W02 W04 W23 a turn in chat mode has no thinking: chat-mode in %s",
    (dialect) => {
      const [actual, written] = actualAndWritten("chat-mode", dialect);
      expect(actual).toEqual(written);
    },
  );

  test.each(["blocks", "tasks"] as const)(
    "W12 T10 a photo in the message, a picture in a result: photo-question in %s",
    (dialect) => {
      const [actual, written] = actualAndWritten("photo-question", dialect);
      expect(actual).toEqual(written);
    },
  );

  test.each(["approved", "edited", "rejected", "timed-out", "stopped"])(
    "T01 T02 the item of a call carries its approval, and questions have no frames: market-order-%s in tasks",
    (how) => {
      const [actual, written] = actualAndWritten(`market-order-${how}`, "tasks");
      expect(actual).toEqual(written);
    },
  );

  test.each(["contact-form", "contact-form-declined"])(
    "T01 T02 two tasks around a form: %s in tasks",
    (name) => {
      const [actual, written] = actualAndWritten(name, "tasks");
      expect(actual).toEqual(written);
    },
  );

  test("W05 W09 W14 a sub-agent's steps stay in the group of its call: paris-weather in blocks", () => {
    const [actual, written] = actualAndWritten("paris-weather", "blocks");
    expect(actual).toEqual(written);
  });

  test("T05 T06 T08 T09 a sub-agent is a task of its own inside the result of its call: paris-weather in tasks", () => {
    const [actual, written] = actualAndWritten("paris-weather", "tasks");
    expect(actual).toEqual(written);
  });

  test("W05 W09 a citation is at its marker: paris-citations in blocks", () => {
    const [actual, written] = actualAndWritten("paris-citations", "blocks");
    expect(actual).toEqual(written);
  });

  test("T05 T06 T07 T08 T09 both agents cite the references of a sub-agent: paris-citations in tasks", () => {
    const [actual, written] = actualAndWritten("paris-citations", "tasks");
    expect(actual).toEqual(written);
  });

  test("T02 T08 a sub-agent's task is cancelled before the result that contains it: paris-weather-stopped in tasks", () => {
    const [actual, written] = actualAndWritten("paris-weather-stopped", "tasks");
    expect(actual).toEqual(written);
  });

  test.each(["vnm-stock", "vnm-error", "two-tools", "two-tools-stopped", "market-overview"])(
    "T01 T02 T03 T04 reasoning, calls, results and messages: %s in tasks",
    (name) => {
      const [actual, written] = actualAndWritten(name, "tasks");
      expect(actual).toEqual(written);
    },
  );

  test.each(STORIES)(
    "S02 S03 S04 S05 S07 S09 steps, forms and output text: $name in responses",
    ({ name }) => {
      const [actual, written] = actualAndWritten(name, "responses");
      expect(actual).toEqual(written);
    },
  );
});

const SCHEMAS = { blocks: blocksFrameSchema, tasks: tasksFrameSchema, responses: responsesFrameSchema };

describe.each(STORIES)("$name", (story) => {
  test("has frames that match their schemas, and cursors that increase", () => {
    for (const dialect of DIALECTS) {
      const frames = FRAMES[dialect](story);
      for (const frame of frames) expect(SCHEMAS[dialect].safeParse(frame).error).toBeUndefined();
      const cursors = frames.flatMap(({ event_id }) => (event_id === undefined ? [] : [event_id]));
      expect(cursors).toEqual(cursors.toSorted((a, b) => compareCursors(a, b)));
      expect(new Set(cursors).size).toBe(cursors.length);
    }
  });

  test("U01 a plain client of blocks ends in the recorded state", () => {
    const client = new BlocksClient();
    for (const frame of FRAMES.blocks(story)) client.handle({ ...frame });
    expect(client.problems).toEqual([]);
    expect(normalOf(story, "blocks").rename(client.display())).toEqual(writtenEnd(story).blocks);
  });

  test("T01 a plain client of tasks ends in the recorded state", () => {
    const client = new TasksClient();
    for (const frame of FRAMES.tasks(story)) client.handle({ ...frame });
    expect(client.problems).toEqual([]);
    expect(normalOf(story, "tasks").rename(client.display())).toEqual(writtenEnd(story).tasks);
  });

  test("S02 S05 a plain client of responses ends in the recorded state", () => {
    const reader = new SseReader();
    for (const frame of FRAMES.responses(story)) reader.push(responsesToSse(frame));
    expect(reader.problems).toEqual([]);
    expect(normalOf(story, "responses").rename(reader.display())).toEqual(writtenEnd(story).responses);
  });

  test("H02 H03 H04 a client that reloads in the middle ends like one that never reloads", () => {
    const uncut = new BlocksClient();
    for (const frame of FRAMES.blocks(story)) uncut.handle({ ...frame });
    const { reloads } = playedOf(story);
    expect(reloads.map(({ at }) => at).toSorted()).toEqual(story.reloadAt.toSorted());
    for (const { history, client } of reloads) {
      expect(history.agent_status).toBe("running");
      expect(client.problems).toEqual([]);
      expect(withoutUser(client)).toEqual(withoutUser(uncut));
    }
  });

  test("H01 H04 H05 afterwards everything is in history and closed, and nothing runs", async () => {
    const { ref, state } = playedOf(story);
    const later = await harness.state(ref);
    expect(snapshot(later)).toEqual(snapshot(state));
    const history = toHistory(later);
    expect(history.agent_status).toBe("idle");
    const client = new BlocksClient();
    client.load(JSON.parse(JSON.stringify(history)) as typeof history);
    const uncut = new BlocksClient();
    for (const frame of FRAMES.blocks(story)) uncut.handle({ ...frame });
    expect(withoutUser(client)).toEqual(withoutUser(uncut));
  });
});

/** An image as a model gets it. */
function image(base64: string): object {
  const data = Uint8Array.from(Buffer.from(base64, "base64"));
  return { type: "file", mediaType: "image/png", data: { type: "data", data } };
}

/** A clone of a prompt has Buffers and Uint8Arrays. */
function bytesAsArrays(prompt: unknown): unknown {
  if (prompt instanceof Uint8Array) return Uint8Array.from(prompt);
  if (Array.isArray(prompt)) return prompt.map(bytesAsArrays);
  if (typeof prompt !== "object" || prompt === null) return prompt;
  return Object.fromEntries(Object.entries(prompt).map(([name, value]) => [name, bytesAsArrays(value)]));
}

/** History also has the user's own message, and knows of a text that a call follows. */
function withoutUser(client: BlocksClient): unknown {
  return Object.entries(client.display()).map(([id, { items, ...rest }]) => ({
    id,
    ...rest,
    items: (items as { type: string }[])
      .filter(({ type }) => type !== "user")
      .map((item) => (item.type === "text" ? { ...item, is_part: null } : item)),
  }));
}

describe("market-overview in history", () => {
  test("H01 H04 has a start, items and an end for each group, and one message that is a group of its own", () => {
    const { state } = playedOf({ name: "market-overview" });
    const outline = toHistory(state).messages.map((message) => {
      const { role, message_type = "", display_type, summary = "", group_closed = false } = message;
      return [role, message_type, display_type, summary, group_closed ? "closed" : ""].join(" ").trim();
    });
    expect(outline).toEqual([
      "user  content",
      "assistant chat group_start Suy nghĩ closed",
      "assistant step content",
      "assistant step group_start Xem xét giá VNINDEX",
      "assistant step group_item",
      "tool  group_item",
      "tool  group_end Xem xét giá VNINDEX",
      "assistant step content",
      "assistant step group_start Web search",
      "assistant step group_item",
      "tool  group_item",
      "tool  group_item",
      "assistant step group_end Web search",
      "assistant step content",
    ]);
  });
});

describe("reload while an interaction is pending", () => {
  test.each(["approved", "edited", "rejected", "timed-out", "stopped"])(
    "H02 H04 shows the open group with the card in it, which can be answered: market-order-%s",
    (how) => {
      const { reloads } = playedOf({ name: `market-order-${how}` });
      const history = reloads.find(({ at }) => at === "approval.request tc-2")?.history;
      expect(history?.agent_status).toBe("running");
      expect(history?.pending_approval).toMatchObject({
        type: "approval_request",
        status: "pending",
        action_requests: [{ name: "place_order", args: { symbol: "VNM", quantity: 100 } }],
      });
      const markers = history?.messages.map(({ display_type }) => display_type) ?? [];
      expect(markers).toContain("group_start");
      expect(markers).not.toContain("group_end");
    },
  );

  test.each(["approved", "edited"])("H02 shows the question outside of groups: market-order-%s", (how) => {
    const { reloads } = playedOf({ name: `market-order-${how}` });
    const history = reloads.find(({ at }) => at === "question.request q-1")?.history;
    expect(history?.pending_approval).toMatchObject({ action_requests: [{ name: "ask_user_question" }] });
    expect(history?.messages.at(-1)?.display_type).toBe("content");
  });
});

describe("input of the models", () => {
  test("T06 T09 contains only the last text of a sub-agent, and the content of a tool", () => {
    const results = (environment.prompts.get("paris-weather") ?? []).flatMap((prompt) =>
      prompt.flatMap((message) => (message.role === "tool" ? message.content : [])),
    );
    const outputs = results.flatMap((part) =>
      part.type === "tool-result" ? [[part.toolCallId, part.output]] : [],
    );
    expect(Object.fromEntries(outputs)).toEqual({
      call_inner: { type: "json", value: { temperature: "17C", condition: "clear" } },
      call_1234xyz: { type: "text", value: "Paris has a clear sky, and the air is mild for the date." },
      call_time: { type: "text", value: "12:00" },
    });
  });

  test("T07 T09 contains the wrapped references of a sub-agent and its last text", () => {
    const texts = (environment.prompts.get("paris-citations") ?? []).flatMap((prompt) =>
      prompt.flatMap((message) =>
        message.role === "tool"
          ? message.content.flatMap((part) =>
              part.type === "tool-result"
                ? [[part.toolCallId, (part.output as { value: unknown }).value]]
                : [],
            )
          : [],
      ),
    );
    const sky = '{"temperature":"17C","condition":"clear"}';
    const item = `<referencable-item>\nID: 1\n${sky}\n</referencable-item>`;
    expect(Object.fromEntries(texts)).toEqual({
      call_inner: item,
      call_1234xyz: `${item}\nParis has a clear sky, and the air is mild for the date.[^1]`,
      call_time: "12:00",
    });
  });

  test("T01 T06 T07 T09 the owner can read the end state in the printed form of tasks, with the content that the model read", async () => {
    const { ref, state } = playedOf({ name: "paris-citations" });
    const turn = state.turns.last()?.id ?? "";
    const end = await readTurnResult(harness.backend, ref, { turn });
    const tags = ["added_by_reference_manager"];
    const sky = '{"temperature":"17C","condition":"clear"}';
    const text = "Paris has a clear sky, and the air is mild for the date.[^1]";
    const pool = [
      { type: "text", text: "<referencable-item>\nID: 1", id: 1, tags },
      { type: "text", text: sky, id: 1 },
      { type: "text", text: "</referencable-item>", id: 1, tags },
    ];
    const annotations = [{ type: "reference_to_block", reference_id: 1, start_index: 56, end_index: 60 }];
    expect(end?.task_id).toBe(turn);
    expect(
      end?.output.find((item) => item.type === "tool_result" && item.call_id === "call_1234xyz"),
    ).toMatchObject({
      content: [...pool, { type: "text", text }],
      block_list: [
        { type: "reasoning" },
        { type: "tool_call", call_id: "call_inner" },
        {
          type: "tool_result",
          block_list: [
            { type: "text", text: sky, id: 1 },
            { type: "image", id: 1 },
          ],
        },
        { type: "message", block_list: [{ type: "text", text, annotations }] },
      ],
    });
    expect(end?.output.at(-1)).toMatchObject({
      type: "message",
      content: [{ type: "text", text }],
      block_list: [{ type: "text", text, annotations }],
    });
    const inner = await readTurnResult(harness.backend, ref, { turn, task: "call_1234xyz" });
    // 001 prints the picture inside the reference that it belongs to.
    const url = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAA";
    const picture = { type: "image_url", image_url: { url }, id: 1 };
    expect(inner?.output.find((item) => item.type === "tool_result")).toMatchObject({
      content: pool.toSpliced(2, 0, picture as never),
    });
    expect(await readTurnResult(harness.backend, ref, { turn: "none" })).toBeNull();
    expect(await readTurnResult(harness.backend, await harness.session(), { turn })).toBeNull();
  });

  test("W12 contains the text of the files before the first answer", () => {
    const [first, ...more] = environment.prompts.get("files-report") ?? [];
    expect(more).toEqual([]);
    const pages = storyOf("files-report").files?.flatMap((file) => ("pages" in file ? file.pages : []));
    for (const line of pages?.flat() ?? []) expect(JSON.stringify(first)).toContain(line);
  });

  test("T10 contains the photo of the message and the picture of the result, as bytes", () => {
    const [first = [], second = []] = environment.prompts.get("photo-question") ?? [];
    const photo = {
      role: "user",
      content: [
        {
          type: "text",
          text: 'Which bird is this?\n[File "bird.png": image/png, 73 bytes. The image follows.]',
        },
        { filename: "bird.png", ...image(PHOTO) },
      ],
    };
    expect(bytesAsArrays(first)).toEqual([photo]);
    expect(bytesAsArrays(second)).toMatchObject([
      photo,
      { role: "assistant" },
      { role: "tool", content: [{ output: { type: "text", value: "The beak is enlarged." } }] },
      {
        role: "user",
        content: [
          { type: "text", text: "[Image of the result of zoom_in. It is not a message of the user.]" },
          image(DETAIL),
        ],
      },
    ]);
  });

  test("ends after a stop", () => {
    expect(environment.prompts.get("two-tools-stopped")).toHaveLength(1);
    expect(environment.prompts.get("two-tools")).toHaveLength(3);
  });
});

test("the worker reports only the errors of the stories: a tool that throws and a model that fails", () => {
  expect(new Set(harness.errors.map(({ during }) => during.split(" ")[0]))).toEqual(new Set(["the", "turn"]));
  expect(harness.errors).toHaveLength(2);
});
