/** Tests `mayClose`: what keeps the connection of a hidden page, and what doesn't. */
import { emptyState, type SessionState, Sequence, type Turn, type UserMessage } from "@turnstream/protocol";
import { expect, test } from "vitest";
import { ClientError } from "../../src/errors.ts";
import { createMessage, type OutboxMessage } from "../../src/outbox/message.ts";
import { mayClose, type SessionActivity } from "../../src/session/may-close.ts";

const NOW = 1_000_000;
const IDLE: SessionActivity = {
  state: emptyState,
  outbox: [],
  phase: "live",
  hasCaughtUp: true,
  isSubscribed: true,
};
const running: SessionState = {
  ...emptyState,
  turns: Sequence.from([{ status: "running" } as Turn]),
};
const ended: SessionState = { ...emptyState, turns: Sequence.from([{ status: "end_turn" } as Turn]) };
const queued: SessionState = { ...emptyState, waiting: [{ id: "m" } as UserMessage] };
const message = (change: Partial<OutboxMessage> = {}): OutboxMessage => ({
  ...createMessage({ text: "a" }, "1", NOW, NOW),
  ...change,
});

function allows(
  change: Partial<SessionActivity>,
  { pendingRequests = 0, followsTurns = true } = {},
): boolean {
  const sessions = [IDLE, { ...IDLE, ...change }, IDLE];
  return mayClose({ sessions, pendingRequests }, { now: NOW, followsTurns });
}

test("a page whose sessions have caught up and do nothing may close", () => {
  expect([
    allows({}),
    allows({ state: ended }),
    mayClose({ sessions: [], pendingRequests: 0 }, { now: 0, followsTurns: true }),
  ]).toEqual([true, true, true]);
});

test("a turn that runs or waits keeps the connection, unless it may be missed", () => {
  expect([allows({ state: running }), allows({ state: queued })]).toEqual([false, false]);
  const mayMiss = { followsTurns: false };
  expect([allows({ state: running }, mayMiss), allows({ state: queued }, mayMiss)]).toEqual([true, true]);
});

test("a session that has not caught up keeps the connection, also one that was hidden so", () => {
  const phases = ["connecting", "replaying", "resyncing", "waiting", "offline", "hidden"] as const;
  const mayMiss = { followsTurns: false };
  for (const phase of phases) expect(allows({ phase, hasCaughtUp: false }, mayMiss)).toBe(false);
  expect([allows({ phase: "live" }, mayMiss), allows({ phase: "hidden" }, mayMiss)]).toEqual([true, true]);
});

test("a message keeps the connection until it is in the log, on any channel", () => {
  const own = [
    message(),
    message({ notBefore: NOW + 20_000 }),
    message({ status: "sending" }),
    message({ status: "sending", ackedAt: NOW }),
  ];
  for (const one of own) expect(allows({ outbox: [one] }, { followsTurns: false })).toBe(false);
  const failed = message({ status: "failed", error: new ClientError("FORBIDDEN", "no") });
  expect(allows({ outbox: [failed] })).toBe(true);
  expect(allows({ outbox: [failed, message()] })).toBe(false);
});

const other = (change: Partial<OutboxMessage>): boolean =>
  allows({ outbox: [message({ isOwn: false, ...change })] });

test("a message of another tab counts once this tab may send it", () => {
  expect(other({ notBefore: NOW + 1 })).toBe(true);
  expect(other({ notBefore: NOW })).toBe(false);
  expect(other({ status: "sending" })).toBe(false);
  // Another tab has sent it.
  expect(other({ status: "sending", ackedAt: NOW })).toBe(true);
});

test("a request without an answer keeps the connection", () => {
  expect([allows({}, { pendingRequests: 1 }), allows({}, { pendingRequests: 0 })]).toEqual([false, true]);
});

test("a session without a subscription keeps the connection only for its messages", () => {
  const left = { isSubscribed: false, phase: "connecting", hasCaughtUp: false, state: running } as const;
  expect([allows(left), allows({ ...left, outbox: [message()] })]).toEqual([true, false]);
});

test("a session that is closed permanently keeps nothing", () => {
  expect(allows({ phase: "closed", state: running, outbox: [message()] })).toBe(true);
});
