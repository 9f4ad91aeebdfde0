/** The rules between tabs, where they are hard to meet in a whole browser. */
import type { SessionEvent } from "@turnstream/protocol";
import { expect, test } from "vitest";
import { type FeedState, newFeed, stepFeed } from "../../src/tabs/leader-session.ts";
import {
  type MemberInput,
  type MemberState,
  newMember,
  positioned,
  stepMember,
} from "../../src/tabs/follower.ts";
import { readTabMessage, type Reign } from "../../src/tabs/messages.ts";
import { createOnlookers } from "../../src/tabs/leader.ts";
import { newRole, type RoleInput, type RoleState, stepRole } from "../../src/tabs/election.ts";
import { FakeOutside } from "../live/fast-env.ts";

const by: Reign = { term: 5, tab: "b" };
const event = (id: string): SessionEvent => ({ v: 2, id, at: 0, type: "session.update", title: id });

function joined(): MemberState {
  let state = stepMember(newMember("a"), { type: "follow", leader: by }, 0).state;
  state = stepMember(state, { type: "watch", watch: 1, session: "s" }, 0).state;
  state = positioned(state, 1, "1-5");
  const beginning = { resumed: true, reason: "cursor", snapshot: null } as const;
  const message = { type: "begun", by, session: "s", to: "a", watch: 1, beginning } as const;
  return stepMember(state, { type: "heard", message }, 0).state;
}

const told = (state: MemberState, ...ids: string[]) =>
  stepMember(
    state,
    {
      type: "heard",
      message: { type: "events", by, session: "s", to: null, watch: 0, events: ids.map(event) },
    },
    0,
  );

test("what a tab has is left out, and what is missing is asked for", () => {
  expect(told(joined(), "1-4", "1-5", "1-6").effects).toEqual([
    { type: "events", watch: 1, events: [event("1-6")] },
  ]);
  const { state, effects } = told(joined(), "1-6", "1-8", "1-9");
  expect(effects).toEqual([
    { type: "events", watch: 1, events: [event("1-6")] },
    { type: "ask", watch: 1, session: "s", isWish: false },
  ]);
  // Nothing more until it was answered.
  expect(told(state, "1-7").effects).toEqual([]);
});

const lead = (head: string) =>
  stepMember(joined(), { type: "heard", message: { type: "lead", by, heads: { s: head } } }, 0).effects;

test("what a browser dropped while the page didn't run is asked for, once the leader says where it stands", () => {
  expect([lead("1-5"), lead("1-4")]).toEqual([[], []]);
  expect(lead("1-6")).toEqual([{ type: "ask", watch: 1, session: "s", isWish: false }]);
});

test("the words of a leader before count no more", () => {
  const { state } = stepMember(joined(), { type: "follow", leader: { term: 6, tab: "c" } }, 0);
  expect(told(positioned(state, 1, "1-5"), "1-6").effects).toEqual([]);
});

test("a command waits ten seconds for a leader, and a minute for its answer", () => {
  const command = { type: "stop", session_id: "s" } as const;
  const held = stepMember(newMember("a"), { type: "command", request: "r", command }, 0).state;
  expect(stepMember(held, { type: "tick" }, 9_999).effects).toEqual([]);
  expect(stepMember(held, { type: "tick" }, 10_000).effects).toMatchObject([
    { outcome: { code: "OFFLINE" } },
  ]);
  const given = stepMember(held, { type: "follow", leader: by }, 0).state;
  expect(stepMember(given, { type: "tick" }, 59_999).effects).toEqual([]);
  expect(stepMember(given, { type: "tick" }, 60_000).effects).toMatchObject([
    { outcome: { code: "UNSURE" } },
  ]);
});

function leading(): RoleState {
  const inputs: RoleInput[] = [{ type: "start" }, { type: "granted" }];
  return inputs.reduce((state, input) => stepRole(state, input, 100, 0).state, newRole("a", true, 100));
}

test("a leader that hears of a later reign gives way, and of an earlier one doesn't", () => {
  const state = leading();
  expect(state).toMatchObject({ role: "leading", leader: { term: 100, tab: "a" } });
  expect(stepRole(state, { type: "lead", by: { term: 99, tab: "z" } }, 200, 0)).toEqual({
    state,
    effects: [],
  });
  const later = { term: 101, tab: "b" };
  const { state: next, effects } = stepRole(state, { type: "lead", by: later }, 200, 0);
  expect(next).toMatchObject({ role: "following", leader: later });
  expect(effects.map(({ type }) => type)).toEqual(
    expect.arrayContaining(["release lock", "abdicate", "follow", "request lock"]),
  );
});

test("silence is only another's when this tab was awake to hear", () => {
  let state = stepRole(newRole("a", true, 0), { type: "start" }, 0, 0).state;
  const tick = (now: number): string[] => {
    const step = stepRole(state, { type: "tick" }, now, 0);
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

test("what no tab says is not heard", () => {
  const said = { type: "lead", by, heads: {} };
  expect(readTabMessage(said)).toBe(said);
  const begun = { type: "begun", by, session: "s", to: null, watch: 0 };
  const command = { type: "command", from: "a", request: "r", at: 0 };
  const wrong: unknown[] = [
    null,
    7,
    "lead",
    [],
    {},
    { type: "lead" },
    { type: "lead", by: { term: "5", tab: "b" } },
    { type: "watch", from: "a", watch: 1, session: "s", cursor: "1-06" },
    { type: "watch", from: "a", watch: 1, session: "", cursor: null },
    { ...begun, beginning: { resumed: false, reason: "fresh", snapshot: null } },
    { ...begun, beginning: { resumed: true, reason: "because", snapshot: null } },
    { type: "events", by, session: "s", to: null, watch: 0, events: [null] },
    { type: "connection", by, session: "s", view: {} },
    { type: "clock", by, skewMs: Number.NaN },
    { type: "reply", by, to: "a", request: "r", ack: null, error: null },
    { ...command, command: { type: "stop" } },
  ];
  expect(wrong.filter((message) => readTabMessage(message) !== null)).toEqual([]);
});

test("who looks at any of the tabs counts, and is told when it changes", () => {
  const own = new FakeOutside();
  const onlookers = createOnlookers(own);
  const { outside } = onlookers;
  const changes: boolean[] = [];
  const stop = outside.onChange(() => changes.push(outside.isHidden()));
  own.become({ isHidden: true });
  onlookers.heard("b", false);
  onlookers.heard("b", true);
  onlookers.heard("b", true);
  onlookers.heard("c", true);
  onlookers.heard("b", false);
  onlookers.heard("c", false);
  expect(changes).toEqual([true, false, false, false, true]);
  own.become({ isHidden: false });
  stop();
  onlookers.heard("b", true);
  expect(changes).toEqual([true, false, false, false, true, false]);
});

const wishes = (input: MemberInput): unknown[] =>
  stepMember(joined(), input, 60_000).effects.map((effect) => effect.type === "ask" && effect.isWish);

test("who says now wishes it; who only missed something doesn't", () => {
  expect(wishes({ type: "again", watch: 1 })).toEqual([true]);
  expect(wishes({ type: "rejoin" })).toEqual([true]);
  expect(wishes({ type: "watch", watch: 2, session: "t" })).toEqual([true]);
  expect(wishes({ type: "follow", leader: { term: 6, tab: "c" } })).toEqual([false]);
});

test("a snapshot that can't be had by itself is brought by the connection, for everybody", () => {
  const [one, two] = [
    { tab: "a", watch: 1 },
    { tab: "b", watch: 1 },
  ];
  let state: FeedState = stepFeed(newFeed("1-5"), { type: "join", who: one, cursor: "1-5" }).state;
  state = stepFeed(state, { type: "begun", resumed: true, reason: "cursor" }).state;
  const joining = stepFeed(state, { type: "join", who: two, cursor: null });
  expect(joining.effects).toEqual([{ type: "fetch", who: two }]);
  const step = stepFeed(joining.state, { type: "unfetchable" });
  expect([step.effects, step.state.cursor]).toEqual([[{ type: "again" }], null]);
  expect(step.state.watchers.map(({ phase }) => phase)).toEqual(["waiting", "waiting"]);
});

test("the same gap again is not asked for again and again: everybody begins anew", () => {
  const who = { tab: "a", watch: 1 };
  let state: FeedState = stepFeed(newFeed("1-5"), { type: "join", who, cursor: "1-5" }).state;
  const gap = (): unknown[] => {
    state = stepFeed(state, { type: "begun", resumed: true, reason: "cursor" }).state;
    const step = stepFeed(state, { type: "events", events: [event("1-7")] });
    state = step.state;
    return [step.effects, state.cursor];
  };
  expect(gap()).toEqual([[{ type: "again" }], "1-5"]);
  expect(gap()).toEqual([[{ type: "again" }], null]);
});
