/**
 * The fold: what a log amounts to, one event after the other. The server snapshots its result and the
 * client renders it.
 *
 * Pure, synchronous and total: it never throws, never changes its input, and takes illegal or late events
 * as nothing to do (`legal.ts` says what is wrong with them). What an event doesn't touch keeps its identity.
 * A delta costs the same however long the session is.
 */
import { parseCursor } from "../cursor.ts";
import type { SessionEvent } from "../events/index.ts";
import { type ReadableEvent, upgradeEvent } from "../events/upgrade.ts";
import { emptyState, type SessionState } from "../state.ts";
import { SCHEMA_VERSION } from "../version.ts";
import { endBlock, extendBlock, startBlock } from "./block.ts";
import { changeTurn } from "./edit.ts";
import { requestInteraction, updateInteraction } from "./interaction.ts";
import { classifyEventAt } from "./classify-event.ts";
import { endGroup, endRun, endTurn, startGroup, startRun, startTurn, takeOver } from "./turn.ts";

export function fold(state: SessionState, readable: ReadableEvent): SessionState {
  const event = readable.v === SCHEMA_VERSION ? (readable as SessionEvent) : upgradeEvent(readable);
  const position = parseCursor(event.id);
  if (position === null) return state;
  const { epoch, seq } = position;
  const place = classifyEventAt(state, event, position);
  // After a gap the state is incomplete, but what is there is better than nothing; `placeOf` tells of it.
  if (place !== "next" && place !== "gap") return state;
  return { ...applySafely(state, event, seq), epoch, seq };
}

/** An event that is not what its type says (a newer version may have dropped a field) is nothing to show. */
function applySafely(state: SessionState, event: SessionEvent, seq: number): SessionState {
  try {
    return apply(state, event, seq);
  } catch {
    return state;
  }
}

/** Folds a list of events into a state, by default the empty one. */
export function foldAll(events: Iterable<ReadableEvent>, state: SessionState = emptyState): SessionState {
  let folded = state;
  for (const event of events) folded = fold(folded, event);
  return folded;
}

function apply(state: SessionState, event: SessionEvent, seq: number): SessionState {
  switch (event.type) {
    case "thinking.delta":
    case "text.delta":
    case "tool_call.delta":
    case "tool_result.delta":
    case "files.delta":
      return changeTurn(state, event.turn, (turn) => extendBlock(turn, event));
    case "thinking.start":
    case "text.start":
    case "tool_call.start":
    case "tool_result.start":
    case "files.start":
    case "notice.stopped":
    case "notice.error":
      return changeTurn(state, event.turn, (turn) => startBlock(turn, event, seq));
    case "thinking.end":
    case "text.end":
    case "tool_call.end":
    case "tool_result.end":
    case "files.end":
      return changeTurn(state, event.turn, (turn) => endBlock(turn, event, seq));
    case "approval.request":
    case "question.request":
    case "form.request":
    case "payment.request":
      return changeTurn(state, event.turn, (turn) => requestInteraction(turn, event, seq));
    case "approval.update":
    case "question.update":
    case "form.update":
    case "payment.update":
      return taken(
        state,
        event,
        changeTurn(state, event.turn, (turn) => updateInteraction(turn, event, seq)),
      );
    case "group.start":
      return changeTurn(state, event.turn, (turn) => startGroup(turn, event, seq));
    case "group.end":
      return changeTurn(state, event.turn, (turn) => endGroup(turn, event, seq));
    case "run.start":
      return changeTurn(state, event.turn, (turn) => startRun(turn, event));
    case "run.end":
      return changeTurn(state, event.turn, (turn) => endRun(turn, event));
    case "turn.start":
      return startTurn(state, event, seq);
    case "turn.end":
      return changeTurn(state, event.turn, (turn) => endTurn(turn, event, seq));
    case "turn.takeover":
      return event.turn === null ? state : changeTurn(state, event.turn, (turn) => takeOver(turn, event));
    case "message.add":
      return addMessage(state, event);
    case "message.remove":
      return withoutWaiting(state, event.message);
    case "session.start":
      if (state.session !== "") return state;
      return { ...state, session: event.session, number: event.number, title: event.title ?? null };
    case "session.update":
      return { ...state, title: event.title };
    default:
      // An event of a newer version: nothing we know how to show, but it has its place in the log.
      return state;
  }
}

/** Whether a message was there before, as far as the state remembers. */
export function isKnownMessage(state: SessionState, id: string): boolean {
  return (
    state.waiting.some((message) => message.id === id) ||
    state.settled.includes(id) ||
    state.turns.findLast((turn) => turn.message?.id === id) !== undefined
  );
}

/** How many of them are remembered, so that a message told again does not wait again. */
const MAX_SETTLED = 64;

function addMessage(
  state: SessionState,
  event: Extract<SessionEvent, { type: "message.add" }>,
): SessionState {
  const { message: id, text, at } = event;
  if (isKnownMessage(state, id)) return state;
  const message = {
    id,
    text,
    files: event.files ?? [],
    whole: event.whole ?? null,
    by: event.by ?? null,
    resumes: event.resumes ?? null,
    at,
  };
  return { ...state, waiting: [...state.waiting, message] };
}

function withoutWaiting(state: SessionState, id: string): SessionState {
  const waiting = state.waiting.filter((message) => message.id !== id);
  if (waiting.length === state.waiting.length) return state;
  return { ...state, waiting, settled: [...state.settled, id].slice(-MAX_SETTLED) };
}

/** A plain message that answered a question waits no longer. */
function taken(before: SessionState, event: SessionEvent, after: SessionState): SessionState {
  if (after === before || event.type !== "question.update" || event.message === undefined) return after;
  return withoutWaiting(after, event.message);
}
