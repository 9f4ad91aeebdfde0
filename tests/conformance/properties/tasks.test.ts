/** Properties of the `tasks` dialect: exact resume at every frame, for plain clients and through decode. */
import { tasks } from "../support/codecs.ts";
import { emptyState, type SessionEvent } from "@turnstream/protocol";
import { expect, test } from "vitest";
import { TasksClient } from "../clients/tasks-client.ts";
import { eraseForTasks } from "../support/dialect-losses.ts";
import { atEveryFrame, decodesLegally, roundTrip } from "../support/dialect-checks.ts";
import { framesFrom, positionOf, resumeFrames, sameAs, statesOf } from "../support/replay.ts";
import { atEveryCut, atThreeCuts } from "../support/property-runs.ts";

function feed(client: TasksClient, frames: readonly object[]): TasksClient {
  for (const frame of frames) client.handle(frame as Record<string, unknown>);
  return client;
}

/** Resumes a client that is cut off between two frames, and restarts another one from the start. */
function reconnect(events: SessionEvent[], cuts: number[]): void {
  const states = statesOf(events);
  const frames = framesFrom(tasks, emptyState, events);
  const uncut = feed(new TasksClient(), frames);
  expect(uncut.problems).toEqual([]);
  const expectShown = sameAs(uncut.display());
  const afresh = feed(new TasksClient(), resumeFrames(tasks, states, events, 0));
  expectShown(afresh.display());
  for (const cut of cuts) {
    const client = feed(new TasksClient(), frames.slice(0, cut));
    feed(client, resumeFrames(tasks, states, events, positionOf(client.cursor)));
    expect(client.problems).toEqual([]);
    expectShown(client.display());
  }
}

test("T02 T08 at every frame of generated logs, a client that is cut off ends with the output of an uncut one", () => {
  atEveryCut(atEveryFrame(tasks, reconnect));
});

const encodeAndDecode = roundTrip(tasks, eraseForTasks);

test("at every frame of generated logs, everything that the tasks dialect carries survives encode and decode", () => {
  atEveryCut(encodeAndDecode);
});

test("H03 the same at three positions of many more logs", () => {
  atThreeCuts((events, cuts) => {
    reconnect(events, cuts);
    encodeAndDecode(events, cuts);
  });
});

test("decoded logs are valid", () => {
  // The dialect carries the reason, but not the form or payment that it refers to.
  atEveryCut(
    decodesLegally(tasks, (event) => event.type === "turn.end" && event.reason === "requires_interaction"),
  );
});
