/** Tests which listeners `createThreadStore` notifies, and how `chunkTurns` splits long lists. */
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

/** Returns the topics that are notified while `act` runs, in order. */
function notifiedTopics(session: StaticSession, channels: readonly ThreadTopic[], act: () => void): string[] {
  const store = createThreadStore(session);
  const topics: string[] = [];
  const leave = channels.map((channel) => store.subscribe(channel, () => topics.push(channel)));
  act();
  for (const go of leave) go();
  return topics;
}

describe("createThreadStore", () => {
  test("U08 notifies only the listeners of the turn about a delta", () => {
    const session = createStaticSession(events.slice(0, second + 2));
    const [first = "", now = ""] = createThreadStore(session).getTurnIds();
    const rest = events.slice(second + 2).find(({ type }) => type === "text.start" || type === "group.start");
    if (rest === undefined) throw new Error("nothing follows");
    const topics = notifiedTopics(session, ["turns", `turn:${first}`, `turn:${now}`, "view"], () =>
      session.append([rest]),
    );
    expect(topics).toEqual([`turn:${now}`, "view"]);
  });

  test("notifies about new turns and removed turns", () => {
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

  test("returns the same list of turns while no turn is added or removed", () => {
    const session = createStaticSession(events.slice(0, second));
    const store = createThreadStore(session);
    const ids = store.getTurnIds();
    session.setView({ skewMs: 1 });
    expect(store.getTurnIds()).toBe(ids);
    session.append(events.slice(second, second + 1));
    expect(store.getTurnIds()).toHaveLength(ids.length + 1);
  });

  test("subscribes to the session once, and only while it has listeners", () => {
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

/** Returns the turn ids from `from` to `to`. */
const ids = (from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_, n) => String(from + n));

test("chunkTurns returns all turns in order", () => {
  const portions = chunkTurns(ids(5, 70), Number);
  expect(portions.flatMap((portion) => portion.ids)).toEqual(ids(5, 70));
  expect(Math.max(...portions.map((portion) => portion.ids.length))).toBe(TURNS_PER_CHUNK);
});

test("chunkTurns leaves the middle chunks unchanged when turns are added at either end", () => {
  const before = chunkTurns(ids(21, 70), Number);
  const after = new Map(chunkTurns(ids(1, 71), Number).map((portion) => [portion.key, portion.ids]));
  const isSame = before.map(({ key, ids: was }) => isSameList(was, after.get(key) ?? []));
  expect(isSame).toEqual([false, true, true, false]);
});

test("chunkTurns puts a turn that is far from the others into its own chunk", () => {
  expect(chunkTurns(["3", "90", "91"], Number)).toEqual([
    { key: 0, ids: ["3"] },
    { key: 5, ids: ["90", "91"] },
  ]);
});

test("isSameList compares the ids, not only the length", () => {
  expect(isSameList(["a", "b"], ["a", "c"])).toBe(false);
});

test("chunkTurns never returns two chunks with the same key, whatever the numbers are", () => {
  const portions = chunkTurns(["0", "40", "1", "41"], Number);
  expect(portions.map(({ key }) => key)).toEqual([0, 2]);
  expect(portions.flatMap((portion) => portion.ids)).toEqual(["0", "40", "1", "41"]);
});
