/** Tests `SessionStore` with a transport that the test controls. */
import {
  emptyState,
  type SessionEvent,
  foldAll,
  SCHEMA_VERSION,
  type SessionState,
  type Snapshot,
  snapshot,
} from "@turnstream/protocol";
import { describe, expect, test } from "vitest";
import { createIdentity } from "../../src/auth/identity.ts";
import { createEnv } from "../../src/env.ts";
import { NO_REPORTS } from "../../src/report.ts";
import type { Api } from "../../src/http/api.ts";
import { SessionStore } from "../../src/session/session-store.ts";
import { FakeTransport } from "./fake-transport.ts";

const LOG: SessionEvent[] = [
  { type: "session.start", session: "s", number: 1 },
  { type: "message.add", message: "m1", text: "hello" },
  { type: "session.update", title: "one" },
  { type: "session.update", title: "two" },
  { type: "session.update", title: "three" },
  { type: "session.update", title: "four" },
].map((event, n) => ({ v: 1, id: `1-${n + 1}`, at: n, ...event }) as unknown as SessionEvent);

const live = {
  phase: "live",
  channel: "websocket",
  failures: 0,
  retryAt: null,
  error: null,
  stalled: null,
} as const;

interface Timer {
  readonly run: () => void;
  readonly ms: number;
}

function open(asked: (path: string) => unknown = () => null) {
  const transport = new FakeTransport();
  const timers = new Set<Timer>();
  const env = createEnv({
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
  const json = (path: string) => Promise.resolve(asked(path));
  const api = { base: "", report: NO_REPORTS, json } as unknown as Api;
  const identity = createIdentity("", null);
  identity.update({ headers: {} });
  const session = new SessionStore("s", {
    url: "",
    transport,
    api,
    env,
    identity,
    track: (request) => request,
  });
  const fire = (): void => {
    // Timers that these runs set wait for the next call.
    const due = [...timers];
    timers.clear();
    for (const timer of due) timer.run();
  };
  return { transport, session, timers, fire };
}

/** Opens a store that is live and has folded the first `count` events. */
function subscribed(count: number) {
  const all = open();
  let notified = 0;
  all.session.subscribe(() => notified++);
  all.transport.handler?.onSubscribed({ resumed: false, reason: "fresh" });
  all.transport.handler?.onSnapshot(snapshot(foldAll(LOG.slice(0, count))), `1-${count}`);
  all.transport.handler?.onConnection(live);
  return { ...all, notified: () => notified };
}

const stateOf = ({ session }: { session: SessionStore }): SessionState => session.getSnapshot().state;

/** Shows events, then another snapshot. Returns whether the view announces a loss. */
function announcesLoss(events: readonly SessionEvent[], next: Snapshot): boolean {
  const one = subscribed(0);
  one.transport.handler?.onSubscribed({ resumed: false, reason: "fresh" });
  one.transport.handler?.onSnapshot(snapshot(foldAll(events)), "1-3");
  one.transport.handler?.onSubscribed({ resumed: false, reason: "expired" });
  one.transport.handler?.onSnapshot(next, "1-1");
  return one.session.getSnapshot().hasLostTurns;
}

describe("SessionStore: incoming data", () => {
  test("events are folded; a repeated event doesn't change the view, not even its reference", async () => {
    const one = subscribed(2);
    one.transport.handler?.onEvents(LOG.slice(2, 4));
    expect(stateOf(one)).toEqual(foldAll(LOG.slice(0, 4)));
    const view = one.session.getSnapshot();
    one.transport.handler?.onEvents(LOG.slice(0, 4));
    expect(one.session.getSnapshot()).toBe(view);
    expect(one.transport.cursor()).toBe("1-4");
  });

  test("events after a gap are ignored until the subscription restarts from the current position", () => {
    const one = subscribed(2);
    one.transport.handler?.onEvents(LOG.slice(3, 4));
    expect(one.transport.resyncs).toEqual(["1-2"]);
    one.transport.handler?.onEvents(LOG.slice(2, 5));
    expect(stateOf(one).seq).toBe(2);
    one.transport.handler?.onSubscribed({ resumed: true, reason: "cursor" });
    one.transport.handler?.onEvents(LOG.slice(2, 5));
    expect(stateOf(one)).toEqual(foldAll(LOG.slice(0, 5)));
  });

  test("the same gap twice leads to a snapshot", () => {
    const one = subscribed(2);
    one.transport.handler?.onEvents(LOG.slice(3, 4));
    one.transport.handler?.onSubscribed({ resumed: true, reason: "cursor" });
    one.transport.handler?.onEvents(LOG.slice(3, 4));
    expect(one.transport.resyncs).toEqual(["1-2", null]);
    one.transport.handler?.onSubscribed({ resumed: false, reason: "fresh" });
    one.transport.handler?.onEvents(LOG.slice(2, 3));
    // The old state stays visible until the snapshot arrives.
    expect(stateOf(one).title).toBeNull();
    one.transport.handler?.onSnapshot(snapshot(foldAll(LOG)), "1-6");
    expect(stateOf(one)).toEqual(foldAll(LOG));
    expect(one.transport.cursor()).toBe("1-6");
  });

  test("an event of a rebuilt log leads to a snapshot", () => {
    const one = subscribed(4);
    one.transport.handler?.onEvents([{ ...LOG[2], id: "2-3" } as SessionEvent]);
    expect(one.transport.resyncs).toEqual([null]);
  });

  test("announces that the server has lost a turn, but not a moment of the same epoch or an unfinished turn", () => {
    const ended: SessionEvent[] = [
      ...LOG.slice(0, 1),
      {
        v: 1,
        id: "1-2",
        at: 0,
        type: "turn.start",
        turn: "t",
        number: 1,
        message_number: 1,
        agent: "a",
        mode: "chat",
        from_share: false,
      },
      { v: 1, id: "1-3", at: 0, type: "turn.end", turn: "t", reason: "end_turn", duration_ms: 1 },
    ];
    const earlier = snapshot(foldAll(ended.slice(0, 1)));
    expect(announcesLoss(ended, { ...earlier, epoch: 2 })).toBe(true);
    expect(announcesLoss(ended, earlier)).toBe(false);
    expect(announcesLoss(ended.slice(0, 2), { ...earlier, epoch: 2 })).toBe(false);
  });

  test("a snapshot of the next version is used as far as it is known, and resumes from its position", () => {
    const one = subscribed(2);
    one.transport.handler?.onSubscribed({ resumed: false, reason: "expired" });
    const newer = { ...snapshot(foldAll(LOG.slice(0, 4))), v: SCHEMA_VERSION + 1, mood: "calm" } as Snapshot;
    one.transport.handler?.onSnapshot(newer, "1-4");
    one.transport.handler?.onEvents(LOG.slice(4));
    expect(stateOf(one)).toEqual({ ...foldAll(LOG), mood: "calm" });
    expect(one.transport.cursor()).toBe("1-6");
    expect(one.transport.resyncs).toEqual([]);
  });

  test.each([SCHEMA_VERSION + 2, 0, Number.NaN])(
    "a snapshot of version %d closes the session, because it can't be read",
    (v) => {
      const one = subscribed(2);
      one.transport.handler?.onSubscribed({ resumed: false, reason: "expired" });
      one.transport.handler?.onSnapshot({ ...snapshot(foldAll(LOG)), v }, "1-6");
      expect(one.transport.resyncs).toEqual([]);
      expect(one.session.getSnapshot().connection).toMatchObject({
        phase: "closed",
        error: { code: "BAD_REQUEST" },
      });
      expect(one.transport.unsubscribes).toBe(1);
    },
  );

  test("events of other versions are applied as far as they are known", () => {
    const one = subscribed(2);
    const unknown = { v: 9, id: "1-3", at: 0, type: "weather.change" } as unknown as SessionEvent;
    const newer = { ...LOG[3], v: SCHEMA_VERSION + 1 } as unknown as SessionEvent;
    one.transport.handler?.onEvents([unknown, newer]);
    expect([stateOf(one).seq, stateOf(one).title]).toEqual([4, "two"]);
    expect(one.transport.resyncs).toEqual([]);
  });

  test("U08 subscribers are notified once per frame, however many events there are", async () => {
    const one = subscribed(2);
    await Promise.resolve();
    const before = one.notified();
    for (const event of LOG.slice(2)) one.transport.handler?.onEvents([event]);
    await Promise.resolve();
    expect(one.notified()).toBe(before + 1);
  });
});

describe("SessionStore: subscribers", () => {
  test("U08 the session is connected while it has subscribers, and for a short time after", () => {
    const one = open();
    expect(one.transport.subscribes).toBe(0);
    const leave = [one.session.subscribe(() => {}), one.session.subscribe(() => {})];
    for (const go of leave) go();
    const again = one.session.subscribe(() => {});
    expect([one.transport.subscribes, one.transport.unsubscribes]).toEqual([1, 0]);
    expect(one.timers.size).toBe(0);
    again();
    again();
    one.fire();
    expect(one.transport.unsubscribes).toBe(1);
    one.session.subscribe(() => {});
    expect(one.transport.subscribes).toBe(2);
  });

  test("a message in the outbox is sent even after the last subscriber has left", async () => {
    const one = open();
    const leave = one.session.subscribe(() => {});
    one.transport.handler?.onConnection({ ...live, phase: "waiting" });
    const { id } = one.session.send({ text: "hello" });
    leave();
    one.fire();
    expect(one.transport.unsubscribes).toBe(0);
    one.transport.handler?.onSubscribed({ resumed: false, reason: "fresh" });
    one.transport.handler?.onSnapshot(snapshot(foldAll(LOG.slice(0, 1))), "1-1");
    one.transport.handler?.onConnection(live);
    expect(one.transport.commands).toMatchObject([{ type: "send" }]);
    one.transport.handler?.onEvents([{ ...LOG[1], message: id } as SessionEvent]);
    one.fire();
    expect(one.transport.unsubscribes).toBe(1);
  });

  test("a subscriber that returns resumes from the last position", () => {
    const one = open();
    const leave = one.session.subscribe(() => {});
    one.transport.handler?.onSubscribed({ resumed: false, reason: "fresh" });
    one.transport.handler?.onSnapshot(snapshot(foldAll(LOG.slice(0, 3))), "1-3");
    leave();
    one.fire();
    one.session.subscribe(() => {});
    expect(one.transport.cursor()).toBe("1-3");
  });

  test("dropState drops the state only without subscribers, and the next one loads it again", () => {
    const one = open();
    const leave = one.session.subscribe(() => {});
    one.transport.handler?.onSubscribed({ resumed: false, reason: "fresh" });
    one.transport.handler?.onSnapshot(snapshot(foldAll(LOG)), "1-6");
    one.session.dropState();
    expect(stateOf(one).seq).toBe(6);
    leave();
    one.fire();
    one.session.dropState();
    expect(stateOf(one)).toBe(emptyState);
    one.session.subscribe(() => {});
    expect(one.transport.cursor()).toBeNull();
  });

  test("refresh reloads everything from the server, with and without subscribers", async () => {
    const alone = open(() => ({ snapshot: snapshot(foldAll(LOG)) }));
    await alone.session.refresh();
    expect(stateOf(alone)).toEqual(foldAll(LOG));
    const one = subscribed(4);
    const done = one.session.refresh();
    expect(one.transport.resyncs).toEqual([null]);
    one.transport.handler?.onSubscribed({ resumed: false, reason: "fresh" });
    one.transport.handler?.onSnapshot(snapshot(foldAll(LOG)), "1-6");
    await done;
    expect(stateOf(one).seq).toBe(6);
    const failed = one.session.refresh();
    one.transport.handler?.onConnection({ ...live, phase: "closed" });
    await expect(failed).rejects.toMatchObject({ code: "OFFLINE" });
    const given = one.session.refresh();
    one.session.close();
    await expect(given).rejects.toMatchObject({ code: "ABORTED" });
  });
});

describe("SessionStore: commands", () => {
  test("a message waits for a live session, is sent with its id, and leaves once the log contains it", async () => {
    const one = open();
    one.session.subscribe(() => {});
    one.transport.handler?.onConnection({ ...live, phase: "connecting" });
    const { id, done } = one.session.send({
      text: "hello",
      files: [{ url: "http://f/1" }],
      agentId: "guide",
      mode: "chat",
    });
    expect(one.transport.commands).toEqual([]);
    one.transport.handler?.onSubscribed({ resumed: false, reason: "fresh" });
    one.transport.handler?.onSnapshot(snapshot(foldAll(LOG.slice(0, 1))), "1-1");
    one.transport.handler?.onConnection(live);
    await done;
    const client_message_id = id.slice(2);
    expect(one.transport.commands).toEqual([
      {
        type: "send",
        session_id: "s",
        client_message_id,
        text: "hello",
        content_urls: ["http://f/1"],
        agent_id: "guide",
        display_mode: "chat",
      },
    ]);
    expect(one.session.getSnapshot().outbox).toHaveLength(1);
    one.transport.handler?.onEvents([{ ...LOG[1], message: id } as SessionEvent]);
    expect(one.session.getSnapshot().outbox).toEqual([]);
  });

  test("S13 payments are listed page by page", async () => {
    const paths: string[] = [];
    const page = { payments: [], has_more: true, next_before: 7 };
    const { session } = open((path) => {
      paths.push(path);
      return page;
    });
    expect(await session.listPayments()).toEqual(page);
    await session.listPayments(7);
    expect(paths).toEqual(["/sessions/s/payments", "/sessions/s/payments?before=7"]);
  });

  test("every command is sent with its fields, without those that were omitted", async () => {
    const { session, transport } = subscribed(2);
    await session.stop();
    await session.stop("t1");
    await session.decideApproval("k", { decision: "edit", args: { beds: 3 }, digest: "d" });
    await session.answerQuestion("q", [{ question: "meal", selected: ["dinner"] }]);
    await session.dismissQuestion("q");
    await session.submitForm("f", { a: 1 });
    await session.declineForm("f", "no");
    await session.cancelPayment("p");
    await session.refreshPayment("p");
    expect(transport.commands).toEqual([
      { type: "stop", session_id: "s" },
      { type: "stop", session_id: "s", turn_id: "t1" },
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
      { type: "cancel_payment", session_id: "s", payment_request_id: "p" },
      { type: "refresh_payment", session_id: "s", payment_request_id: "p" },
    ]);
  });
});
