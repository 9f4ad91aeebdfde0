/** The store of a session, with a link in the hands of the test. */
import { emptyState, type SessionEvent, foldAll, type SessionState, snapshot } from "@turnstream/protocol";
import { describe, expect, test } from "vitest";
import { createPerson } from "../../src/auth/identity.ts";
import { surroundings } from "../../src/env.ts";
import type { Api } from "../../src/http/api.ts";
import { LiveSession } from "../../src/session/session-store.ts";
import { FakeLink } from "./fake-transport.ts";

const LOG: SessionEvent[] = [
  { type: "session.start", session: "s", number: 1 },
  { type: "message.add", message: "m1", text: "hello" },
  { type: "session.update", title: "one" },
  { type: "session.update", title: "two" },
  { type: "session.update", title: "three" },
  { type: "session.update", title: "four" },
].map((event, n) => ({ v: 2, id: `1-${n + 1}`, at: n, ...event }) as unknown as SessionEvent);

const live = { phase: "live", wire: "socket", failures: 0, retryAt: null, error: null } as const;

interface Timer {
  readonly run: () => void;
  readonly ms: number;
}

function open(asked: (path: string) => unknown = () => null) {
  const link = new FakeLink();
  const timers = new Set<Timer>();
  const env = surroundings({
    storage: null,
    nextFrame: (run) => {
      queueMicrotask(run);
      return () => {};
    },
    setTimer(run, ms) {
      const timer = { run, ms };
      timers.add(timer);
      return () => timers.delete(timer);
    },
  });
  const api = { base: "", json: (path: string) => Promise.resolve(asked(path)) } as unknown as Api;
  const person = createPerson("", null);
  person.known({ headers: {} });
  const session = new LiveSession("s", { url: "", link, api, env, person });
  const fire = (): void => {
    // Those that are set meanwhile are for the next time.
    const due = [...timers];
    timers.clear();
    for (const timer of due) timer.run();
  };
  return { link, session, timers, fire };
}

/** Connected, and up to date with the first events. */
function begun(count: number) {
  const all = open();
  let told = 0;
  all.session.subscribe(() => told++);
  all.link.handler?.begun({ resumed: false, reason: "fresh" });
  all.link.handler?.snapshot(snapshot(foldAll(LOG.slice(0, count))), `1-${count}`);
  all.link.handler?.connection(live);
  return { ...all, told: () => told };
}

const stateOf = ({ session }: { session: LiveSession }): SessionState => session.getSnapshot().state;

describe("what comes", () => {
  test("is folded; a repeat changes nothing, not even the reference", async () => {
    const one = begun(2);
    one.link.handler?.events(LOG.slice(2, 4));
    expect(stateOf(one)).toEqual(foldAll(LOG.slice(0, 4)));
    const view = one.session.getSnapshot();
    one.link.handler?.events(LOG.slice(0, 4));
    expect(one.session.getSnapshot()).toBe(view);
    expect(one.link.cursor()).toBe("1-4");
  });

  test("after a gap is not taken until it begins again, from where it stands", () => {
    const one = begun(2);
    one.link.handler?.events(LOG.slice(3, 4));
    expect(one.link.agains).toEqual(["1-2"]);
    one.link.handler?.events(LOG.slice(2, 5));
    expect(stateOf(one).seq).toBe(2);
    one.link.handler?.begun({ resumed: true, reason: "cursor" });
    one.link.handler?.events(LOG.slice(2, 5));
    expect(stateOf(one)).toEqual(foldAll(LOG.slice(0, 5)));
  });

  test("with the same gap again is loaded anew", () => {
    const one = begun(2);
    one.link.handler?.events(LOG.slice(3, 4));
    one.link.handler?.begun({ resumed: true, reason: "cursor" });
    one.link.handler?.events(LOG.slice(3, 4));
    expect(one.link.agains).toEqual(["1-2", null]);
    one.link.handler?.begun({ resumed: false, reason: "fresh" });
    one.link.handler?.events(LOG.slice(2, 3));
    // What is shown stays until there is something to show in its place.
    expect(stateOf(one).title).toBeNull();
    one.link.handler?.snapshot(snapshot(foldAll(LOG)), "1-6");
    expect(stateOf(one)).toEqual(foldAll(LOG));
    expect(one.link.cursor()).toBe("1-6");
  });

  test("of a log that was rebuilt is loaded anew", () => {
    const one = begun(4);
    one.link.handler?.events([{ ...LOG[2], id: "2-3" } as SessionEvent]);
    expect(one.link.agains).toEqual([null]);
  });

  test("as a snapshot of another version is asked for as events, once; then it is said", () => {
    const one = begun(2);
    const foreign = { ...snapshot(foldAll(LOG)), v: 3 };
    one.link.handler?.begun({ resumed: false, reason: "expired" });
    one.link.handler?.snapshot(foreign, "1-6");
    expect(one.link.agains).toEqual(["0-0"]);
    one.link.handler?.begun({ resumed: true, reason: "cursor" });
    one.link.handler?.events(LOG);
    expect(stateOf(one)).toEqual(foldAll(LOG));
    expect(one.link.cursor()).toBe("1-6");
    one.link.handler?.begun({ resumed: false, reason: "slow" });
    one.link.handler?.snapshot(foreign, "1-6");
    one.link.handler?.begun({ resumed: false, reason: "expired" });
    one.link.handler?.snapshot(foreign, "1-6");
    expect(one.session.getSnapshot().connection).toMatchObject({
      phase: "closed",
      error: { code: "BAD_REQUEST" },
    });
    expect(one.link.stops).toBe(1);
  });

  test("of another version, event by event, is read as far as it can be", () => {
    const one = begun(2);
    const unknown = { v: 9, id: "1-3", at: 0, type: "weather.change" } as unknown as SessionEvent;
    const old = { ...LOG[3], v: 1 } as unknown as SessionEvent;
    one.link.handler?.events([unknown, old]);
    expect([stateOf(one).seq, stateOf(one).title]).toEqual([4, "two"]);
    expect(one.link.agains).toEqual([]);
  });

  test("U08 is told once per frame, however much it is", async () => {
    const one = begun(2);
    await Promise.resolve();
    const before = one.told();
    for (const event of LOG.slice(2)) one.link.handler?.events([event]);
    await Promise.resolve();
    expect(one.told()).toBe(before + 1);
  });
});

describe("coming and going", () => {
  test("U08 it is connected while somebody looks, and a little longer", () => {
    const one = open();
    expect(one.link.watches).toBe(0);
    const leave = [one.session.subscribe(() => {}), one.session.subscribe(() => {})];
    for (const go of leave) go();
    const again = one.session.subscribe(() => {});
    expect([one.link.watches, one.link.stops]).toEqual([1, 0]);
    expect(one.timers.size).toBe(0);
    again();
    again();
    one.fire();
    expect(one.link.stops).toBe(1);
    one.session.subscribe(() => {});
    expect(one.link.watches).toBe(2);
  });

  test("what is on its way goes though nobody looks any more", async () => {
    const one = open();
    const leave = one.session.subscribe(() => {});
    one.link.handler?.connection({ ...live, phase: "waiting" });
    const { id } = one.session.send({ text: "hello" });
    leave();
    one.fire();
    expect(one.link.stops).toBe(0);
    one.link.handler?.begun({ resumed: false, reason: "fresh" });
    one.link.handler?.snapshot(snapshot(foldAll(LOG.slice(0, 1))), "1-1");
    one.link.handler?.connection(live);
    expect(one.link.commands).toMatchObject([{ type: "send" }]);
    one.link.handler?.events([{ ...LOG[1], message: id } as SessionEvent]);
    one.fire();
    expect(one.link.stops).toBe(1);
  });

  test("who comes back goes on from where they were", () => {
    const one = open();
    const leave = one.session.subscribe(() => {});
    one.link.handler?.begun({ resumed: false, reason: "fresh" });
    one.link.handler?.snapshot(snapshot(foldAll(LOG.slice(0, 3))), "1-3");
    leave();
    one.fire();
    one.session.subscribe(() => {});
    expect(one.link.cursor()).toBe("1-3");
  });

  test("what nobody looks at can be forgotten, and is loaded again", () => {
    const one = open();
    const leave = one.session.subscribe(() => {});
    one.link.handler?.begun({ resumed: false, reason: "fresh" });
    one.link.handler?.snapshot(snapshot(foldAll(LOG)), "1-6");
    one.session.forget();
    expect(stateOf(one).seq).toBe(6);
    leave();
    one.fire();
    one.session.forget();
    expect(stateOf(one)).toBe(emptyState);
    one.session.subscribe(() => {});
    expect(one.link.cursor()).toBeNull();
  });

  test("a refresh asks for everything anew, with or without somebody who looks", async () => {
    const alone = open(() => ({ snapshot: snapshot(foldAll(LOG)) }));
    await alone.session.refresh();
    expect(stateOf(alone)).toEqual(foldAll(LOG));
    const one = begun(4);
    const done = one.session.refresh();
    expect(one.link.agains).toEqual([null]);
    one.link.handler?.begun({ resumed: false, reason: "fresh" });
    one.link.handler?.snapshot(snapshot(foldAll(LOG)), "1-6");
    await done;
    expect(stateOf(one).seq).toBe(6);
    const failed = one.session.refresh();
    one.link.handler?.connection({ ...live, phase: "closed" });
    await expect(failed).rejects.toMatchObject({ code: "OFFLINE" });
    const given = one.session.refresh();
    one.session.close();
    await expect(given).rejects.toMatchObject({ code: "ABORTED" });
  });
});

describe("what is sent", () => {
  test("waits until it is live, goes under its id, and leaves the outbox when the log shows it", async () => {
    const one = open();
    one.session.subscribe(() => {});
    one.link.handler?.connection({ ...live, phase: "connecting" });
    const { id, done } = one.session.send({ text: "hello", files: [{ url: "http://f/1" }], agent: "guide" });
    expect(one.link.commands).toEqual([]);
    one.link.handler?.begun({ resumed: false, reason: "fresh" });
    one.link.handler?.snapshot(snapshot(foldAll(LOG.slice(0, 1))), "1-1");
    one.link.handler?.connection(live);
    await done;
    const client_message_id = id.slice(2);
    expect(one.link.commands).toEqual([
      {
        type: "send",
        session_id: "s",
        client_message_id,
        text: "hello",
        content_urls: ["http://f/1"],
        agent_id: "guide",
      },
    ]);
    expect(one.session.getSnapshot().outbox).toHaveLength(1);
    one.link.handler?.events([{ ...LOG[1], message: id } as SessionEvent]);
    expect(one.session.getSnapshot().outbox).toEqual([]);
  });

  test("commands say what they are for, and nothing that was left out", async () => {
    const { session, link } = begun(2);
    await session.stop();
    await session.stop("t1");
    await session.decide("k", { decision: "edit", args: { beds: 3 }, digest: "d" });
    await session.answer("q", [{ question: "meal", selected: ["dinner"] }]);
    await session.dismiss("q");
    await session.submit("f", { a: 1 });
    await session.decline("f", "no");
    expect(link.commands).toEqual([
      { type: "stop", session_id: "s" },
      { type: "stop", session_id: "s", message_id: "t1" },
      {
        type: "decide",
        session_id: "s",
        approval_key: "k",
        decision: "edit",
        args: { beds: 3 },
        digest: "d",
      },
      {
        type: "answer",
        session_id: "s",
        approval_key: "q",
        answers: [{ question: "meal", selected: ["dinner"] }],
      },
      { type: "dismiss", session_id: "s", approval_key: "q" },
      { type: "submit", session_id: "s", form_request_id: "f", values: { a: 1 } },
      { type: "decline", session_id: "s", form_request_id: "f", reason: "no" },
    ]);
  });
});
