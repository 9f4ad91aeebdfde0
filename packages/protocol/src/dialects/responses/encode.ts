/**
 * `encodeResponses` encodes canonical events as frames of the `responses` dialect.
 * Invariant: the encoder state is the folded session and the progress of the output text, and the latter follows from
 * the session. Every turn ends with one `[DONE]`. A takeover ends superseded steps as cancelled, so no step stays open.
 */
import { ERRORS } from "../../errors.ts";
import type { SessionEvent } from "../../events/index.ts";
import { blockAt, findRun, findTurn } from "../../fold/edit.ts";
import { fold } from "../../fold/fold.ts";
import { interactionId } from "../../fold/interaction.ts";
import { isMain, leftRunning } from "../../turn-queries.ts";
import {
  type Block,
  listBlocks,
  type InteractionBlock,
  type SessionState,
  type ToolCallBlock,
  type ToolResultBlock,
  type Turn,
  type Usage,
  isVisible,
} from "../../state.ts";
import { REQUEST_FORM, toolLabel } from "../../tool-label.ts";
import { actionRequest, approvalRequest, formRequest, paymentFrame } from "../interactions.ts";
import type { Encoded } from "../dialect.ts";
import { withCursor } from "../with-cursor.ts";
import type { ResponsesFrame } from "./frames.ts";
import { endOutput, extendOutput, type OutputText, outputTextAt, outputText } from "./output-text.ts";

export interface ResponsesOptions {
  /** Keeps `<tool ...>...</tool>` spans in the text. @default false */
  readonly include_tool_tags?: boolean;
}

export interface ResponsesEncoder {
  readonly state: SessionState;
  readonly text: OutputText;
  readonly withTags: boolean;
}

export function attachResponses(state: SessionState, options: ResponsesOptions = {}): ResponsesEncoder {
  const withTags = options.include_tool_tags ?? false;
  return { state, withTags, text: outputTextAt(state, withTags) };
}

export function encodeResponses(
  encoder: ResponsesEncoder,
  event: SessionEvent,
  state: SessionState = fold(encoder.state, event),
): Encoded<ResponsesEncoder, ResponsesFrame> {
  const { text, frames } = step(encoder, event, state);
  return { encoder: { ...encoder, state, text }, frames: withCursor(frames, event.id) };
}

interface Step {
  readonly text: OutputText;
  readonly frames: readonly ResponsesFrame[];
}

function step(encoder: ResponsesEncoder, event: SessionEvent, state: SessionState): Step {
  const { text, withTags } = encoder;
  const named = "turn" in event && event.turn !== null ? event.turn : null;
  const turn = named === null ? state.turns.last() : findTurn(state, named);
  if (turn === undefined) return { text, frames: [] };
  const common = { response_id: turn.id, chat_id: state.number };
  if (event.type === "session.update") {
    const frame = { type: "response.chat.title.updated", ...common, name: event.title } as const;
    return { text, frames: state === encoder.state ? [] : [frame] };
  }
  if (named === null || turn === findTurn(encoder.state, named)) return { text, frames: [] };
  const sent = (at: OutputText, delta: string): Step => ({
    text: at,
    frames: delta === "" ? [] : [{ type: "response.output_text.delta", ...common, delta }],
  });
  switch (event.type) {
    // After a new turn or a takeover, the progress of the text is computed from the state again.
    case "turn.start":
      return {
        text: outputTextAt(state, withTags),
        frames: [...endOfLast(encoder, state), created(state, turn)],
      };
    case "turn.takeover":
      return {
        text: outputTextAt(state, withTags),
        frames: withdrawn(findTurn(encoder.state, named), turn, common),
      };
    case "text.delta": {
      if (!isMain(turn, event.run)) return { text, frames: [] };
      const { at, delta } = extendOutput(text, event.text, withTags);
      return sent(at, delta);
    }
    case "text.end": {
      if (!isMain(turn, event.run)) return { text, frames: [] };
      const { at, delta } = endOutput(text);
      return sent(at, delta);
    }
    case "turn.end":
      return { text: outputTextAt(state, withTags), frames: endFrames(turn, common, withTags) };
    default: {
      const block = "block" in event ? blockAt(turn, event.index, event.block) : undefined;
      if (block === undefined || !isShown(turn, block)) return { text, frames: [] };
      return { text, frames: blockFrames(state, turn, block, event) };
    }
  }
}

/** The form is the display of `request_form`, so its call is hidden. The document still lists it as a step. */
function isShown(turn: Turn, block: Block): boolean {
  return isVisible(turn, block) || ("hidden" in block && block.name === REQUEST_FORM);
}

/** Ends a turn that was left running when another turn starts. */
function endOfLast({ state: before, withTags }: ResponsesEncoder, after: SessionState): ResponsesFrame[] {
  const left = leftRunning(before, after);
  const common = { response_id: left?.turn.id ?? "", chat_id: after.number };
  return left === null ? [] : endFrames(left.turn, common, withTags);
}

/**
 * Ends the steps that a takeover superseded as cancelled. This dialect can't remove a step, but no step may stay open.
 */
function withdrawn(before: Turn | undefined, turn: Turn, common: Common): ResponsesFrame[] {
  if (before === undefined) return [];
  const blocks = listBlocks(before);
  const answered = new Set(
    blocks.flatMap((b) => (b.kind === "tool_result" && b.end !== null ? [b.call] : [])),
  );
  return blocks.flatMap((block): ResponsesFrame[] => {
    if (block.kind !== "tool_call" || block.end === null || !isShown(turn, block)) return [];
    if (turn.items.get(block.index)?.kind !== "superseded" || answered.has(block.call)) return [];
    const { call: id, name: tool_name, ended_at } = block;
    const result = { success: false, data: "", status: "cancelled" } as const;
    const cancelled = { id, tool_name, result, timestamp: isoTime(ended_at), token_usage: tokensOf(null) };
    return [{ type: "response.reasoning_step.end", ...common, step: cancelled }];
  });
}

interface Common {
  readonly response_id: string;
  readonly chat_id: number;
}

function created(state: SessionState, turn: Turn): ResponsesFrame {
  return {
    type: "response.created",
    response_id: turn.id,
    chat_id: state.number,
    agent_id: turn.agent,
    model: turn.model ?? "",
    conversation_group_id: state.session,
    user_conversation_id: turn.message_number,
  };
}

function tokensOf(usage: Usage | null) {
  return {
    total_prompt_tokens: usage?.input_tokens ?? 0,
    total_completion_tokens: usage?.output_tokens ?? 0,
    total_tokens: usage?.total_tokens ?? 0,
    total_calls: usage?.calls ?? 0,
  };
}

/** After an error or a request for a form or payment, only `[DONE]` is left: the reason was already sent. */
function endFrames(turn: Turn, common: Common, withTags: boolean): ResponsesFrame[] {
  const end: ResponsesFrame = { type: "[DONE]" };
  if (turn.status !== "end_turn" && turn.status !== "user_stopped") return [end];
  const final_text = outputText(turn, withTags);
  const usage = tokensOf(turn.usage);
  return [
    { type: "response.output_text.completed", ...common, final_text, usage, stop_reason: turn.status },
    end,
  ];
}

function blockFrames(state: SessionState, turn: Turn, block: Block, event: SessionEvent): ResponsesFrame[] {
  const common = { response_id: turn.id, chat_id: state.number };
  switch (event.type) {
    case "tool_call.end":
      return block.kind === "tool_call" ? [stepStart(turn, block, common)] : [];
    case "tool_result.end":
      return block.kind === "tool_result" ? [stepEnd(block, common)] : [];
    case "notice.error": {
      const { number: code, can_retry } = { ...ERRORS[event.code], can_retry: event.can_retry };
      return [{ type: "response.error", ...common, message: event.text, code, error: event.code, can_retry }];
    }
    case "approval.request":
    case "question.request":
    case "form.request":
    case "payment.request":
      return "version" in block ? [interactionRequest(state, turn, block)] : [];
    case "approval.update":
    case "question.update":
    case "form.update":
    case "payment.update":
      return "version" in block ? [interactionUpdate(block, common)] : [];
    default:
      return [];
  }
}

function isoTime(at: number | null): string {
  return new Date(at ?? 0).toISOString();
}

function stepStart(turn: Turn, block: ToolCallBlock, common: Common): ResponsesFrame {
  const parent = findRun(turn, block.run)?.call ?? null;
  return {
    type: "response.reasoning_step.start",
    ...common,
    step: {
      id: block.call,
      content: toolLabel(block),
      tool_name: block.name,
      args: block.input,
      timestamp: isoTime(block.ended_at),
      ...(parent === null ? {} : { parent_id: parent }),
    },
  };
}

function stepEnd(block: ToolResultBlock, common: Common): ResponsesFrame {
  const status = block.status === "running" ? "cancelled" : block.status;
  return {
    type: "response.reasoning_step.end",
    ...common,
    step: {
      id: block.call,
      tool_name: block.name,
      result: { success: status === "success", data: block.preview, status },
      timestamp: isoTime(block.ended_at),
      token_usage: tokensOf(block.usage),
    },
  };
}

function interactionRequest(state: SessionState, turn: Turn, block: InteractionBlock): ResponsesFrame {
  const common = {
    type: "response.interaction_request",
    response_id: turn.id,
    chat_id: state.number,
    history_id: turn.number,
    conversation_group_id: state.session,
  } as const;
  if (block.kind === "form") {
    return { ...common, interaction_type: "form", ...formRequest(block) };
  }
  if (block.kind === "payment")
    return { ...common, interaction_type: "payment", payment: paymentFrame(block) };
  return { ...common, interaction_type: block.kind, approval_key: block.key, ...approvalRequest(block) };
}

function interactionUpdate(block: InteractionBlock, common: Common): ResponsesFrame {
  const { kind: interaction_type, status, version } = block;
  return {
    type: "response.interaction_update",
    ...common,
    interaction_type,
    interaction_id: interactionId(block),
    status,
    version,
    ...(block.reason === null ? {} : { reason: block.reason }),
    ...(block.kind === "approval" && block.edited !== null
      ? { action_requests: block.edited.map(actionRequest) }
      : {}),
    ...(block.kind === "approval" && block.always ? { always: true as const } : {}),
    ...(block.kind === "question" && block.answers !== null ? { answers: block.answers } : {}),
    ...(block.kind === "form" && block.values !== null ? { values: block.values } : {}),
  };
}
