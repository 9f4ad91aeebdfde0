/**
 * `fold` applies one event of a log to the state of the session. The server stores the result as snapshots, and the
 * client renders it.
 *
 * Invariant: `fold` is pure, synchronous and total. It never throws, never changes its input, and ignores invalid or
 * late events (`checkEvent` reports their problems). Unchanged parts keep their identity. The cost of a delta does not
 * depend on the length of the session.
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
  // After a gap the state is incomplete, but an incomplete state is better than none. `classifyEvent` reports the gap.
  if (place !== "next" && place !== "gap") return state;
  return { ...applySafely(state, event, seq), epoch, seq };
}

/** Ignores an event whose content does not match its type. A newer version may have dropped a field. */
function applySafely(state: SessionState, event: SessionEvent, seq: number): SessionState {
  try {
    return apply(state, event, seq);
  } catch {
    return state;
  }
}

/** Folds a list of events into a state. @default the empty state */
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
      // An event type of a newer version can't be shown, but its position still counts.
      return state;
  }
}

/** Returns true if the message already exists, as far as the state remembers. */
export function isKnownMessage(state: SessionState, id: string): boolean {
  return (
    state.waiting.some((message) => message.id === id) ||
    state.settled.includes(id) ||
    state.turns.findLast((turn) => turn.message?.id === id) !== undefined
  );
}

/** Number of settled message ids to remember, so that a repeated `message.add` does not queue the message again. */
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

/** Removes a message from the queue if it answered a question. */
function taken(before: SessionState, event: SessionEvent, after: SessionState): SessionState {
  if (after === before || event.type !== "question.update" || event.message === undefined) return after;
  return withoutWaiting(after, event.message);
}
