/** Properties of the `responses` dialect: a plain SSE reader that is cut off anywhere ends with the same response. */
import { responses } from "../support/codecs.ts";
import { emptyState, type SessionEvent } from "@turnstream/protocol";
import { type ResponsesFrame, responsesFromSse, responsesToSse } from "@turnstream/protocol/responses";
import { expect, test } from "vitest";
import { SseReader } from "../clients/sse-reader.ts";
import { eraseForResponses, joinedText, takenTurns } from "../support/dialect-losses.ts";
import { atEveryFrame, decodesLegally, roundTrip } from "../support/dialect-checks.ts";
import { expectSame, framesFrom, positionOf, resumeFrames, sameAs, statesOf } from "../support/replay.ts";
import { atEveryCut, atThreeCuts, partOf } from "../support/property-runs.ts";

function feed(reader: SseReader, frames: readonly ResponsesFrame[]): SseReader {
  for (const frame of frames) reader.push(responsesToSse(frame));
  return reader;
}

function reconnect(events: SessionEvent[], cuts: number[], include_tool_tags = false): void {
  const states = statesOf(events);
  const options = { include_tool_tags };
  const frames = framesFrom(responses, emptyState, events, options);
  const uncut = feed(new SseReader(), frames);
  expect(uncut.problems).toEqual([]);
  const expectShown = sameAs(uncut.display());
  for (const cut of cuts) {
    const reader = feed(new SseReader(), frames.slice(0, cut));
    feed(reader, resumeFrames(responses, states, events, positionOf(reader.cursor), options));
    expect(reader.problems).toEqual([]);
    expectShown(reader.display());
  }
}

test("S02 S05 S06 at every message of generated logs, a reader that is cut off ends with the response of an uncut one", () => {
  atEveryCut(atEveryFrame(responses, (events, cuts) => reconnect(events, cuts)));
});

test("S06 the same with tool tags, at three messages of many more logs", () => {
  atThreeCuts((events, cuts) => reconnect(events, cuts, true), partOf(1_000));
});

test("S05 without a takeover, the deltas joined are the final text", () => {
  atThreeCuts((events) => {
    if (events.some((event) => event.type === "turn.takeover")) return;
    let output = "";
    for (const frame of framesFrom(responses, emptyState, events)) {
      if (frame.type === "response.created") output = "";
      if (frame.type === "response.output_text.delta") output += frame.delta;
      if (frame.type === "response.output_text.completed") expect(frame.final_text).toBe(output);
    }
  }, partOf(2_000));
});

test("the encoder's position in the text follows from the state at every position", () => {
  atEveryCut((events) => {
    let encoder = responses.attach(emptyState, {});
    for (const event of events) {
      ({ encoder } = responses.encode(encoder, event));
      expectSame(encoder.text, responses.attach(encoder.state, {}).text);
    }
  });
});

const encodeAndDecode = roundTrip(responses, (state, whole) => {
  // A decoder's blocks already contain the separators between the blocks of the log.
  return eraseForResponses(state, takenTurns(whole), state === whole ? undefined : joinedText);
});

test("at every message of generated logs, everything that the responses dialect carries survives encode and decode", () => {
  atEveryCut(encodeAndDecode);
});

test("H03 the same at three positions of many more logs", () => {
  atThreeCuts((events, cuts) => {
    reconnect(events, cuts);
    encodeAndDecode(events, cuts);
  });
});

test("S02 frames survive the SSE text", () => {
  atThreeCuts((events) => {
    for (const frame of framesFrom(responses, emptyState, events)) {
      const lines = responsesToSse(frame).split("\n");
      const data = lines.find((line) => line.startsWith("data: "))?.slice(6) ?? "";
      const id = lines.find((line) => line.startsWith("id: "))?.slice(4);
      expectSame(responsesFromSse({ data, id }), frame);
    }
  }, partOf(500));
});

test("decoded logs are valid", () => {
  atEveryCut(decodesLegally(responses));
});

test("an approval of a call that runs again after a takeover supersedes the first result", () => {
  const on = { turn: "t", run: "t/main" };
  const tool = { call: "c", name: "buy", label: "Buy" };
  const start = { number: 1, message: "m", message_number: 1, agent: "a" };
  const action = { name: "buy", input: {} };
  const drafts = [
    { type: "session.start", session: "s", number: 1 },
    { type: "message.add", message: "m", text: "Buy" },
    { type: "turn.start", turn: "t", ...start, mode: "agent", from_share: false },
    { type: "run.start", ...on, agent: "a" },
    { type: "tool_call.start", ...on, block: "b0", index: 0, ...tool },
    { type: "tool_call.end", ...on, block: "b0", index: 0, input: {} },
    { type: "tool_result.start", ...on, block: "b1", index: 1, ...tool },
    { type: "tool_result.end", ...on, block: "b1", index: 1, status: "success", preview: "", artifact: null },
    { type: "turn.takeover", turn: "t", blocks: ["b1"], groups: [], runs: [] },
    {
      type: "approval.request",
      ...on,
      block: "b2",
      index: 2,
      key: "k",
      call: "c",
      actions: [action],
      editable: true,
    },
  ];
  const events = drafts.map((draft, n) => ({ v: 1, at: n, id: `${n < 8 ? 1 : 2}-${n + 1}`, ...draft }));
  expect(() => decodesLegally(responses)(events as SessionEvent[])).not.toThrow();
});
