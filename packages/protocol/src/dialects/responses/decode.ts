/**
 * Frames of the `responses` dialect to canonical events. Liberal: takes the frames of 002 as they are
 * printed there. Every step and text becomes the main run's, for the wire doesn't tell runs apart.
 */
import { truncateText } from "../../truncate-text.ts";
import { ERRORS, errorCodeFromNumber, toTurnErrorCode } from "../../errors.ts";
import { outlivesTurn } from "../../fold/interaction.ts";
import { MAX_PREVIEW } from "../../limits.ts";
import { listBlocks, emptyState, type TextBlock, type Usage } from "../../state.ts";
import { changeInteraction, requestApproval, requestForm, requestPayment } from "../decode-interaction.ts";
import type { Decoded } from "../dialect.ts";
import { type Decoding, named, EventWriter } from "../event-writer.ts";
import type { ResponsesFrame, ResponsesFrameOf } from "./frames.ts";

export interface ResponsesDecoder extends Decoding {
  readonly turn: string;
  /** The connection failed, not the turn: the `[DONE]` that follows ends only the stream. */
  readonly interrupted: boolean;
  /** What `.completed` said, for the turn's end. */
  readonly completed: ResponsesFrameOf<"response.output_text.completed"> | null;
}

export const RESPONSES_FRAME_TYPES: ReadonlySet<ResponsesFrame["type"]> = new Set<ResponsesFrame["type"]>([
  "response.created",
  "response.chat.title.updated",
  "response.reasoning_step.start",
  "response.reasoning_step.end",
  "response.interaction_request",
  "response.interaction_update",
  "response.output_text.delta",
  "response.output_text.completed",
  "response.error",
  "[DONE]",
]);

export const responsesStart: ResponsesDecoder = {
  state: emptyState,
  at: 0,
  cursor: null,
  turn: "",
  interrupted: false,
  completed: null,
};

export function decodeResponses(decoder: ResponsesDecoder, frame: ResponsesFrame): Decoded<ResponsesDecoder> {
  const scribe = new EventWriter(decoder);
  const turn = frame.type === "[DONE]" ? decoder.turn : frame.response_id;
  // A title, or a payment of an older turn, may change while another turn is told: it begins and ends nothing.
  const isUpdate =
    frame.type === "response.interaction_update" || frame.type === "response.chat.title.updated";
  const isAside = isUpdate && scribe.turn(turn)?.status !== "running";
  let completed = turn === decoder.turn || isAside ? decoder.completed : null;
  const interrupted =
    frame.type === "response.error" && ERRORS[errorCodeFromNumber(frame.code)].about === "connection";
  if (frame.type === "[DONE]") {
    if (!decoder.interrupted) end(scribe, turn, completed);
  } else if (!interrupted) {
    const conversation =
      "conversation_group_id" in frame ? frame.conversation_group_id : `chat-${frame.chat_id}`;
    scribe.session(conversation, frame.chat_id);
    const model = frame.type === "response.created" ? { model: frame.model } : {};
    const again = frame.type === "response.created" ? scribe.turn(turn) : undefined;
    if (again?.status === "running" && again.items.length > 0) scribe.restart(again);
    if (!isAside) scribe.begin(turn, frame.type === "response.created" ? frame.agent_id : "agent", model);
    if (frame.type === "response.output_text.completed") completed = frame;
    read(scribe, turn, frame);
  }
  const cursor = frame.event_id ?? decoder.cursor;
  const current = isAside ? decoder.turn : turn;
  return {
    decoder: { state: scribe.state, at: scribe.at, cursor, turn: current, interrupted, completed },
    events: scribe.events,
    problem: null,
  };
}

function read(scribe: EventWriter, turn: string, frame: Exclude<ResponsesFrame, { type: "[DONE]" }>): void {
  switch (frame.type) {
    case "response.chat.title.updated":
      scribe.write({ type: "session.update", title: frame.name });
      return;
    case "response.reasoning_step.start":
      endText(scribe, turn, false);
      startStep(scribe, turn, frame.step);
      return;
    case "response.reasoning_step.end":
      endStep(scribe, turn, frame.step);
      return;
    case "response.output_text.delta":
      extendText(scribe, turn, frame.delta);
      return;
    case "response.output_text.completed":
      settleText(scribe, turn, frame.final_text);
      return;
    case "response.interaction_request":
      endText(scribe, turn, false);
      request(scribe, turn, frame);
      return;
    case "response.interaction_update":
      changeInteraction(scribe, turn, frame.interaction_id, frame);
      return;
    case "response.error": {
      if (scribe.find(turn, (block) => block.kind === "notice") !== undefined) return;
      endText(scribe, turn, false);
      const code = toTurnErrorCode(errorCodeFromNumber(frame.code));
      const can_retry = frame.can_retry ?? false;
      const on = { ...scribe.next(turn), run: turn };
      scribe.write({
        type: "notice.error",
        ...on,
        text: frame.message,
        code,
        can_retry,
        error_type: "terminal",
      });
      return;
    }
    default:
      return;
  }
}

function openText(scribe: EventWriter, turn: string): TextBlock | undefined {
  return scribe.findRecent(turn, (block) => block.kind === "text" && block.end === null) as
    | TextBlock
    | undefined;
}

function extendText(scribe: EventWriter, turn: string, text: string): void {
  if (openText(scribe, turn) === undefined) {
    scribe.write({ type: "text.start", ...scribe.next(turn), run: turn, part: false });
  }
  const block = openText(scribe, turn);
  if (block !== undefined) scribe.write({ type: "text.delta", ...named(turn, block), text });
}

function endText(scribe: EventWriter, turn: string, final: boolean): void {
  const block = openText(scribe, turn);
  if (block !== undefined) scribe.write({ type: "text.end", ...named(turn, block), final });
}

/** `final_text` is authoritative: where the deltas amount to something else, it replaces them. */
function settleText(scribe: EventWriter, turnId: string, final: string): void {
  const turn = scribe.turn(turnId);
  if (turn === undefined || turn.status !== "running") return;
  const texts = listBlocks(turn).filter((block): block is TextBlock => block.kind === "text");
  if (texts.map((block) => block.text).join("") !== final) {
    const blocks = texts.map((block) => block.id);
    scribe.write({ type: "turn.takeover", turn: turnId, blocks, groups: [], runs: [] });
    if (final !== "") extendText(scribe, turnId, final);
  }
  endText(scribe, turnId, true);
}

type StepStart = ResponsesFrameOf<"response.reasoning_step.start">["step"];
type StepEnd = ResponsesFrameOf<"response.reasoning_step.end">["step"];

function startStep(scribe: EventWriter, turn: string, step: StepStart): void {
  if (scribe.findRecent(turn, (block) => block.kind === "tool_call" && block.call === step.id) !== undefined)
    return;
  const on = { ...scribe.next(turn), run: turn };
  scribe.write({ type: "tool_call.start", ...on, call: step.id, name: step.tool_name, label: step.content });
  scribe.write({ type: "tool_call.end", ...on, input: step.args });
}

function endStep(scribe: EventWriter, turn: string, step: StepEnd): void {
  scribe.openResult(turn, step.id, { name: step.tool_name });
  const result = scribe.openResultOf(turn, step.id);
  if (result === undefined) return;
  const { success, data: preview } = step.result;
  const status = step.result.status ?? (success ? "success" : "error");
  const usage = usageFrom(step.token_usage);
  const more = { status, preview: truncateText(preview, MAX_PREVIEW), artifact: null };
  scribe.write({ type: "tool_result.end", ...named(turn, result), ...more, ...usage });
}

function usageFrom(tokens: StepEnd["token_usage"] | undefined): { usage?: Usage } {
  if (tokens === undefined) return {};
  const { total_prompt_tokens: input_tokens, total_completion_tokens: output_tokens } = tokens;
  return {
    usage: { input_tokens, output_tokens, total_tokens: tokens.total_tokens, calls: tokens.total_calls },
  };
}

function request(
  scribe: EventWriter,
  turn: string,
  frame: ResponsesFrameOf<"response.interaction_request">,
): void {
  const where = { turn, run: turn };
  // 002 once shows a form without its interaction_type.
  if ("form_request_id" in frame) requestForm(scribe, where, frame);
  else if ("payment" in frame) requestPayment(scribe, where, frame.payment);
  else requestApproval(scribe, where, frame.approval_key, frame);
}

function end(scribe: EventWriter, turnId: string, completed: ResponsesDecoder["completed"]): void {
  const turn = scribe.turn(turnId);
  if (turn === undefined || turn.status !== "running") return;
  endText(scribe, turnId, false);
  const notice = scribe.find(turnId, (block) => block.kind === "notice");
  const waits = scribe.find(turnId, (block) => "version" in block && outlivesTurn(block));
  const stopped = completed?.stop_reason === "user_stopped";
  if (stopped && notice === undefined)
    scribe.write({ type: "notice.stopped", ...scribe.next(turnId), run: turnId, text: "" });
  const open = completed === null && waits !== undefined ? "requires_interaction" : "end_turn";
  const reason = stopped ? "user_stopped" : notice !== undefined && completed === null ? "error" : open;
  scribe.endTurn(turnId, reason, 0, usageFrom(completed?.usage).usage);
}
