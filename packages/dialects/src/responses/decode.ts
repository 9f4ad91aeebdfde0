/**
 * `responsesDecoder` decodes frames of the `responses` dialect into canonical events. It accepts frames of the original
 * format, without Turnstream's additions.
 * Invariant: all steps and texts belong to the main run, because this dialect does not distinguish runs. `final_text`
 * replaces deltas that differ from it. An error of the connection, or an update of an older turn, never starts or ends
 * a turn.
 */
import {
  emptyState,
  errorCodeFromNumber,
  ERRORS,
  listBlocks,
  type TextBlock,
  type Usage,
} from "@turnstream/protocol";
import type { ResponsesFrame, ResponsesFrameOf } from "@turnstream/protocol/responses";
import { MAX_PREVIEW, outlivesTurn, REQUEST_FORM, truncateText } from "@turnstream/protocol/writer";
import {
  changeInteraction,
  requestApproval,
  requestForm,
  requestPayment,
} from "../decoder/decode-interaction.ts";
import type { Decoded, Decoder, Decoding } from "../decoder/decoder.ts";
import { named, EventWriter } from "../decoder/event-writer.ts";
import { ignoreUnknown } from "../decoder/ignore-unknown.ts";
import { toTurnErrorCode } from "../decoder/turn-error-code.ts";

export interface ResponsesDecoding extends Decoding {
  readonly turn: string;
  /** True if the connection failed, not the turn. The following `[DONE]` then ends only the stream. */
  readonly interrupted: boolean;
  /** The `.completed` frame, used when the turn ends. */
  readonly completed: ResponsesFrameOf<"response.output_text.completed"> | null;
}

const FRAME_TYPES: ReadonlySet<ResponsesFrame["type"]> = new Set<ResponsesFrame["type"]>([
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

const start: ResponsesDecoding = {
  state: emptyState,
  at: 0,
  cursor: null,
  turn: "",
  interrupted: false,
  completed: null,
};

export const responsesDecoder: Decoder<ResponsesDecoding, ResponsesFrame> = {
  start,
  decode: ignoreUnknown(FRAME_TYPES, decodeFrame),
};

function decodeFrame(decoder: ResponsesDecoding, frame: ResponsesFrame): Decoded<ResponsesDecoding> {
  const writer = new EventWriter(decoder);
  const turn = frame.type === "[DONE]" ? decoder.turn : frame.response_id;
  // A title, or a payment of an older turn, can change during another turn. Such a frame must not start or end a turn.
  const isUpdate =
    frame.type === "response.interaction_update" || frame.type === "response.chat.title.updated";
  const isAside = isUpdate && writer.turn(turn)?.status !== "running";
  let completed = turn === decoder.turn || isAside ? decoder.completed : null;
  const interrupted =
    frame.type === "response.error" && ERRORS[errorCodeFromNumber(frame.code)].about === "connection";
  if (frame.type === "[DONE]") {
    if (!decoder.interrupted) end(writer, turn, completed);
  } else if (!interrupted) {
    const conversation =
      "conversation_group_id" in frame ? frame.conversation_group_id : `chat-${frame.chat_id}`;
    writer.session(conversation, frame.chat_id);
    const model = frame.type === "response.created" ? { model: frame.model } : {};
    const again = frame.type === "response.created" ? writer.turn(turn) : undefined;
    if (again?.status === "running" && again.items.length > 0) writer.restart(again);
    if (!isAside) writer.begin(turn, frame.type === "response.created" ? frame.agent_id : "agent", model);
    if (frame.type === "response.output_text.completed") completed = frame;
    read(writer, turn, frame);
  }
  const cursor = frame.event_id ?? decoder.cursor;
  const current = isAside ? decoder.turn : turn;
  return {
    decoder: { state: writer.state, at: writer.at, cursor, turn: current, interrupted, completed },
    events: writer.events,
    problem: null,
  };
}

function read(writer: EventWriter, turn: string, frame: Exclude<ResponsesFrame, { type: "[DONE]" }>): void {
  switch (frame.type) {
    case "response.chat.title.updated":
      writer.write({ type: "session.update", title: frame.name });
      return;
    case "response.reasoning_step.start":
      endText(writer, turn, false);
      startStep(writer, turn, frame.step);
      return;
    case "response.reasoning_step.end":
      endStep(writer, turn, frame.step);
      return;
    case "response.output_text.delta":
      extendText(writer, turn, frame.delta);
      return;
    case "response.output_text.completed":
      settleText(writer, turn, frame.final_text);
      return;
    case "response.interaction_request":
      endText(writer, turn, false);
      request(writer, turn, frame);
      return;
    case "response.interaction_update":
      changeInteraction(writer, turn, frame.interaction_id, frame);
      return;
    case "response.error": {
      if (writer.find(turn, (block) => block.kind === "notice") !== undefined) return;
      endText(writer, turn, false);
      const code = toTurnErrorCode(errorCodeFromNumber(frame.code));
      const can_retry = frame.can_retry ?? false;
      const on = { ...writer.next(turn), run: turn };
      writer.write({
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

function openText(writer: EventWriter, turn: string): TextBlock | undefined {
  return writer.findRecent(turn, (block) => block.kind === "text" && block.end === null) as
    | TextBlock
    | undefined;
}

function extendText(writer: EventWriter, turn: string, text: string): void {
  if (openText(writer, turn) === undefined) {
    writer.write({ type: "text.start", ...writer.next(turn), run: turn, part: false });
  }
  const block = openText(writer, turn);
  if (block !== undefined) writer.write({ type: "text.delta", ...named(turn, block), text });
}

function endText(writer: EventWriter, turn: string, final: boolean): void {
  const block = openText(writer, turn);
  if (block !== undefined) writer.write({ type: "text.end", ...named(turn, block), final });
}

/** `final_text` is authoritative: it replaces the deltas if they add up to another text. */
function settleText(writer: EventWriter, turnId: string, final: string): void {
  const turn = writer.turn(turnId);
  if (turn === undefined || turn.status !== "running") return;
  const texts = listBlocks(turn).filter((block): block is TextBlock => block.kind === "text");
  if (texts.map((block) => block.text).join("") !== final) {
    const blocks = texts.map((block) => block.id);
    writer.write({ type: "turn.takeover", turn: turnId, blocks, groups: [], runs: [] });
    if (final !== "") extendText(writer, turnId, final);
  }
  endText(writer, turnId, true);
}

type StepStart = ResponsesFrameOf<"response.reasoning_step.start">["step"];
type StepEnd = ResponsesFrameOf<"response.reasoning_step.end">["step"];

function startStep(writer: EventWriter, turn: string, step: StepStart): void {
  if (writer.findRecent(turn, (block) => block.kind === "tool_call" && block.call === step.id) !== undefined)
    return;
  const on = { ...writer.next(turn), run: turn };
  const { id: call, tool_name: name, content: label } = step;
  // The form that follows is the display of this step.
  const hidden = name === REQUEST_FORM ? { hidden: true } : {};
  writer.write({ type: "tool_call.start", ...on, call, name, label, ...hidden });
  writer.write({ type: "tool_call.end", ...on, input: step.args });
}

function endStep(writer: EventWriter, turn: string, step: StepEnd): void {
  writer.openResult(turn, step.id, { name: step.tool_name });
  const result = writer.openResultOf(turn, step.id);
  if (result === undefined) return;
  const { success, data: preview } = step.result;
  const status = step.result.status ?? (success ? "success" : "error");
  const usage = usageFrom(step.token_usage);
  const more = { status, preview: truncateText(preview, MAX_PREVIEW), artifact: null };
  writer.write({ type: "tool_result.end", ...named(turn, result), ...more, ...usage });
}

function usageFrom(tokens: StepEnd["token_usage"] | undefined): { usage?: Usage } {
  if (tokens === undefined) return {};
  const { total_prompt_tokens: input_tokens, total_completion_tokens: output_tokens } = tokens;
  return {
    usage: { input_tokens, output_tokens, total_tokens: tokens.total_tokens, calls: tokens.total_calls },
  };
}

function request(
  writer: EventWriter,
  turn: string,
  frame: ResponsesFrameOf<"response.interaction_request">,
): void {
  const where = { turn, run: turn };
  // Checks the fields, because a form of the original format can lack its `interaction_type`.
  if ("form_request_id" in frame) requestForm(writer, where, frame);
  else if ("payment" in frame) requestPayment(writer, where, frame.payment);
  else requestApproval(writer, where, frame.approval_key, frame);
}

function end(writer: EventWriter, turnId: string, completed: ResponsesDecoding["completed"]): void {
  const turn = writer.turn(turnId);
  if (turn === undefined || turn.status !== "running") return;
  endText(writer, turnId, false);
  const notice = writer.find(turnId, (block) => block.kind === "notice");
  const waits = writer.find(turnId, (block) => "version" in block && outlivesTurn(block));
  const stopped = completed?.stop_reason === "user_stopped";
  if (stopped && notice === undefined)
    writer.write({ type: "notice.stopped", ...writer.next(turnId), run: turnId, text: "" });
  const open = completed === null && waits !== undefined ? "requires_interaction" : "end_turn";
  const reason = stopped ? "user_stopped" : notice !== undefined && completed === null ? "error" : open;
  writer.endTurn(turnId, reason, 0, usageFrom(completed?.usage).usage);
}
