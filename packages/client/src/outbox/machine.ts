/**
 * The rules of the outbox. Pure: says what to do, and does nothing.
 *
 *                 add ──▶ waiting ──send──▶ sending ──acked──▶ sending ──the log shows it──▶ (gone)
 *                           ▲  ▲              │ │                 └── a minute later, if it never does ──▶ (gone)
 *                           │  └── nobody knows: again later, under the same id
 *                        resend               └── refused ──▶ failed ──discard──▶ (gone)
 *                           └────────────────────────────────────┘
 *
 * One is under way at a time, the oldest first, so the order in which they were written is the order in which they
 * arrive. One that failed stands aside; one that has to wait holds up those behind it. The id is chosen once, and a
 * server takes it once, so sending again is always safe: that two tabs send the same message, too.
 */
import type { SessionState } from "@turnstream/protocol";
import { ClientError } from "../errors.ts";
import type { OutboxMessage } from "./message.ts";

export interface OutboxState {
  /** In the order of sending. */
  readonly messages: readonly OutboxMessage[];
  readonly isConnected: boolean;
}

export type OutboxInput =
  | { readonly type: "add"; readonly message: OutboxMessage }
  | { readonly type: "connected"; readonly isConnected: boolean }
  | { readonly type: "acked"; readonly id: string }
  | { readonly type: "refused"; readonly id: string; readonly error: ClientError }
  | { readonly type: "shown"; readonly state: SessionState }
  | { readonly type: "resend"; readonly id: string }
  | { readonly type: "discard"; readonly id: string }
  /** Another tab has put it into the storage, or changed it there; null: taken it out. */
  | { readonly type: "heard"; readonly id: string; readonly message: OutboxMessage | null }
  | { readonly type: "woke" };

export type OutboxEffect =
  | { readonly type: "send"; readonly message: OutboxMessage }
  | { readonly type: "keep"; readonly message: OutboxMessage }
  | { readonly type: "forget"; readonly id: string }
  /** The one who sent it can be told: it is there, or was refused. */
  | { readonly type: "settle"; readonly id: string; readonly error: ClientError | null }
  | { readonly type: "wake"; readonly at: number };

export interface OutboxStep {
  readonly state: OutboxState;
  readonly effects: readonly OutboxEffect[];
}

/** More than a person writes while there is no network. */
export const MAX_MESSAGES = 50;
/** Refusals that may pass are not tried for ever. */
const MAX_ATTEMPTS = 8;
const FIRST_DELAY = 1_000;
const LONGEST_DELAY = 30_000;
/** The tab that wrote a message sends it; the others step in if it is gone. */
const OTHERS_STEP_IN = 10_000;
/** It may be in a turn that is older than what is loaded: then the log never shows it here. */
const SHOWN_WITHIN = 60_000;
/** What nobody has looked at for so long isn't sent without asking. */
const TOO_OLD = 24 * 3_600_000;
/** Where a message that was just sent can be. */
const NEWEST_TURNS = 50;
/** About the connection, not about the message: it isn't given up for that. */
const PASSING: readonly string[] = ["OFFLINE", "UNSURE", "ABORTED", "UNAUTHENTICATED"];

/** @param found what was in the storage */
export function loadOutbox(found: readonly OutboxMessage[], now: number): OutboxState {
  const messages = found.map((message): OutboxMessage => {
    if (message.status !== "waiting" || now - message.at < TOO_OLD) return message;
    const words = "It was written more than a day ago and is not sent. Send it again, or discard it.";
    return { ...message, status: "failed", error: new ClientError("OFFLINE", words) };
  });
  return { messages: inOrder(messages).slice(-MAX_MESSAGES), isConnected: false };
}

/** @param random from 0 to 1: spreads what is tried again */
export function stepOutbox(state: OutboxState, input: OutboxInput, now: number, random: number): OutboxStep {
  const { state: changed, effects } = apply(state, input, now, random);
  const next = sendNext(changed, now);
  return { state: next.state, effects: [...effects, ...next.effects] };
}

function apply(state: OutboxState, input: OutboxInput, now: number, random: number): OutboxStep {
  switch (input.type) {
    case "add":
      return { state: put(state, input.message), effects: [{ type: "keep", message: input.message }] };
    case "connected": {
      if (input.isConnected === state.isConnected) return { state, effects: [] };
      // A new connection is a reason to try at once, except what another tab is at.
      const messages = state.messages.map((message) =>
        message.notBefore === 0 || message.attempts === 0 ? message : { ...message, notBefore: 0 },
      );
      return { state: { messages, isConnected: input.isConnected }, effects: [] };
    }
    case "acked":
      return change(state, input.id, (message) => ({
        message: { ...message, status: "sending", ackedAt: now, error: null },
        effects: [
          { type: "settle", id: input.id, error: null },
          { type: "wake", at: now + SHOWN_WITHIN },
        ],
      }));
    case "refused":
      return change(state, input.id, (message) => refused(message, input.error, now, random));
    case "shown":
      return leave(state, shownIn(state, input.state));
    case "resend":
      return change(state, input.id, (message) => {
        if (message.status !== "failed") return { message, effects: [] };
        const again: OutboxMessage = { ...message, status: "waiting", error: null, at: now, notBefore: 0 };
        return { message: again, effects: [{ type: "keep", message: again }] };
      });
    case "discard":
      return canDiscard(state, input.id)
        ? leave(state, [input.id], new ClientError("ABORTED", "The message was discarded."))
        : { state, effects: [] };
    case "heard":
      return heard(state, input.id, input.message, now);
    case "woke":
      return leave(
        state,
        state.messages.flatMap(({ id, ackedAt }) =>
          ackedAt !== null && state.isConnected && now >= ackedAt + SHOWN_WITHIN ? [id] : [],
        ),
      );
  }
}

/** Whether it is certain that the server doesn't have it. */
export function canDiscard(state: OutboxState, id: string): boolean {
  const message = state.messages.find((one) => one.id === id);
  return message?.status === "failed" || (message?.status === "waiting" && message.attempts === 0);
}

function refused(message: OutboxMessage, error: ClientError, now: number, random: number): Changed {
  if (message.status !== "sending" || message.ackedAt !== null) return { message, effects: [] };
  const isPassing = PASSING.includes(error.code);
  if (!isPassing && (!error.canRetry || message.attempts >= MAX_ATTEMPTS)) {
    const failed: OutboxMessage = { ...message, status: "failed", error };
    return {
      message: failed,
      effects: [
        { type: "keep", message: failed },
        { type: "settle", id: message.id, error },
      ],
    };
  }
  const backOff = Math.min(LONGEST_DELAY, FIRST_DELAY * 2 ** (message.attempts - 1)) * (0.5 + random / 2);
  const notBefore = now + Math.max(backOff, (error.retryAfterSeconds ?? 0) * 1_000);
  return { message: { ...message, status: "waiting", notBefore }, effects: [] };
}

function heard(state: OutboxState, id: string, message: OutboxMessage | null, now: number): OutboxStep {
  const mine = state.messages.find((one) => one.id === id);
  if (message === null)
    // Taken out by the tab that saw it in the log, or discarded it. One that is under way here hears of it anyway.
    return mine === undefined || mine.status === "sending" ? { state, effects: [] } : leave(state, [id]);
  if (mine?.status === "sending") return { state, effects: [] };
  const notBefore = message.status === "waiting" ? now + OTHERS_STEP_IN : 0;
  return { state: put(state, { ...message, notBefore, isOwn: mine?.isOwn ?? false }), effects: [] };
}

/** The oldest that isn't done, if it may go now. */
function sendNext(state: OutboxState, now: number): OutboxStep {
  const next = state.messages.find(({ status, ackedAt }) => status !== "failed" && ackedAt === null);
  if (next === undefined || next.status === "sending" || !state.isConnected) return { state, effects: [] };
  if (next.notBefore > now) return { state, effects: [{ type: "wake", at: next.notBefore }] };
  const message: OutboxMessage = { ...next, status: "sending", error: null, attempts: next.attempts + 1 };
  return {
    state: put(state, message),
    effects: [
      { type: "keep", message },
      { type: "send", message },
    ],
  };
}

function shownIn(state: OutboxState, log: SessionState): string[] {
  if (state.messages.length === 0) return [];
  const shown = new Set(log.settled);
  for (const { id } of log.waiting) shown.add(id);
  for (let n = log.turns.length - 1; n >= Math.max(0, log.turns.length - NEWEST_TURNS); n -= 1) {
    const id = log.turns.get(n)?.message?.id;
    if (id !== undefined) shown.add(id);
  }
  return state.messages.flatMap(({ id }) => (shown.has(id) ? [id] : []));
}

function leave(state: OutboxState, ids: readonly string[], error: ClientError | null = null): OutboxStep {
  if (ids.length === 0) return { state, effects: [] };
  const messages = state.messages.filter(({ id }) => !ids.includes(id));
  const effects = ids.flatMap((id): OutboxEffect[] => [
    { type: "forget", id },
    { type: "settle", id, error },
  ]);
  return { state: { ...state, messages }, effects };
}

interface Changed {
  readonly message: OutboxMessage;
  readonly effects: readonly OutboxEffect[];
}

function change(state: OutboxState, id: string, how: (message: OutboxMessage) => Changed): OutboxStep {
  const message = state.messages.find((one) => one.id === id);
  if (message === undefined) return { state, effects: [] };
  const changed = how(message);
  return { state: put(state, changed.message), effects: changed.effects };
}

function put(state: OutboxState, message: OutboxMessage): OutboxState {
  const before = state.messages.find(({ id }) => id === message.id);
  if (before === message) return state;
  if (before === undefined) return { ...state, messages: inOrder([...state.messages, message]) };
  return { ...state, messages: state.messages.map((one) => (one === before ? message : one)) };
}

function inOrder(messages: readonly OutboxMessage[]): OutboxMessage[] {
  return messages.toSorted((a, b) => a.order - b.order || (a.id < b.id ? -1 : 1));
}
