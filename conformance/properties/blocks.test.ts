/** Properties of the `blocks` dialect: the same screen after any cut, reload or takeover. */
import {
  coalesce,
  emptyState,
  type SessionEvent,
  foldWithHandoffPoint,
  type SessionState,
  trackHandoffPoint,
} from "@turnstream/protocol";
import { blocks, toHistory, resyncBlocks } from "@turnstream/protocol/blocks";
import { expect, test } from "vitest";
import { BlocksClient } from "../clients/blocks-client.ts";
import { eraseForBlocks } from "../support/dialect-losses.ts";
import { atEveryFrame, decodesLegally, roundTrip } from "../support/dialect-checks.ts";
import { crashed } from "../support/crash.ts";
import { framesFrom, positionOf, resumeFrames, sameAs, statesOf } from "../support/replay.ts";
import { atEveryCut, atThreeCuts } from "../support/property-runs.ts";

function feed(client: BlocksClient, frames: readonly object[]): BlocksClient {
  for (const frame of frames) client.handle(frame as Record<string, unknown>);
  return client;
}

/** Only the turns that the reloaded client can have: the user's words stand in history, not in the stream. */
function withoutUsers(display: ReturnType<BlocksClient["display"]>): unknown {
  const shown = Object.entries(display).flatMap(([id, message]) => {
    const items = message.items.filter((item) => (item as { type: string }).type !== "user");
    return items.length + message.half.length === 0 ? [] : [[id, { ...message, items }]];
  });
  return Object.fromEntries(shown);
}

/** Reload: history as of the quiet point, then the stream after it. */
function reload(events: SessionEvent[], cuts: number[]): void {
  const states = statesOf(events);
  const uncut = feed(new BlocksClient(), framesFrom(blocks, emptyState, events));
  expect(uncut.problems).toEqual([]);
  const expectShown = sameAs(withoutUsers(uncut.display()));
  const quiet = quietPoints(events);
  for (const k of cuts) {
    const from = quiet[k] as SessionState;
    const client = new BlocksClient();
    client.load(JSON.parse(JSON.stringify(toHistory(from))) as ReturnType<typeof toHistory>);
    const replay = framesFrom(blocks, states[from.seq] as SessionState, coalesce(events.slice(from.seq, k)));
    const live = framesFrom(blocks, states[k] as SessionState, events.slice(k));
    feed(feed(client, replay), live);
    expect(client.problems).toEqual([]);
    expectShown(withoutUsers(client.display()));
  }
}

function quietPoints(events: SessionEvent[]): SessionState[] {
  let track = trackHandoffPoint(emptyState);
  const points = [
    track.handoff,
    ...events.map((event) => (track = foldWithHandoffPoint(track, event)).handoff),
  ];
  return points.map((point) => point ?? emptyState);
}

test("H03 H04 at every position of 500 logs, history at the quiet point and the stream after it show what an uncut connection shows", () => {
  atEveryCut(reload);
});

/** Reconnect without reload: cut between any two frames, go on from the last cursor seen. */
function reconnect(events: SessionEvent[], cuts: number[]): void {
  const states = statesOf(events);
  const frames = framesFrom(blocks, emptyState, events);
  const expectShown = sameAs(feed(new BlocksClient(), frames).display());
  for (const cut of cuts) {
    const client = feed(new BlocksClient(), frames.slice(0, cut));
    feed(client, resumeFrames(blocks, states, events, positionOf(client.cursor)));
    expect(client.problems).toEqual([]);
    expectShown(client.display());
  }
}

test("W01 W03 at every frame of 500 logs, a connection that is cut goes on from its cursor without gap or overlap", () => {
  atEveryCut(atEveryFrame(blocks, reconnect));
});

/** Too slow: what came after `since` was dropped, and a resync brings the client up to date. */
function fallBehind(events: SessionEvent[], cuts: number[]): void {
  const states = statesOf(events);
  const expectShown = sameAs(feed(new BlocksClient(), framesFrom(blocks, emptyState, events)).display());
  for (const since of cuts) {
    const k = Math.min(events.length, since + 1 + (since % 40));
    const client = feed(new BlocksClient(), framesFrom(blocks, emptyState, events.slice(0, since)));
    feed(client, resyncBlocks(states[k] as SessionState, since));
    expect(positionOf(client.cursor)).toBeLessThanOrEqual(k);
    feed(client, resumeFrames(blocks, states, events, k));
    expect(client.problems).toEqual([]);
    expectShown(client.display());
  }
}

test("at every position of 500 logs, a client that fell behind is brought up to date", () => {
  atEveryCut(fallBehind);
});

const encodeAndDecode = roundTrip(blocks, eraseForBlocks);

test("at every frame of 500 logs, what the blocks dialect carries survives encode and decode", () => {
  atEveryCut(encodeAndDecode);
});

test("H03 all of this at three positions of 10,000 logs", () => {
  atThreeCuts((events, cuts) => {
    reload(events, cuts);
    reconnect(events, cuts);
    fallBehind(events, cuts);
    encodeAndDecode(events, cuts);
  });
});

test("decoded logs are legal", () => {
  // When a server tells a turn again, what people were asked is void too and asked again, and a payment is told
  // as it is now, without the states it went through.
  atEveryCut(decodesLegally(blocks, ({ type }) => type === "turn.takeover" || type === "payment.update"));
});

test("W02 a turn that ends over open blocks leaves nothing in progress on the wire", () => {
  atThreeCuts((events, cuts) => {
    for (const k of cuts) {
      const client = feed(new BlocksClient(), framesFrom(blocks, emptyState, crashed(events.slice(0, k))));
      expect(client.problems).toEqual([]);
      expect(Object.values(client.display()).flatMap((message) => message.half)).toEqual([]);
    }
  }, 2000);
});
