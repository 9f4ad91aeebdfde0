/** Inputs for `places.json`: a position and an incoming event. The script computes the class of the event. */
import type { PlacesVector } from "../vector-types.ts";

type Place = Omit<PlacesVector["cases"][number], "place">;

const LAST = { epoch: 2, seq: 7 };
const delta = (id: string, first?: number): Place["event"] => ({
  id,
  type: "text.delta",
  ...(first === undefined ? {} : { first }),
});

export const PLACES: readonly Place[] = [
  { name: "the first event", last: { epoch: 0, seq: 0 }, event: { id: "1-1", type: "session.start" } },
  { name: "the first event is missing", last: { epoch: 0, seq: 0 }, event: delta("1-2") },
  { name: "the first event claims nothing", last: { epoch: 0, seq: 0 }, event: delta("1-1") },
  { name: "right after the last position", last: LAST, event: delta("2-8") },
  { name: "merged, right after the last position", last: LAST, event: delta("2-11", 8) },
  { name: "of an unknown type", last: LAST, event: { id: "2-8", type: "mood.change" } },
  { name: "one event is missing", last: LAST, event: delta("2-9") },
  { name: "merged, one event is missing", last: LAST, event: delta("2-11", 9) },
  { name: "events and an epoch are missing", last: LAST, event: delta("3-9") },
  {
    name: "events are missing before a takeover",
    last: LAST,
    event: { id: "3-9", type: "turn.takeover" },
  },
  { name: "the last event again", last: LAST, event: delta("2-7") },
  { name: "an earlier event again", last: LAST, event: delta("2-6") },
  { name: "an event of an earlier epoch again", last: LAST, event: delta("1-3") },
  { name: "merged, all of it known", last: LAST, event: delta("2-7", 5) },
  { name: "an earlier epoch's, at the last position", last: LAST, event: delta("1-7") },
  { name: "an earlier epoch's, after the takeover", last: LAST, event: delta("1-8") },
  { name: "an earlier epoch's, far ahead", last: LAST, event: delta("1-40") },
  { name: "an earlier epoch's, merged", last: LAST, event: delta("1-9", 7) },
  { name: "an earlier epoch's claim", last: LAST, event: { id: "1-8", type: "turn.start" } },
  { name: "merged, reaches back over the last position", last: LAST, event: delta("2-9", 7) },
  { name: "merged in the next epoch, reaches back", last: LAST, event: delta("3-9", 7) },
  { name: "a higher epoch at the last position", last: LAST, event: delta("3-7") },
  { name: "a higher epoch at an earlier position", last: LAST, event: delta("3-4") },
  {
    name: "a takeover at a known position",
    last: LAST,
    event: { id: "3-7", type: "turn.takeover" },
  },
  { name: "a higher epoch that no event claimed", last: LAST, event: delta("3-8") },
  {
    name: "a message claims no epoch",
    last: LAST,
    event: { id: "3-8", type: "message.add" },
  },
  { name: "a takeover claims the next epoch", last: LAST, event: { id: "3-8", type: "turn.takeover" } },
  { name: "a turn claims the next epoch", last: LAST, event: { id: "3-8", type: "turn.start" } },
  { name: "epochs may be skipped", last: LAST, event: { id: "9-8", type: "turn.takeover" } },
  { name: "numbers and not text", last: { epoch: 9, seq: 99 }, event: { id: "10-100", type: "turn.start" } },
  { name: "no position", last: LAST, event: delta("2-08") },
  { name: "a position with white space", last: LAST, event: delta("2-8\n") },
  { name: "no id", last: LAST, event: delta("") },
];
