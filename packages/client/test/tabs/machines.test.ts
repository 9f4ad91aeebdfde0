/** Tests the pure rules between tabs in cases that are hard to reach with whole tabs. */
import type { SessionEvent } from "@turnstream/protocol";
import { expect, test } from "vitest";
import {
  type LeaderSessionState,
  createLeaderSession,
  stepLeaderSession,
} from "../../src/tabs/leader-session.ts";
import {
  type FollowerInput,
  type FollowerState,
  createFollower,
  withPosition,
  stepFollower,
} from "../../src/tabs/follower.ts";
import { readTabMessage, type LeaderTerm } from "../../src/tabs/messages.ts";
import { createTabVisibility } from "../../src/tabs/leader.ts";
import {
  createElection,
  type ElectionInput,
  type ElectionState,
  stepElection,
} from "../../src/tabs/election.ts";
import { FakePageEnv } from "../live/fast-env.ts";

const leader: LeaderTerm = { term: 5, tabId: "b" };
const event = (id: string): SessionEvent => ({ v: 1, id, at: 0, type: "session.update", title: id });

function joined(): FollowerState {
  let state = stepFollower(createFollower("a"), { type: "follow", leader }, 0).state;
  state = stepFollower(state, { type: "subscribe", subscriptionId: 1, session: "s" }, 0).state;
  state = withPosition(state, 1, "1-5");
  const start = { resumed: true, reason: "cursor", snapshot: null } as const;
  const message = { type: "subscribed", leader, session: "s", to: "a", subscriptionId: 1, start } as const;
  return stepFollower(state, { type: "message", message }, 0).state;
}

const receive = (state: FollowerState, ...ids: string[]) =>
  stepFollower(
    state,
    {
      type: "message",
      message: { type: "events", leader, session: "s", to: null, subscriptionId: 0, events: ids.map(event) },
    },
    0,
  );

test("a follower skips known events and subscribes again after a gap", () => {
  expect(receive(joined(), "1-4", "1-5", "1-6").effects).toEqual([
    { type: "events", subscriptionId: 1, events: [event("1-6")] },
  ]);
  const { state, effects } = receive(joined(), "1-6", "1-8", "1-9");
  expect(effects).toEqual([
    { type: "events", subscriptionId: 1, events: [event("1-6")] },
    { type: "request subscription", subscriptionId: 1, session: "s", isUserInitiated: false },
  ]);
  // Further events are ignored until the leader replies.
  expect(receive(state, "1-7").effects).toEqual([]);
});

const lead = (head: string) =>
  stepFollower(joined(), { type: "message", message: { type: "lead", leader, heads: { s: head } } }, 0)
    .effects;

test("a follower that missed messages while frozen subscribes again once it knows the leader's head", () => {
  expect([lead("1-5"), lead("1-4")]).toEqual([[], []]);
  expect(lead("1-6")).toEqual([
    { type: "request subscription", subscriptionId: 1, session: "s", isUserInitiated: false },
  ]);
});

test("a follower ignores messages of a former leader", () => {
  const { state } = stepFollower(joined(), { type: "follow", leader: { term: 6, tabId: "c" } }, 0);
  expect(receive(withPosition(state, 1, "1-5"), "1-6").effects).toEqual([]);
});

test("a command waits ten seconds for a leader, and a minute for its reply", () => {
  const command = { type: "stop", session_id: "s" } as const;
  const waiting = stepFollower(createFollower("a"), { type: "command", request: "r", command }, 0).state;
  expect(stepFollower(waiting, { type: "tick" }, 9_999).effects).toEqual([]);
  expect(stepFollower(waiting, { type: "tick" }, 10_000).effects).toMatchObject([
    { outcome: { code: "OFFLINE" } },
  ]);
  const given = stepFollower(waiting, { type: "follow", leader }, 0).state;
  expect(stepFollower(given, { type: "tick" }, 59_999).effects).toEqual([]);
  expect(stepFollower(given, { type: "tick" }, 60_000).effects).toMatchObject([
    { outcome: { code: "UNSURE" } },
  ]);
});

function leading(): ElectionState {
  const inputs: ElectionInput[] = [{ type: "start" }, { type: "granted" }];
  return inputs.reduce(
    (state, input) => stepElection(state, input, 100, 0).state,
    createElection("a", true, 100),
  );
}

test("a leader steps down for a later term, and not for an earlier one", () => {
  const state = leading();
  expect(state).toMatchObject({ role: "leading", leader: { term: 100, tabId: "a" } });
  expect(stepElection(state, { type: "lead", term: { term: 99, tabId: "z" } }, 200, 0)).toEqual({
    state,
    effects: [],
  });
  const later = { term: 101, tabId: "b" };
  const { state: next, effects } = stepElection(state, { type: "lead", term: later }, 200, 0);
  expect(next).toMatchObject({ role: "following", leader: later });
  expect(effects.map(({ type }) => type)).toEqual(
    expect.arrayContaining(["release lock", "step down", "follow", "request lock"]),
  );
});

test("a tab steals the lock only if it was awake while the leader was silent", () => {
  let state = stepElection(createElection("a", true, 0), { type: "start" }, 0, 0).state;
  const tick = (now: number): string[] => {
    const step = stepElection(state, { type: "tick" }, now, 0);
    state = step.state;
    return step.effects.map((effect) => ("what" in effect ? effect.what : effect.type));
  };
  expect(tick(1_000)).toEqual([]);
  expect(tick(2_000)).toEqual(["ping"]);
  expect(tick(60_000)).toEqual(["ping"]);
  expect(tick(61_000)).toEqual([]);
  expect([tick(62_000), tick(63_000), tick(64_000)]).toEqual([["ping"], ["ping"], ["ping"]]);
  expect(tick(65_000)).toEqual(["steal lock"]);
});

test("readTabMessage returns null for malformed messages", () => {
  const known = { type: "lead", leader, heads: {} };
  expect(readTabMessage(known)).toBe(known);
  const subscribed = { type: "subscribed", leader, session: "s", to: null, subscriptionId: 0 };
  const command = { type: "command", from: "a", request: "r", at: 0 };
  const wrong: unknown[] = [
    null,
    7,
    "lead",
    [],
    {},
    { type: "lead" },
    { type: "lead", leader: { term: "5", tabId: "b" } },
    { type: "subscribe", from: "a", subscriptionId: 1, session: "s", cursor: "1-06" },
    { type: "subscribe", from: "a", subscriptionId: 1, session: "", cursor: null },
    { ...subscribed, start: { resumed: false, reason: "fresh", snapshot: null } },
    { ...subscribed, start: { resumed: true, reason: "because", snapshot: null } },
    { type: "events", leader, session: "s", to: null, subscriptionId: 0, events: [null] },
    { type: "connection", leader, session: "s", view: {} },
    { type: "clock", leader, skewMs: Number.NaN },
    { type: "reply", leader, to: "a", request: "r", ack: null, error: null },
    { ...command, command: { type: "stop" } },
  ];
  expect(wrong.filter((message) => readTabMessage(message) !== null)).toEqual([]);
});

test("the page counts as visible while any tab is visible, and listeners are notified of changes", () => {
  const own = new FakePageEnv();
  const visibility = createTabVisibility(own);
  const { page } = visibility;
  const changes: boolean[] = [];
  const stop = page.onChange(() => changes.push(page.isHidden()));
  own.become({ isHidden: true });
  visibility.update("b", false);
  visibility.update("b", true);
  visibility.update("b", true);
  visibility.update("c", true);
  visibility.update("b", false);
  visibility.update("c", false);
  expect(changes).toEqual([true, false, false, false, true]);
  own.become({ isHidden: false });
  stop();
  visibility.update("b", true);
  expect(changes).toEqual([true, false, false, false, true, false]);
});

const userInitiated = (input: FollowerInput): unknown[] =>
  stepFollower(joined(), input, 60_000).effects.map(
    (effect) => effect.type === "request subscription" && effect.isUserInitiated,
  );

test("a resync, a rejoin and a new subscription are user-initiated; following a new leader is not", () => {
  expect(userInitiated({ type: "resync", subscriptionId: 1 })).toEqual([true]);
  expect(userInitiated({ type: "rejoin" })).toEqual([true]);
  expect(userInitiated({ type: "subscribe", subscriptionId: 2, session: "t" })).toEqual([true]);
  expect(userInitiated({ type: "follow", leader: { term: 6, tabId: "c" } })).toEqual([false]);
});

test("if a snapshot can't be loaded by HTTP, the connection resyncs all tabs", () => {
  const [first, second] = [
    { tabId: "a", subscriptionId: 1 },
    { tabId: "b", subscriptionId: 1 },
  ];
  let state: LeaderSessionState = stepLeaderSession(createLeaderSession("1-5"), {
    type: "join",
    subscriber: first,
    cursor: "1-5",
  }).state;
  state = stepLeaderSession(state, { type: "subscribed", resumed: true, reason: "cursor" }).state;
  const joining = stepLeaderSession(state, { type: "join", subscriber: second, cursor: null });
  expect(joining.effects).toEqual([{ type: "load snapshot", subscriber: second }]);
  const step = stepLeaderSession(joining.state, { type: "snapshot failed" });
  expect([step.effects, step.state.cursor]).toEqual([[{ type: "resync" }], null]);
  expect(step.state.subscribers.map(({ phase }) => phase)).toEqual(["waiting", "waiting"]);
});

test("the same gap twice makes all tabs restart from a snapshot", () => {
  const subscriber = { tabId: "a", subscriptionId: 1 };
  let state: LeaderSessionState = stepLeaderSession(createLeaderSession("1-5"), {
    type: "join",
    subscriber,
    cursor: "1-5",
  }).state;
  const gap = (): unknown[] => {
    state = stepLeaderSession(state, { type: "subscribed", resumed: true, reason: "cursor" }).state;
    const step = stepLeaderSession(state, { type: "events", events: [event("1-7")] });
    state = step.state;
    return [step.effects, state.cursor];
  };
  expect(gap()).toEqual([[{ type: "resync" }], "1-5"]);
  expect(gap()).toEqual([[{ type: "resync" }], null]);
});
