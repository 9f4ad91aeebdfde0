/**
 * Tests the client against servers of the documents: frames and history as they print them, without our additions, and
 * without the reply to a subscription.
 */
import { HISTORIES_004 } from "@turnstream/conformance/printed/document-004.ts";
import { outlineTurn, PRINTED } from "@turnstream/conformance/printed/examples.ts";
import {
  fold,
  listBlocks,
  restore,
  type SessionEvent,
  type SessionState,
  type Snapshot,
} from "@turnstream/protocol";
import { describe, expect, test } from "vitest";
import { blocks } from "../src/blocks/blocks.ts";
import type { ClientDialect } from "@turnstream/client";
import { DialectAdapter } from "../src/dialect-adapter.ts";
import { responsesDecoder } from "../src/responses/decode.ts";
import { tasks } from "../src/tasks/tasks.ts";
import type { Channel, ChannelEvents, DialectContext, Frame } from "../src/client-seam.ts";

/** The channel of `responses` opens streams itself, so the frames are passed to its adapter. */
const responses: ClientDialect = {
  name: "responses",
  connect: (context) => new DialectAdapter({ decoder: responsesDecoder, sendsUserMessages: false }, context),
};
const DIALECTS = { blocks, tasks, responses };

function emptyResult(tool_use_id: string): object {
  return { type: "tool_result", tool_use_id, content: "", status: "success" };
}

/** Subscribes to a session and returns the state after the history and the frames. */
async function show(
  dialect: ClientDialect,
  history: unknown,
  frames: readonly object[],
): Promise<SessionState> {
  const json = async () => history;
  const adapter = dialect.connect({ json } as Partial<DialectContext> as DialectContext);
  const received: Frame[] = [];
  let server: ChannelEvents | undefined;
  let settle: (() => void) | undefined;
  const subscribed = new Promise<void>((resolve) => (settle = resolve));
  const bare: Channel = { subscribe: () => settle?.(), unsubscribe() {}, send() {}, close() {} };
  const events: ChannelEvents = {
    onOpen() {},
    onReceive() {},
    onError() {},
    onClose() {},
    onFrame(frame) {
      received.push(frame);
      if (frame.type === "error") settle?.();
    },
  };
  const channel = adapter.openChannel((on) => {
    server = on;
    return bare;
  }, events);
  channel.subscribe("harbour-7", "r1", null);
  await subscribed;
  for (const frame of frames) server?.onFrame(frame as Frame);
  expect(received.filter(({ type }) => type === "error")).toEqual([]);
  const [start, snapshot, ...rest] = received;
  expect([start?.type, snapshot?.type]).toEqual(["subscribed", "snapshot"]);
  return rest.reduce(
    (state, frame) => fold(state, frame as unknown as SessionEvent),
    restore(snapshot?.["snapshot"] as Snapshot),
  );
}

const EMPTY = { messages: [], last_event_id: "0-0" };

describe("W01 T01 S02 a client shows the frames that the documents print", () => {
  test.each(PRINTED.map((each) => [each.document, each.lines, each.about, each] as const))(
    "%s:%s %s",
    async (_document, _lines, _about, { dialect, frames, shows }) => {
      const state = await show(DIALECTS[dialect], EMPTY, frames);
      const turn = state.turns.last();
      expect(turn === undefined ? [] : listBlocks(turn)).toMatchObject(shows);
    },
  );
});

/** 004 subscribes after the page. A title is a frame outside of turns, so it changes nothing that is compared. */
const AFTER = [{ type: "session_title", session_id: "harbour-7", title: "Ferries" }];

describe("H01 H03 H06 a client shows the history that 004 prints", () => {
  test.each(HISTORIES_004.map((each) => [each.lines, each.about, each] as const))(
    "%s %s",
    async (_lines, _about, { messages, outline }) => {
      for (const page of [messages, { messages, last_event_id: "1-9" }]) {
        const turn = (await show(blocks, page, AFTER)).turns.last();
        expect(turn?.status).toBe("end_turn");
        expect(turn === undefined ? [] : outlineTurn(turn)).toEqual(outline);
      }
    },
  );

  test("with its user message, and with a group that the stream continues", async () => {
    const [, , example] = HISTORIES_004;
    const messages = (example?.messages ?? []).slice(0, 3);
    const page = { messages, agent_status: "running", last_event_id: "1-4" };
    const frames = [
      { type: "content_block_start", index: 5, content_block: emptyResult("call-a") },
      { type: "content_block_stop", index: 5 },
      { type: "content_block_start", index: 6, content_block: emptyResult("call-b") },
      { type: "content_block_stop", index: 6 },
      { type: "group_end", index: 7, summary: "Reading the timetable" },
    ];
    const turn = (await show(blocks, page, frames)).turns.last();
    expect(turn?.message?.text).toBe("when is the next ferry");
    expect(turn === undefined ? [] : outlineTurn(turn)).toEqual(example?.outline.slice(0, 4));
  });
});
