/** Who is told of what: a delta reaches only those who look at its turn. */
import { type RecordedSession, recordedSession } from "@turnstream/client/static";
import { Sequence } from "@turnstream/protocol";
import { describe, expect, test } from "vitest";
import { type Channel, createThreadStore } from "../../src/view/thread-store.ts";
import { eventsOf } from "./vector-logs.ts";

const events = eventsOf("several-turns");
const starts = events.flatMap((event, n) => (event.type === "turn.start" ? [n] : []));
const [, second = 0] = starts;

/** Whatever is told, in order, while something is done. */
function told(session: RecordedSession, channels: readonly Channel[], act: () => void): string[] {
  const store = createThreadStore(session);
  const heard: string[] = [];
  const leave = channels.map((channel) => store.subscribe(channel, () => heard.push(channel)));
  act();
  for (const go of leave) go();
  return heard;
}

describe("a thread's store", () => {
  test("U08 tells of a delta only whoever looks at its turn", () => {
    const session = recordedSession(events.slice(0, second + 2));
    const [first = "", now = ""] = createThreadStore(session).turnIds();
    const rest = events.slice(second + 2).find(({ type }) => type === "text.start" || type === "group.start");
    if (rest === undefined) throw new Error("nothing follows");
    const heard = told(session, ["turns", `turn:${first}`, `turn:${now}`, "view"], () =>
      session.append([rest]),
    );
    expect(heard).toEqual([`turn:${now}`, "view"]);
  });

  test("tells of a new turn, and of what is no longer there", () => {
    const session = recordedSession(events.slice(0, second));
    const { turns } = session.getSnapshot().state;
    const only = turns.last()?.id ?? "";
    expect(told(session, ["turns"], () => session.append(events.slice(second, second + 1)))).toEqual([
      "turns",
    ]);
    const state = { ...session.getSnapshot().state, turns: Sequence.empty<never>() };
    expect(told(session, ["turns", `turn:${only}`], () => session.show({ state }))).toEqual([
      "turns",
      `turn:${only}`,
    ]);
  });

  test("keeps the list of turns the same while none comes or goes", () => {
    const session = recordedSession(events.slice(0, second));
    const store = createThreadStore(session);
    const ids = store.turnIds();
    session.show({ skewMs: 1 });
    expect(store.turnIds()).toBe(ids);
    session.append(events.slice(second, second + 1));
    expect(store.turnIds()).toHaveLength(ids.length + 1);
  });

  test("listens to the session once, and only while somebody listens to it", () => {
    const session = recordedSession(events);
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
