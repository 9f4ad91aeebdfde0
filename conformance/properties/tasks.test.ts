/** Properties of the `tasks` dialect: exact resume at every frame, for plain clients and through decode. */
import { emptyState, type Event, fold, legal, type SessionState } from "@turnstream/protocol";
import { tasks } from "@turnstream/protocol/tasks";
import { describe, expect, test } from "vitest";
import { TasksClient } from "../clients/tasks-client.ts";
import { eraseForTasks } from "../support/erase.ts";
import { decodeAll, expectSame, framesFrom, positionOf, resumeFrames, statesOf } from "../support/replay.ts";
import { atEveryCut, atThreeCuts } from "../support/sizes.ts";

function feed(client: TasksClient, frames: readonly object[]): TasksClient {
  for (const frame of frames) client.handle(frame as Record<string, unknown>);
  return client;
}

/** A client that is cut off between any two frames, and one that begins again from the start. */
export function reconnect(events: Event[], cuts: number[]): void {
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

describe("T02 T08 a tasks client cut between any two frames ends with the output of an uncut one", () => {
  test("at every frame of 500 logs", () => {
    atEveryCut((events) => {
      const frames = framesFrom(tasks, emptyState, events).length;
      reconnect(
        events,
        Array.from({ length: frames + 1 }, (_, n) => n),
      );
    });
  });
  test("at three frames of 10,000 logs", () => atThreeCuts(reconnect));
});

export function roundTrip(events: Event[], cuts: number[]): void {
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

describe("what the tasks dialect carries survives encode and decode, whatever the cut", () => {
  test("at every frame of 500 logs", () => atEveryCut(roundTrip));
  test("at three frames of 10,000 logs", () => atThreeCuts(roundTrip));
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
