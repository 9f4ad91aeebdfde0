/** Checks that a page reloaded at any position shows the same as an uncut connection of the `blocks` dialect. */
import { emptyState, type SessionEvent, type SessionState } from "@turnstream/protocol";
import { coalesce, foldWithHandoffPoint, trackHandoffPoint } from "@turnstream/protocol/writer";
import { blocks, toHistory } from "@turnstream/protocol/blocks";
import { expect, test } from "vitest";
import { BlocksClient } from "../clients/blocks-client.ts";
import { feedBlocks } from "../support/feed-blocks.ts";
import { framesFrom, sameAs, statesOf } from "../support/replay.ts";
import { atEveryCut, atThreeCuts } from "../support/property-runs.ts";

/**
 * Leaves out user messages, whose frames have no `message_id`, and `is_part` of texts outside of groups: only history
 * knows that a call followed a text.
 */
function withoutUsers(display: ReturnType<BlocksClient["display"]>): unknown {
  const shown = Object.entries(display).flatMap(([id, message]) => {
    const items = (message.items as { type: string }[])
      .filter(({ type }) => type !== "user")
      .map((item) => (item.type === "text" ? { ...item, is_part: null } : item));
    return items.length + message.half.length === 0 ? [] : [[id, { ...message, items }]];
  });
  return Object.fromEntries(shown);
}

/** Reloads: history at the handoff point, then the stream after it. */
function reload(events: SessionEvent[], cuts: number[]): void {
  const states = statesOf(events);
  const uncut = feedBlocks(new BlocksClient(), framesFrom(blocks, emptyState, events));
  expect(uncut.problems).toEqual([]);
  const expectShown = sameAs(withoutUsers(uncut.display()));
  const handoffs = foldHandoffs(events);
  for (const k of cuts) {
    const from = handoffs[k] as SessionState;
    const client = new BlocksClient();
    client.load(JSON.parse(JSON.stringify(toHistory(from))) as ReturnType<typeof toHistory>);
    const replay = framesFrom(blocks, states[from.seq] as SessionState, coalesce(events.slice(from.seq, k)));
    const live = framesFrom(blocks, states[k] as SessionState, events.slice(k));
    feedBlocks(feedBlocks(client, replay), live);
    expect(client.problems).toEqual([]);
    expectShown(withoutUsers(client.display()));
    expect(client.questions.toSorted()).toEqual(questionsAfter(events, from));
  }
}

/** The texts of all user messages, except those that were withdrawn or answered a question before the reload. */
function questionsAfter(events: SessionEvent[], { settled }: SessionState): string[] {
  return events
    .flatMap((e) => (e.type === "message.add" && !settled.includes(e.message) ? [e.text] : []))
    .toSorted();
}

function foldHandoffs(events: SessionEvent[]): SessionState[] {
  let track = trackHandoffPoint(emptyState);
  const points = [
    track.handoff,
    ...events.map((event) => (track = foldWithHandoffPoint(track, event)).handoff),
  ];
  return points.map((point) => point ?? emptyState);
}

test("H03 H04 at every position of generated logs, history at the handoff point and the stream after it show the same as an uncut connection", () => {
  atEveryCut(reload);
});

test("H03 H04 the same at three positions of many more logs", () => {
  atThreeCuts(reload);
});
