/** Properties of the `tasks` dialect: exact resume at every frame, for plain clients and through decode. */
import { emptyState, type Event, fold, legal, type SessionState } from "@turnstream/protocol";
import { tasks } from "@turnstream/protocol/tasks";
import { expect, test } from "vitest";
import { TasksClient } from "../clients/tasks-client.ts";
import { eraseForTasks } from "../support/erase.ts";
import { decodeAll, expectSame, framesFrom, positionOf, resumeFrames, statesOf } from "../support/replay.ts";
import { atEveryCut, atThreeCuts } from "../support/sizes.ts";

function feed(client: TasksClient, frames: readonly object[]): TasksClient {
  for (const frame of frames) client.handle(frame as Record<string, unknown>);
  return client;
}

/** A client that is cut off between any two frames, and one that begins again from the start. */
function reconnect(events: Event[], cuts: number[]): void {
  const states = statesOf(events);
  const frames = framesFrom(tasks, emptyState, events);
  const uncut = feed(new TasksClient(), frames);
  expect(uncut.problems).toEqual([]);
  const afresh = feed(new TasksClient(), resumeFrames(tasks, states, events, 0));
  expectSame(afresh.display(), uncut.display());
  for (const cut of cuts) {
    const client = feed(new TasksClient(), frames.slice(0, cut));
    feed(client, resumeFrames(tasks, states, events, positionOf(client.cursor)));
    expect(client.problems).toEqual([]);
    expectSame(client.display(), uncut.display());
  }
}

test("T02 T08 at every frame of 500 logs, a client that is cut off ends with the output of an uncut one", () => {
  atEveryCut((events) => {
    const frames = framesFrom(tasks, emptyState, events).length;
    reconnect(
      events,
      Array.from({ length: frames + 1 }, (_, n) => n),
    );
  });
});

function roundTrip(events: Event[], cuts: number[]): void {
  const states = statesOf(events);
  const frames = framesFrom(tasks, emptyState, events);
  const expected = eraseForTasks(states.at(-1) as SessionState);
  for (const cut of cuts) {
    const seen = frames.slice(0, cut);
    const at = positionOf(seen.findLast((frame) => frame.event_id !== undefined)?.event_id ?? null);
    const { decoder } = decodeAll(tasks, [...seen, ...resumeFrames(tasks, states, events, at)]);
    expectSame(eraseForTasks(decoder.state), expected);
  }
}

test("at every frame of 500 logs, what the tasks dialect carries survives encode and decode", () => {
  atEveryCut(roundTrip);
});

test("H03 all of this at three positions of 10,000 logs", () => {
  atThreeCuts((events, cuts) => {
    reconnect(events, cuts);
    roundTrip(events, cuts);
  });
});

test("decoded logs are legal", () => {
  atEveryCut((events) => {
    if (events.some((event) => "hidden" in event)) return;
    let state = emptyState;
    for (const event of decodeAll(tasks, framesFrom(tasks, emptyState, events)).events) {
      const wrong = legal(state, event);
      // The reason is carried, the form or payment that it speaks of is not.
      const isKnown = event.type === "turn.end" && event.reason === "requires_interaction";
      if (wrong !== null && !isKnown) expect(wrong).toBeNull();
      state = fold(state, event);
    }
  });
});
