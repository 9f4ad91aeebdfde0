/**
 * `stepOutbox` is the state machine of the outbox. Pure: it returns effects and executes none.
 *
 *                 add ──▶ waiting ──send──▶ sending ──acked──▶ sending ──in the log──▶ (removed)
 *                           ▲  ▲              │ │                 └── not in the log after a minute ──▶ (removed)
 *                           │  └── unknown outcome: retry later with the same id
 *                        resend               └── rejected ──▶ failed ──discard──▶ (removed)
 *                           └────────────────────────────────────┘
 *
 * Invariant: one message is in flight at a time, the oldest first, so messages arrive in the order of writing. A failed
 * message is skipped; a delayed message blocks those after it. The id is chosen once and the server accepts it once, so
 * a repeated send is always safe, also from two tabs. A message that another tab saw in the log stays until this tab sees
 * it there, so that it doesn't disappear from the screen and return as a turn.
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
  | { readonly type: "rejected"; readonly id: string; readonly error: ClientError }
  | { readonly type: "logged"; readonly state: SessionState }
  | { readonly type: "resend"; readonly id: string }
  | { readonly type: "discard"; readonly id: string }
  /** Another tab added or changed the message in the storage; null: removed it. */
  | { readonly type: "stored"; readonly id: string; readonly message: OutboxMessage | null }
  | { readonly type: "woke" };

export type OutboxEffect =
  | { readonly type: "send"; readonly message: OutboxMessage }
  | { readonly type: "save"; readonly message: OutboxMessage }
  | { readonly type: "remove"; readonly id: string }
  /** Settles the promise of the sender: the message is stored, or was rejected. */
  | { readonly type: "settle"; readonly id: string; readonly error: ClientError | null }
  | { readonly type: "wake"; readonly at: number };

export interface OutboxStep {
  readonly state: OutboxState;
  readonly effects: readonly OutboxEffect[];
}

/** More messages than a user writes while offline. */
export const MAX_MESSAGES = 50;
/** Limits the retries of temporary rejections. */
const MAX_ATTEMPTS = 8;
const MIN_BACKOFF_MS = 1_000;
const MAX_BACKOFF_MS = 30_000;
/** If the server asks for a longer wait, the message fails, so that the user learns it and decides when to send it. */
const MAX_WAIT_MS = 60_000;
/** The tab that wrote a message sends it. After this delay, other tabs send it, in case that tab was closed. */
const OTHER_TAB_DELAY_MS = 10_000;
/**
 * How long to wait for an acknowledged message to appear in the log. Its turn may be older than the loaded ones and
 * never appear here.
 */
const MAX_ACK_AGE_MS = 60_000;
/** Older messages are not sent without the user's consent. */
const MAX_MESSAGE_AGE_MS = 24 * 3_600_000;
/** The number of newest turns in which a message that was just sent can be. */
const NEWEST_TURNS = 50;
/** Errors of the connection, not of the message. They never make a message fail. */
const TEMPORARY_ERRORS: readonly string[] = ["OFFLINE", "UNSURE", "ABORTED", "UNAUTHENTICATED"];

/** @param found the messages in the storage */
export function loadOutbox(found: readonly OutboxMessage[], now: number): OutboxState {
  const messages = found.map((message): OutboxMessage => {
    if (message.status !== "waiting" || now - message.at < MAX_MESSAGE_AGE_MS) return message;
    const text = "The message is more than a day old. Send it again or discard it.";
    return { ...message, status: "failed", error: new ClientError("OFFLINE", text) };
  });
  return { messages: sortMessages(messages).slice(-MAX_MESSAGES), isConnected: false };
}

/** @param random from 0 to 1: jitter of the backoff */
export function stepOutbox(state: OutboxState, input: OutboxInput, now: number, random: number): OutboxStep {
  const { state: changed, effects } = apply(state, input, now, random);
  const next = sendNext(changed, now);
  return { state: next.state, effects: [...effects, ...next.effects] };
}

function apply(state: OutboxState, input: OutboxInput, now: number, random: number): OutboxStep {
  switch (input.type) {
    case "add":
      return { state: put(state, input.message), effects: [{ type: "save", message: input.message }] };
    case "connected": {
      if (input.isConnected === state.isConnected) return { state, effects: [] };
      // A new connection is a reason to retry immediately, except for messages that another tab is sending.
      const messages = state.messages.map((message) =>
        message.notBefore === 0 || message.attempts === 0 ? message : { ...message, notBefore: 0 },
      );
      const effects = messages.flatMap(({ ackedAt }): OutboxEffect[] =>
        ackedAt === null ? [] : [{ type: "wake", at: ackedAt + MAX_ACK_AGE_MS }],
      );
      return { state: { messages, isConnected: input.isConnected }, effects };
    }
    case "acked":
      return updateMessage(state, input.id, (message) => ({
        message: { ...message, status: "sending", ackedAt: now, error: null },
        effects: [
          { type: "settle", id: input.id, error: null },
          { type: "wake", at: now + MAX_ACK_AGE_MS },
        ],
      }));
    case "rejected":
      return updateMessage(state, input.id, (message) => rejected(message, input.error, now, random));
    case "logged":
      return remove(state, findLogged(state, input.state));
    case "resend":
      return updateMessage(state, input.id, (message) => {
        if (message.status !== "failed") return { message, effects: [] };
        const retried: OutboxMessage = { ...message, status: "waiting", error: null, at: now, notBefore: 0 };
        return { message: retried, effects: [{ type: "save", message: retried }] };
      });
    case "discard":
      return canDiscard(state, input.id)
        ? remove(state, [input.id], new ClientError("ABORTED", "The message was discarded."))
        : { state, effects: [] };
    case "stored":
      return receiveStored(state, input.id, input.message, now);
    case "woke":
      return remove(
        state,
        state.messages.flatMap(({ id, ackedAt }) =>
          ackedAt !== null && state.isConnected && now >= ackedAt + MAX_ACK_AGE_MS ? [id] : [],
        ),
      );
  }
}

/** Returns true if the server certainly does not have the message. */
export function canDiscard(state: OutboxState, id: string): boolean {
  const message = state.messages.find((candidate) => candidate.id === id);
  return message?.status === "failed" || (message?.status === "waiting" && message.attempts === 0);
}

function rejected(message: OutboxMessage, error: ClientError, now: number, random: number): MessageChange {
  if (message.status !== "sending" || message.ackedAt !== null) return { message, effects: [] };
  const isPassing = TEMPORARY_ERRORS.includes(error.code);
  const waitMs = (error.retryAfterSeconds ?? 0) * 1_000;
  if (!isPassing && (!error.canRetry || message.attempts >= MAX_ATTEMPTS || waitMs > MAX_WAIT_MS)) {
    const failed: OutboxMessage = { ...message, status: "failed", error };
    return {
      message: failed,
      effects: [
        { type: "save", message: failed },
        { type: "settle", id: message.id, error },
      ],
    };
  }
  const backOff = Math.min(MAX_BACKOFF_MS, MIN_BACKOFF_MS * 2 ** (message.attempts - 1)) * (0.5 + random / 2);
  const notBefore = now + backOff + waitMs;
  return { message: { ...message, status: "waiting", notBefore }, effects: [] };
}

function receiveStored(
  state: OutboxState,
  id: string,
  message: OutboxMessage | null,
  now: number,
): OutboxStep {
  const own = state.messages.find((candidate) => candidate.id === id);
  if (message === null) {
    // If this tab is sending it, the reply settles it.
    if (own === undefined || own.status === "sending") return { state, effects: [] };
    // Another tab discarded it. A message that was tried can't be discarded, so another tab saw it in the log.
    if (canDiscard(state, id)) return remove(state, [id]);
    return apply(state, { type: "acked", id }, now, 0);
  }
  if (own?.status === "sending") return { state, effects: [] };
  const notBefore = message.status === "waiting" ? now + OTHER_TAB_DELAY_MS : 0;
  return { state: put(state, { ...message, notBefore, isOwn: own?.isOwn ?? false }), effects: [] };
}

/** Sends the oldest unsent message if it is due. */
function sendNext(state: OutboxState, now: number): OutboxStep {
  const next = state.messages.find(({ status, ackedAt }) => status !== "failed" && ackedAt === null);
  if (next === undefined || next.status === "sending") return { state, effects: [] };
  // Also without a connection, because a hidden page then opens one.
  if (next.notBefore > now) return { state, effects: [{ type: "wake", at: next.notBefore }] };
  if (!state.isConnected) return { state, effects: [] };
  const message: OutboxMessage = { ...next, status: "sending", error: null, attempts: next.attempts + 1 };
  return {
    state: put(state, message),
    effects: [
      { type: "save", message },
      { type: "send", message },
    ],
  };
}

function findLogged(state: OutboxState, log: SessionState): string[] {
  if (state.messages.length === 0) return [];
  const shown = new Set(log.settled);
  for (const { id } of log.waiting) shown.add(id);
  for (let n = log.turns.length - 1; n >= Math.max(0, log.turns.length - NEWEST_TURNS); n -= 1) {
    const id = log.turns.get(n)?.message?.id;
    if (id !== undefined) shown.add(id);
  }
  return state.messages.flatMap(({ id }) => (shown.has(id) ? [id] : []));
}

function remove(state: OutboxState, ids: readonly string[], error: ClientError | null = null): OutboxStep {
  if (ids.length === 0) return { state, effects: [] };
  const messages = state.messages.filter(({ id }) => !ids.includes(id));
  const effects = ids.flatMap((id): OutboxEffect[] => [
    { type: "remove", id },
    { type: "settle", id, error },
  ]);
  return { state: { ...state, messages }, effects };
}

interface MessageChange {
  readonly message: OutboxMessage;
  readonly effects: readonly OutboxEffect[];
}

function updateMessage(
  state: OutboxState,
  id: string,
  update: (message: OutboxMessage) => MessageChange,
): OutboxStep {
  const message = state.messages.find((candidate) => candidate.id === id);
  if (message === undefined) return { state, effects: [] };
  const changed = update(message);
  return { state: put(state, changed.message), effects: changed.effects };
}

function put(state: OutboxState, message: OutboxMessage): OutboxState {
  const before = state.messages.find(({ id }) => id === message.id);
  if (before === message) return state;
  if (before === undefined) return { ...state, messages: sortMessages([...state.messages, message]) };
  return {
    ...state,
    messages: state.messages.map((candidate) => (candidate === before ? message : candidate)),
  };
}

function sortMessages(messages: readonly OutboxMessage[]): OutboxMessage[] {
  return messages.toSorted((a, b) => a.order - b.order || (a.id < b.id ? -1 : 1));
}
