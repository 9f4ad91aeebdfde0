/**
 * Frames of the `blocks` dialect to canonical events, so that our components can sit on any server that
 * speaks it. Liberal: takes the frames of the source documents as they are printed there, with fields left
 * out, and ignores what it doesn't know. Block ids and indexes are the decoder's own.
 */
import type { Json } from "../../json.ts";
import { unansweredCalls } from "../../legal/turn-facts.ts";
import { type Action, emptyState, type Question } from "../../state.ts";
import type { Decoded } from "../dialect.ts";
import { type Decoding, named, Scribe } from "../scribe.ts";
import { decodeStart, decodeUpdate, errorWord, runFor } from "./decode-block.ts";
import { QUESTION_TOOL } from "./content.ts";
import type { BlocksFrame, BlocksFrameOf, ContentBlock } from "./frames.ts";

export interface BlocksDecoder extends Decoding {
  /** The turn that frames without `message_id` belong to. */
  readonly message: string;
  /** The session named by the last frame that named one. */
  readonly session: string;
  /** Canonical index of each block of that turn, by the index on the wire. */
  readonly indexes: Readonly<Record<number, number>>;
  /** Starts whose kind or content only the first delta tells: texts (or notices) and approvals. */
  readonly held: Readonly<Record<number, ContentBlock>>;
  readonly reason: BlocksFrameOf<"message_delta">["delta"]["stop_reason"];
}

export const blocksStart: BlocksDecoder = {
  state: emptyState,
  at: 0,
  cursor: null,
  message: "",
  session: "",
  indexes: {},
  held: {},
  reason: "end_turn",
};

export function decodeBlocks(decoder: BlocksDecoder, frame: BlocksFrame): Decoded<BlocksDecoder> {
  const scribe = new Scribe(decoder);
  const changes = read(scribe, decoder, frame);
  const cursor = frame.event_id ?? decoder.cursor;
  return {
    decoder: { ...decoder, ...changes, state: scribe.state, at: scribe.at, cursor },
    events: scribe.events,
  };
}

function read(scribe: Scribe, decoder: BlocksDecoder, frame: BlocksFrame): Partial<BlocksDecoder> {
  switch (frame.type) {
    case "message_start":
      return readMessageStart(scribe, decoder, frame);
    case "session_title":
      scribe.session(frame.session_id, 0);
      scribe.write({ type: "session.update", title: frame.title });
      return {};
    case "user_message": {
      scribe.session(decoder.session || "session", 0);
      const files =
        frame.content_urls.length === 0 ? {} : { files: frame.content_urls.map((url) => ({ url })) };
      scribe.write({ type: "message.add", message: frame.user_message_id, text: frame.text, ...files });
      return {};
    }
    case "message_delta":
      return { reason: frame.delta.stop_reason };
    case "message_stop":
      scribe.endTurn(frame.message_id ?? decoder.message, decoder.reason, frame.duration_ms);
      return {};
    default:
      return readInMessage(scribe, decoder, frame);
  }
}

function readMessageStart(
  scribe: Scribe,
  decoder: BlocksDecoder,
  frame: BlocksFrameOf<"message_start">,
): Partial<BlocksDecoder> {
  scribe.at = Math.round(frame.timestamp * 1000);
  scribe.session(frame.session_id, 0);
  const message = frame.message_id;
  const again = scribe.turn(message);
  if (again?.status === "running") scribe.restart(again);
  const { display_mode: mode, is_new_session_from_share: from_share } = frame;
  scribe.begin(message, "agent", { mode, from_share: from_share ?? false });
  return { message, session: frame.session_id, indexes: {}, held: {}, reason: "end_turn" };
}

type InMessage = Exclude<
  BlocksFrame,
  BlocksFrameOf<"message_start" | "message_delta" | "message_stop" | "session_title" | "user_message">
>;

function readInMessage(scribe: Scribe, decoder: BlocksDecoder, frame: InMessage): Partial<BlocksDecoder> {
  const turn = frame.message_id ?? decoder.message;
  // A client that attaches in mid-turn never sees the start.
  scribe.session(decoder.session || "session", 0);
  scribe.begin(turn, "agent");
  switch (frame.type) {
    case "group_start": {
      const { block: group, index } = scribe.next(turn);
      scribe.write({ type: "group.start", turn, run: turn, group, index });
      return {};
    }
    case "group_end": {
      const group = scribe.turn(turn)?.group;
      const { index } = scribe.next(turn);
      if (group)
        scribe.write({ type: "group.end", turn, run: turn, group, index, summary: frame.summary ?? "" });
      return {};
    }
    case "approval_result":
    case "interaction_update":
      decodeUpdate(scribe, turn, frame);
      return {};
    case "content_block_start": {
      const { index, content_block } = frame;
      if (isHeld(content_block)) return { held: { ...decoder.held, [index]: content_block } };
      const own = decodeStart(scribe, turn, content_block);
      return own === null ? {} : { indexes: { ...decoder.indexes, [index]: own } };
    }
    case "content_block_delta":
      return readDelta(scribe, decoder, turn, frame);
    case "content_block_stop":
      return readStop(scribe, decoder, turn, frame);
    default:
      return {};
  }
}

/** A text may turn out to be a notice, and an approval a question: their start waits for the delta. */
function isHeld(block: ContentBlock): boolean {
  return block.type === "text" || block.type === "approval_request";
}

function release(decoder: BlocksDecoder, index: number, own: number | null): Partial<BlocksDecoder> {
  const { [index]: _, ...held } = decoder.held;
  return { held, ...(own === null ? {} : { indexes: { ...decoder.indexes, [index]: own } }) };
}

type DeltaFrame = BlocksFrameOf<"content_block_delta">;

function readDelta(
  scribe: Scribe,
  decoder: BlocksDecoder,
  turn: string,
  frame: DeltaFrame,
): Partial<BlocksDecoder> {
  const { index, delta } = frame;
  const held = decoder.held[index];
  let changes: Partial<BlocksDecoder> = {};
  if (held?.type === "approval_request" && "action_requests" in delta) {
    request(scribe, turn, held, delta);
    return release(decoder, index, null);
  }
  if (held?.type === "text") {
    if ("type" in delta && delta.type === "text_delta" && delta.extras !== undefined) {
      notice(scribe, turn, delta.text, delta.extras);
      return release(decoder, index, null);
    }
    changes = release(decoder, index, decodeStart(scribe, turn, held));
  }
  const block = scribe.blockAt(turn, (changes.indexes ?? decoder.indexes)[index]);
  if (block === undefined) return changes;
  const on = named(turn, block);
  if ("status" in delta)
    scribe.write({ type: "files.delta", ...on, status: delta.status, message: delta.message ?? "" });
  else if ("type" in delta && delta.type === "thinking_delta") {
    scribe.write({ type: "thinking.delta", ...on, text: delta.thinking ?? "" });
  } else if ("type" in delta) {
    const annotations = delta.annotations === undefined ? {} : { annotations: delta.annotations };
    scribe.write({ type: "text.delta", ...on, text: delta.text ?? "", ...annotations });
  }
  return changes;
}

type TextExtras = NonNullable<Extract<DeltaFrame["delta"], { type: "text_delta" }>["extras"]>;

function notice(scribe: Scribe, turn: string, text: string, extras: TextExtras): void {
  // Told again after a cut between its frames.
  if (scribe.find(turn, (block) => block.kind === "notice") !== undefined) return;
  const on = { ...scribe.next(turn), run: turn };
  if (extras.block_subtype === "user_stopped") {
    scribe.write({ type: "notice.stopped", ...on, text });
    return;
  }
  const { can_retry, error_type, details } = extras;
  const known = error_type === "transient" ? "transient" : "terminal";
  const code = errorWord(extras.code);
  const more = details === null || details === undefined ? {} : { details };
  scribe.write({ type: "notice.error", ...on, text, code, can_retry, error_type: known, ...more });
}

type RequestDelta = Extract<DeltaFrame["delta"], { readonly action_requests: unknown }>;

function request(
  scribe: Scribe,
  turn: string,
  held: Extract<ContentBlock, { type: "approval_request" }>,
  delta: RequestDelta,
): void {
  const key = held.approval_key;
  if (scribe.find(turn, (block) => "key" in block && block.key === key) !== undefined) return;
  const run = runFor(scribe, turn, held);
  const on = { ...scribe.next(turn), run };
  const timeout = typeof delta.timeout_seconds === "number" ? { timeout_seconds: delta.timeout_seconds } : {};
  const deadline = typeof delta.deadline === "number" ? { deadline: delta.deadline } : {};
  const [first] = delta.action_requests;
  const call = delta.tool_use_id ?? waitingCall(scribe, turn, first?.name) ?? key;
  if (first?.name === QUESTION_TOOL) {
    const questions = (first.args as { readonly questions?: readonly Question[] }).questions ?? [];
    scribe.write({ type: "question.request", ...on, key, call, questions, ...timeout, ...deadline });
    return;
  }
  const actions: Action[] = delta.action_requests.map(({ name, args, label }) => ({
    name,
    input: args as Json,
    ...(label === undefined ? {} : { label }),
  }));
  const editable = delta.review_configs?.some((config) => config.allow_edit !== false) ?? true;
  scribe.write({ type: "approval.request", ...on, key, call, actions, editable, ...timeout, ...deadline });
}

/** Servers that don't say which call waits: the newest one of that tool without a result. */
function waitingCall(scribe: Scribe, turnId: string, name: string | undefined): string | undefined {
  const turn = scribe.turn(turnId);
  return turn === undefined ? undefined : unansweredCalls(turn).findLast((call) => call.name === name)?.call;
}

function readStop(
  scribe: Scribe,
  decoder: BlocksDecoder,
  turn: string,
  frame: BlocksFrameOf<"content_block_stop">,
): Partial<BlocksDecoder> {
  const held = decoder.held[frame.index];
  const changes = held?.type === "text" ? release(decoder, frame.index, decodeStart(scribe, turn, held)) : {};
  const block = scribe.blockAt(turn, (changes.indexes ?? decoder.indexes)[frame.index]);
  if (block === undefined || block.end !== null) return changes;
  const on = named(turn, block);
  if (block.kind === "thinking") scribe.write({ type: "thinking.end", ...on });
  if (block.kind === "text") scribe.write({ type: "text.end", ...on, final: frame.is_final ?? false });
  if (block.kind === "files") {
    const status = block.status === "failed" ? "failed" : "completed";
    scribe.write({ type: "files.end", ...on, status, message: block.message });
  }
  return changes;
}
