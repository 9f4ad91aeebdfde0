/**
 * `blocksDecoder` decodes frames of the `blocks` dialect into canonical events, so that Turnstream clients work with any
 * server of this dialect.
 * Invariant: the decoder accepts frames with missing optional fields. It assigns its own block ids and indexes. A
 * second `message_start` of a running turn supersedes its content. An update of an unknown turn never creates that
 * turn.
 */
import { emptyState, Sequence } from "@turnstream/protocol";
import type { BlocksFrame, BlocksFrameOf } from "@turnstream/protocol/blocks";
import { changeInteraction, requestApproval } from "../decoder/decode-interaction.ts";
import type { Decoded, Decoder, Decoding } from "../decoder/decoder.ts";
import { named, EventWriter } from "../decoder/event-writer.ts";
import { ignoreUnknown } from "../decoder/ignore-unknown.ts";
import { toTurnErrorCode } from "../decoder/turn-error-code.ts";
import { type ContentBlock, decodeStart, runFor } from "./decode-block.ts";

export interface BlocksDecoding extends Decoding {
  /** The turn of frames without `message_id`. */
  readonly message: string;
  /** The session of the last frame that named one. */
  readonly session: string;
  /** Canonical index of each block of that turn, by its index on the wire; null if there is none. */
  readonly indexes: Sequence<number | null>;
  /** Block starts whose kind or content is only known with the first delta: texts (or notices) and approvals. */
  readonly deferred: Readonly<Record<number, ContentBlock>>;
  readonly reason: BlocksFrameOf<"message_delta">["delta"]["stop_reason"];
}

const REASONS: ReadonlySet<string> = new Set(["end_turn", "user_stopped", "error", "requires_interaction"]);

const FRAME_TYPES: ReadonlySet<BlocksFrame["type"]> = new Set<BlocksFrame["type"]>([
  "message_start",
  "content_block_start",
  "content_block_delta",
  "content_block_stop",
  "group_start",
  "group_end",
  "message_delta",
  "message_stop",
  "approval_result",
  "interaction_update",
  "user_message",
  "session_title",
]);

const start: BlocksDecoding = {
  state: emptyState,
  at: 0,
  cursor: null,
  message: "",
  session: "",
  indexes: Sequence.empty<number | null>(),
  deferred: {},
  reason: "end_turn",
};

export const blocksDecoder: Decoder<BlocksDecoding, BlocksFrame> = {
  start,
  decode: ignoreUnknown(FRAME_TYPES, decodeFrame),
};

function decodeFrame(decoder: BlocksDecoding, frame: BlocksFrame): Decoded<BlocksDecoding> {
  const writer = new EventWriter(decoder);
  const changes = read(writer, decoder, frame);
  const cursor = frame.event_id ?? decoder.cursor;
  return {
    decoder: { ...decoder, ...changes, state: writer.state, at: writer.at, cursor },
    events: writer.events,
    problem: null,
  };
}

function read(writer: EventWriter, decoder: BlocksDecoding, frame: BlocksFrame): Partial<BlocksDecoding> {
  switch (frame.type) {
    case "message_start":
      return readMessageStart(writer, decoder, frame);
    case "session_title":
      writer.session(frame.session_id, 0);
      writer.write({ type: "session.update", title: frame.title });
      return {};
    case "user_message": {
      writer.session(decoder.session || "session", 0);
      const files =
        frame.content_urls.length === 0 ? {} : { files: frame.content_urls.map((url) => ({ url })) };
      writer.write({ type: "message.add", message: frame.user_message_id, text: frame.text, ...files });
      return {};
    }
    case "message_delta":
      return { reason: REASONS.has(frame.delta.stop_reason) ? frame.delta.stop_reason : "end_turn" };
    case "message_stop": {
      const turn = frame.message_id ?? decoder.message;
      writer.endTurn(turn, reasonOf(writer, turn, decoder.reason), frame.duration_ms);
      return {};
    }
    default: {
      const change = readInMessage(writer, decoder, frame);
      // A client that joined in the middle of a turn learns the turn from the first frame that names it.
      return decoder.message === "" && frame.message_id !== undefined
        ? { message: frame.message_id, ...change }
        : change;
    }
  }
}

/** Some servers of this dialect send `end_turn` for every outcome. A notice block is more reliable. */
function reasonOf(
  writer: EventWriter,
  turn: string,
  reason: BlocksDecoding["reason"],
): BlocksDecoding["reason"] {
  const last = writer.find(turn, (block) => block.kind === "notice");
  if (last?.kind !== "notice") return reason;
  return last.notice === "stopped" ? "user_stopped" : "error";
}

function readMessageStart(
  writer: EventWriter,
  decoder: BlocksDecoding,
  frame: BlocksFrameOf<"message_start">,
): Partial<BlocksDecoding> {
  writer.at = Math.round(frame.timestamp * 1000);
  writer.session(frame.session_id, 0);
  const message = frame.message_id;
  const again = writer.turn(message);
  if (again?.status === "running") writer.restart(again);
  const { display_mode: mode, is_new_session_from_share: from_share } = frame;
  const isOurs = frame.event_id !== undefined || decoder.cursor !== null;
  const answers = isOurs ? { message: frame.user_message_id ?? null } : {};
  writer.begin(message, "agent", { mode, from_share: from_share ?? false, ...answers });
  return {
    message,
    session: frame.session_id,
    indexes: start.indexes,
    deferred: {},
    reason: "end_turn",
  };
}

type InMessage = Exclude<
  BlocksFrame,
  BlocksFrameOf<"message_start" | "message_delta" | "message_stop" | "session_title" | "user_message">
>;

function readInMessage(
  writer: EventWriter,
  decoder: BlocksDecoding,
  frame: InMessage,
): Partial<BlocksDecoding> {
  const turn = frame.message_id ?? decoder.message;
  // An update for a turn that this client has not seen must not create that turn.
  const isAside = frame.type === "approval_result" || frame.type === "interaction_update";
  if (isAside && writer.turn(turn) === undefined) return {};
  // A client that subscribes in the middle of a turn never receives its start.
  writer.session(decoder.session || "session", 0);
  writer.begin(turn, "agent");
  switch (frame.type) {
    case "group_start": {
      const { block: group, index } = writer.next(turn);
      writer.write({ type: "group.start", turn, run: turn, group, index });
      return {};
    }
    case "group_end": {
      const group = writer.turn(turn)?.group;
      const { index } = writer.next(turn);
      if (group)
        writer.write({ type: "group.end", turn, run: turn, group, index, summary: frame.summary ?? "" });
      return {};
    }
    case "approval_result":
    case "interaction_update":
      changeInteraction(
        writer,
        turn,
        frame.type === "approval_result" ? frame.approval_key : frame.interaction_id,
        frame,
      );
      return {};
    case "content_block_start": {
      const { index, content_block } = frame;
      if (isDeferred(content_block)) return { deferred: { ...decoder.deferred, [index]: content_block } };
      const own = decodeStart(writer, turn, content_block);
      return own === null ? {} : { indexes: decoder.indexes.place(index, own, null) };
    }
    case "content_block_delta":
      return readDelta(writer, decoder, turn, frame);
    case "content_block_stop":
      return readStop(writer, decoder, turn, frame);
    default:
      return {};
  }
}

/** A text can turn out to be a notice, and an approval a question. Their start is deferred until the first delta. */
function isDeferred(block: ContentBlock): boolean {
  return block.type === "text" || block.type === "approval_request";
}

function release(decoder: BlocksDecoding, index: number, own: number | null): Partial<BlocksDecoding> {
  const { [index]: _, ...deferred } = decoder.deferred;
  return { deferred, ...(own === null ? {} : { indexes: decoder.indexes.place(index, own, null) }) };
}

type DeltaFrame = BlocksFrameOf<"content_block_delta">;

function readDelta(
  writer: EventWriter,
  decoder: BlocksDecoding,
  turn: string,
  frame: DeltaFrame,
): Partial<BlocksDecoding> {
  const { index, delta } = frame;
  const deferred = decoder.deferred[index];
  let changes: Partial<BlocksDecoding> = {};
  if (deferred?.type === "approval_request" && "action_requests" in delta) {
    requestApproval(writer, { turn, run: runFor(writer, turn, deferred) }, deferred.approval_key, delta);
    return release(decoder, index, null);
  }
  if (deferred?.type === "text") {
    if ("type" in delta && delta.type === "text_delta" && delta.extras !== undefined) {
      notice(writer, turn, delta.text, delta.extras);
      return release(decoder, index, null);
    }
    changes = release(decoder, index, decodeStart(writer, turn, deferred));
  }
  const block = writer.blockAt(turn, (changes.indexes ?? decoder.indexes).get(index) ?? undefined);
  if (block === undefined) return changes;
  const on = named(turn, block);
  if ("status" in delta)
    writer.write({ type: "files.delta", ...on, status: delta.status, message: delta.message ?? "" });
  else if ("type" in delta && delta.type === "thinking_delta") {
    writer.write({ type: "thinking.delta", ...on, text: delta.thinking ?? "" });
  } else if ("type" in delta && delta.extras !== undefined) {
    // A text that turns out to be a notice after its start: the content so far stays a text block.
    writer.write({ type: "text.end", ...on, final: false });
    notice(writer, turn, delta.text, delta.extras);
  } else if ("type" in delta) {
    const annotations = delta.annotations === undefined ? {} : { annotations: delta.annotations };
    writer.write({ type: "text.delta", ...on, text: delta.text ?? "", ...annotations });
  }
  return changes;
}

type TextExtras = NonNullable<Extract<DeltaFrame["delta"], { type: "text_delta" }>["extras"]>;

function notice(writer: EventWriter, turn: string, text: string, extras: TextExtras): void {
  // The same notice arrives again after a disconnect between its frames.
  if (writer.find(turn, (block) => block.kind === "notice") !== undefined) return;
  const on = { ...writer.next(turn), run: turn };
  if (extras.block_subtype === "user_stopped") {
    writer.write({ type: "notice.stopped", ...on, text });
    return;
  }
  const { can_retry, error_type, details } = extras;
  const known = error_type === "transient" ? "transient" : "terminal";
  const code = toTurnErrorCode(extras.code);
  const more = details === null || details === undefined ? {} : { details };
  writer.write({ type: "notice.error", ...on, text, code, can_retry, error_type: known, ...more });
}

function readStop(
  writer: EventWriter,
  decoder: BlocksDecoding,
  turn: string,
  frame: BlocksFrameOf<"content_block_stop">,
): Partial<BlocksDecoding> {
  const deferred = decoder.deferred[frame.index];
  const changes =
    deferred?.type === "text" ? release(decoder, frame.index, decodeStart(writer, turn, deferred)) : {};
  const block = writer.blockAt(turn, (changes.indexes ?? decoder.indexes).get(frame.index) ?? undefined);
  if (block === undefined || block.end !== null) return changes;
  const on = named(turn, block);
  if (block.kind === "thinking") writer.write({ type: "thinking.end", ...on });
  if (block.kind === "text") writer.write({ type: "text.end", ...on, final: frame.is_final ?? false });
  if (block.kind === "files") {
    const status = block.status === "failed" ? "failed" : "completed";
    writer.write({ type: "files.end", ...on, status, message: block.message });
  }
  return changes;
}
