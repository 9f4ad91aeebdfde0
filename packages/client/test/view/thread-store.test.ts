/** Who is told of what: a delta reaches only those who look at its turn. */
import { describe, expect, test } from "vitest";
import { type StaticSession, createStaticSession } from "@turnstream/client/static";
import { Sequence } from "@turnstream/protocol";
import {
  type ThreadTopic,
  createThreadStore,
  isSameList,
  TURNS_PER_CHUNK,
  chunkTurns,
} from "../../src/view/thread-store.ts";
import { eventsOf } from "./vector-logs.ts";

const events = eventsOf("several-turns");
const starts = events.flatMap((event, n) => (event.type === "turn.start" ? [n] : []));
const [, second = 0] = starts;

/** Whatever is told, in order, while something is done. */
function notifiedTopics(session: StaticSession, channels: readonly ThreadTopic[], act: () => void): string[] {
  const store = createThreadStore(session);
  const topics: string[] = [];
  const leave = channels.map((channel) => store.subscribe(channel, () => topics.push(channel)));
  act();
  for (const go of leave) go();
  return topics;
}

describe("a thread's store", () => {
  test("U08 tells of a delta only whoever looks at its turn", () => {
    const session = createStaticSession(events.slice(0, second + 2));
    const [first = "", now = ""] = createThreadStore(session).getTurnIds();
    const rest = events.slice(second + 2).find(({ type }) => type === "text.start" || type === "group.start");
    if (rest === undefined) throw new Error("nothing follows");
    const topics = notifiedTopics(session, ["turns", `turn:${first}`, `turn:${now}`, "view"], () =>
      session.append([rest]),
    );
    expect(topics).toEqual([`turn:${now}`, "view"]);
  });

  test("tells of a new turn, and of what is no longer there", () => {
    const session = createStaticSession(events.slice(0, second));
    const { turns } = session.getSnapshot().state;
    const only = turns.last()?.id ?? "";
    expect(
      notifiedTopics(session, ["turns"], () => session.append(events.slice(second, second + 1))),
    ).toEqual(["turns"]);
    const state = { ...session.getSnapshot().state, turns: Sequence.empty<never>() };
    expect(notifiedTopics(session, ["turns", `turn:${only}`], () => session.setView({ state }))).toEqual([
      "turns",
      `turn:${only}`,
    ]);
  });

  test("keeps the list of turns the same while none comes or goes", () => {
    const session = createStaticSession(events.slice(0, second));
    const store = createThreadStore(session);
    const ids = store.getTurnIds();
    session.setView({ skewMs: 1 });
    expect(store.getTurnIds()).toBe(ids);
    session.append(events.slice(second, second + 1));
    expect(store.getTurnIds()).toHaveLength(ids.length + 1);
  });

  test("listens to the session once, and only while somebody listens to it", () => {
    const session = createStaticSession(events);
    let listening = 0;
    const { subscribe } = session;
    const counted = {
      ...session,
      subscribe: (listener: () => void) => {
        listening++;
        const leave = subscribe(listener);
        return () => {
          listening--;
          leave();
        };
      },
    };
    const store = createThreadStore(counted);
    const one = store.subscribe("view", () => {});
    const other = store.subscribe("turns", () => {});
    expect(listening).toBe(1);
    one();
    expect(listening).toBe(1);
    other();
    expect(listening).toBe(0);
  });
});

/** Long lists in portions. */
const ids = (from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_, n) => String(from + n));

test("a list is all there, in order", () => {
  const portions = chunkTurns(ids(5, 70), Number);
  expect(portions.flatMap((portion) => portion.ids)).toEqual(ids(5, 70));
  expect(Math.max(...portions.map((portion) => portion.ids.length))).toBe(TURNS_PER_CHUNK);
});

test("what is put in front or behind leaves the portions between as they are", () => {
  const before = chunkTurns(ids(21, 70), Number);
  const after = new Map(chunkTurns(ids(1, 71), Number).map((portion) => [portion.key, portion.ids]));
  const isSame = before.map(({ key, ids: was }) => isSameList(was, after.get(key) ?? []));
  expect(isSame).toEqual([false, true, true, false]);
});

test("a turn that is far from the others stands by itself", () => {
  expect(chunkTurns(["3", "90", "91"], Number)).toEqual([
    { key: 0, ids: ["3"] },
    { key: 5, ids: ["90", "91"] },
  ]);
});

test("lists of the same length are not the same list", () => {
  expect(isSameList(["a", "b"], ["a", "c"])).toBe(false);
});

test("no two portions have the same key, whatever the numbers are", () => {
  const portions = chunkTurns(["0", "40", "1", "41"], Number);
  expect(portions.map(({ key }) => key)).toEqual([0, 2]);
  expect(portions.flatMap((portion) => portion.ids)).toEqual(["0", "40", "1", "41"]);
});
