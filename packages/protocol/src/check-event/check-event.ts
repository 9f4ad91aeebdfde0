/**
 * `checkEvent` checks whether an event may follow in a session's log, and names the rule that it breaks.
 * Invariant: the check is separate from the fold. The fold accepts every event; this module only judges and never
 * changes a state.
 */
import { parseCursor } from "../cursor.ts";
import type { SessionEvent, EventOf } from "../events/index.ts";
import { blockAt, findRun, findTurn } from "../fold/edit.ts";
import { isKnownMessage } from "../fold/fold.ts";
import { isPending, outlivesTurn } from "../fold/interaction.ts";
import { claimsEpoch } from "../fold/classify-event.ts";
import { listBlocks, type SessionState, type Turn } from "../state.ts";
import { checkContinue, checkGroup, checkPlace, checkStart } from "./blocks.ts";
import { checkRequest, checkUpdate } from "./interactions.ts";
import { type Violation, violation } from "./rules.ts";
import { checkTakeover } from "./takeover.ts";
import { findToolCall, isMain, findToolResult, findSubAgentRun, unansweredCalls } from "../turn-queries.ts";

/** Returns null if `event` may follow in `state`, otherwise the broken rule and the reason. */
export function checkEvent(state: SessionState, event: SessionEvent): Violation | null {
  return checkPosition(state, event) ?? checkSession(state, event);
}

function checkPosition(state: SessionState, event: SessionEvent): Violation | null {
  const position = parseCursor(event.id);
  if (position === null) return violation("L02", `${event.id} is not a valid cursor`);
  const { epoch, seq } = position;
  if (epoch < state.epoch)
    return violation("L03", `epoch ${epoch} has ended, the log is in epoch ${state.epoch}`);
  const first = event.first ?? seq;
  if (first !== state.seq + 1 || first > seq)
    return violation("L02", `position ${seq} does not follow ${state.seq}`);
  if (epoch > state.epoch && !claimsEpoch(event.type))
    return violation("L03", `${event.type} can't start epoch ${epoch}`);
  if (event.type === "turn.takeover" && epoch === state.epoch)
    return violation("L03", "a takeover must start a new epoch");
  return null;
}

function checkSession(state: SessionState, event: SessionEvent): Violation | null {
  if (event.type === "session.start")
    return state.seq === 0 ? null : violation("L01", "session.start is not first");
  if (state.session === "") return violation("L01", `${event.type} before session.start`);
  const running = state.turns.findLast((turn) => turn.status === "running");
  switch (event.type) {
    case "session.update":
      return null;
    case "message.add":
      return isKnownMessage(state, event.message)
        ? violation("L04", `message ${event.message} already exists`)
        : null;
    case "message.remove":
      return state.waiting.some((message) => message.id === event.message)
        ? null
        : violation("L05", `message ${event.message} is not queued`);
    case "turn.start":
      return checkTurnStart(state, event, running);
    case "turn.takeover":
      if (event.turn === null)
        return running === undefined ? null : violation("L21", `turn ${running.id} is running`);
      return running?.id === event.turn
        ? checkTakeover(running, event)
        : violation("L06", `turn ${event.turn} is not running`);
    default:
      return checkInTurn(state, event, findTurn(state, event.turn));
  }
}

function checkTurnStart(
  state: SessionState,
  event: EventOf<"turn.start">,
  running: Turn | undefined,
): Violation | null {
  if (running !== undefined) return violation("L05", `turn ${running.id} is still running`);
  if (findTurn(state, event.turn) !== undefined) return violation("L04", `turn ${event.turn} already exists`);
  if (event.message === undefined || state.waiting.some((message) => message.id === event.message))
    return null;
  return violation("L05", `message ${event.message} is not queued for a turn`);
}

type TurnEvent = Exclude<
  SessionEvent,
  EventOf<
    "session.start" | "session.update" | "message.add" | "message.remove" | "turn.start" | "turn.takeover"
  >
>;

function checkInTurn(state: SessionState, event: TurnEvent, turn: Turn | undefined): Violation | null {
  if (turn === undefined) return violation("L06", `there is no turn ${event.turn}`);
  if ((event.type === "form.update" || event.type === "payment.update") && !waitsInside(turn, event))
    return checkUpdate(turn, event);
  if (turn.status !== "running") return violation("L06", `turn ${turn.id} has ended`);
  switch (event.type) {
    case "question.update":
      return checkUpdate(turn, event) ?? checkAnswer(state, event);
    case "approval.update":
    case "form.update":
    case "payment.update":
      return checkUpdate(turn, event);
    case "turn.end":
      return checkTurnEnd(turn, event);
    case "run.start":
      return checkRunStart(turn, event);
    case "run.end":
      return checkRunEnd(turn, event);
    case "group.start":
    case "group.end":
      return checkPlace(turn, event) ?? checkGroup(turn, event);
    case "approval.request":
    case "question.request":
    case "form.request":
    case "payment.request":
      return checkPlace(turn, event) ?? checkRequest(state, turn, event);
    default: {
      const continues = event.type.endsWith(".delta") || event.type.endsWith(".end");
      return continues ? checkContinue(turn, event) : (checkPlace(turn, event) ?? checkStart(turn, event));
    }
  }
}

function waitsInside(turn: Turn, { index, block }: EventOf<"form.update" | "payment.update">): boolean {
  const asked = blockAt(turn, index, block);
  return asked !== undefined && "version" in asked && !outlivesTurn(asked);
}

/** A message that answers a question must still be queued until that answer. */
function checkAnswer(state: SessionState, { message, status }: EventOf<"question.update">): Violation | null {
  if (message === undefined) return null;
  if (status !== "answered") return violation("L20", "only the status answered can have a message");
  return state.waiting.some(({ id }) => id === message)
    ? null
    : violation("L05", `message ${message} is not queued`);
}

function checkRunStart(turn: Turn, event: EventOf<"run.start">): Violation | null {
  if (findRun(turn, event.run) !== undefined) return violation("L04", `run ${event.run} already exists`);
  const { parent, call } = event;
  if (parent === undefined || call === undefined) {
    if (parent !== undefined || call !== undefined)
      return violation("L07", "a sub-agent run must name both its parent and its call");
    return turn.runs.length === 0 ? null : violation("L07", "the turn already has a main run");
  }
  if (findRun(turn, parent)?.status !== "running")
    return violation("L07", `parent run ${parent} is not running`);
  if (findSubAgentRun(turn, call) !== undefined) return violation("L07", `call ${call} already has a run`);
  const result = findToolResult(turn, call);
  if (findToolCall(turn, call)?.run !== parent || result === undefined || result.end !== null) {
    return violation("L07", `call ${call} of run ${parent} has no open result for the sub-agent run`);
  }
  if (result.hidden)
    return violation("L07", `call ${call} is hidden, but the work of a sub-agent is visible`);
  return null;
}

function checkRunEnd(turn: Turn, event: EventOf<"run.end">): Violation | null {
  const run = findRun(turn, event.run);
  if (run?.status !== "running") return violation("L08", `run ${event.run} is not running`);
  const open = listBlocks(turn).find((block) => block.run === run.id && block.end === null);
  if (open !== undefined) return violation("L08", `block ${open.id} of run ${run.id} is open`);
  const [call] = unansweredCalls(turn, run.id);
  if (call !== undefined) return violation("L08", `call ${call.call} of run ${run.id} has no result`);
  const waits = listBlocks(turn).find(
    (b) => b.run === run.id && "version" in b && isPending(b) && !outlivesTurn(b),
  );
  return waits === undefined ? null : violation("L08", `block ${waits.id} of run ${run.id} is pending`);
}

function checkTurnEnd(turn: Turn, event: EventOf<"turn.end">): Violation | null {
  const run = turn.runs.find((r) => r.status === "running");
  if (run !== undefined) return violation("L23", `run ${run.id} is still running`);
  if (turn.group !== null) return violation("L23", `group ${turn.group} is still open`);
  if (turn.open > 0) return violation("L23", `${turn.open} block(s) are still open`);
  const last = listBlocks(turn).at(-1);
  const notice = last?.kind === "notice" ? last.notice : null;
  const asked = event.reason === "user_stopped" ? "stopped" : event.reason === "error" ? "error" : null;
  if (notice !== asked) return violation("L23", `reason ${event.reason} with the notice ${notice}`);
  const interaction = listBlocks(turn).some((b) => "version" in b && outlivesTurn(b));
  if (event.reason === "requires_interaction" && !interaction)
    return violation("L23", "reason requires_interaction without a form or payment");
  return turn.runs.some((r) => isMain(turn, r.id)) ? null : violation("L23", "the turn never had a main run");
}
