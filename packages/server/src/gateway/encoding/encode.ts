/**
 * `encodeEvent` converts events to frames of a dialect, and `encodeFrames` converts frames to the bytes of a wire.
 * Does not read the log and knows no connections.
 * Invariant: bytes depend only on session and format, because all subscribers with the same format share them. Raw
 * paths (`encodeEntries`, `rawDeltaFrame`) produce the same frames as the parsed ones. No frame contains an unresolved
 * blob reference. Without `includeHidden`, no frame contains hidden content.
 */
import type { SessionEvent, SessionState } from "@turnstream/protocol";
import { formatSse, omitHiddenEvent, resolveBlobUrls } from "@turnstream/protocol/writer";
import { blocks } from "@turnstream/protocol/blocks";
import { responses, type ResponsesEncoder } from "@turnstream/protocol/responses";
import { tasks } from "@turnstream/protocol/tasks";
import type { LogEntry } from "../../log/entry.ts";
import type { StreamFormat } from "./stream-format.ts";
import { encodeTextFrame, encodeTextFrames } from "./ws-frame.ts";

/** The format and session that bytes are encoded for. */
export interface EncodingTarget {
  readonly format: StreamFormat;
  readonly session: string;
  /** Replaces the closing brace of a frame's JSON and adds the session id. */
  readonly suffix: string;
  /** Returns the URL from which a client can load a blob. */
  readonly resolveBlobUrl: (blob: string) => string;
}

type Frame = Readonly<Record<string, unknown>>;

/** The encoder's progress in the output text. Only `responses` needs it. */
export type EncoderState = ResponsesEncoder | null;

export function createEncodingTarget(
  format: StreamFormat,
  session: string,
  resolveBlobUrl: (blob: string) => string,
): EncodingTarget {
  return { format, session, suffix: `,"session_id":${JSON.stringify(session)}}`, resolveBlobUrl };
}

/** Returns false for `native` with hidden content, whose frames are the events themselves. */
export function needsFoldedState({ dialect, includeHidden }: StreamFormat): boolean {
  return dialect !== "native" || !includeHidden;
}

/** Returns true if a delta can be encoded from its JSON text in the log, without parsing the event. */
export function supportsRawDeltas({ dialect }: StreamFormat): boolean {
  return dialect === "native" || dialect === "blocks";
}

export function createEncoderState(
  { dialect, includeToolTags }: StreamFormat,
  state: SessionState,
): EncoderState {
  return dialect === "responses" ? responses.attach(state, { include_tool_tags: includeToolTags }) : null;
}

export interface EncodedEvent {
  readonly frames: readonly object[];
  readonly encoderState: EncoderState;
}

export function encodeEvent(
  { dialect, includeHidden }: StreamFormat,
  encoderState: EncoderState,
  event: SessionEvent,
  before: SessionState,
  after: SessionState,
): EncodedEvent {
  switch (dialect) {
    case "native":
      return { frames: [includeHidden ? event : omitHiddenEvent(before, event)], encoderState };
    case "blocks":
      return { frames: blocks.encode(before, event, after).frames, encoderState };
    case "tasks":
      return { frames: tasks.encode(before, event, after).frames, encoderState };
    case "responses": {
      // The state before can lack turns that the encoder has seen. The encoder needs exactly this state, so it is
      // replaced.
      const from = encoderState === null ? responses.attach(before) : { ...encoderState, state: before };
      const { frames, encoder } = responses.encode(from, event, after);
      return { frames, encoderState: encoder };
    }
  }
}

/** Encodes frames as bytes of a wire. Returns null if there are none. */
export function encodeFrames(target: EncodingTarget, frames: readonly object[]): Buffer | null {
  return joinWireBytes(
    target,
    frames.map((frame) => frameText(target, frame)),
  );
}

/** Encodes log entries unchanged, for `native` with hidden content. Returns null if there are none. */
export function encodeEntries(target: EncodingTarget, entries: readonly LogEntry[]): Buffer | null {
  if (entries.length === 1) return toWireBytes(target, entryText(target, entries[0] as LogEntry));
  return joinWireBytes(
    target,
    entries.map((entry) => entryText(target, entry)),
  );
}

/** Encodes a text that is one whole frame. */
export function toWireBytes({ format }: EncodingTarget, text: string): Buffer {
  return format.wire === "sse" ? Buffer.from(text) : encodeTextFrame(text);
}

/** Encodes texts that are one whole frame each. Returns null if there are none. */
export function joinWireBytes(target: EncodingTarget, texts: readonly string[]): Buffer | null {
  if (texts.length < 2) return texts[0] === undefined ? null : toWireBytes(target, texts[0]);
  return target.format.wire === "sse" ? Buffer.from(texts.join("")) : encodeTextFrames(texts);
}

/** The start of the JSON that all delta frames of a block share in `blocks`, up to their text. */
export type DeltaPrefix = string;

/** Returns null if the dialect encodes the delta differently, or not at all. */
export function deltaPrefix(
  before: SessionState,
  event: SessionEvent,
  after: SessionState,
): DeltaPrefix | null {
  const [frame, ...more] = blocks.encode(before, event, after).frames;
  if (frame?.type !== "content_block_delta" || more.length > 0) return null;
  const { delta, event_id: _, ...rest } = frame;
  if (!("type" in delta)) return null;
  const field = delta.type === "text_delta" ? "text" : delta.type === "thinking_delta" ? "thinking" : null;
  if (field === null) return null;
  return `${JSON.stringify(rest).slice(0, -1)},"delta":{"type":"${delta.type}","${field}":`;
}

/** A delta whose frame is built from its JSON text in the log. */
export interface RawDelta {
  /** Without its quotes. */
  readonly rawText: string;
  readonly prefix: DeltaPrefix;
}

/**
 * Builds the frame of a delta from its raw JSON text. The output is identical to that of `encodeEvent`. A block has a
 * `DeltaPrefix` only if it is visible, so `native` sends the entry unchanged.
 */
export function rawDeltaFrame(
  target: EncodingTarget,
  { prefix, rawText }: RawDelta,
  entry: LogEntry,
): string {
  const { format, suffix } = target;
  if (format.dialect === "native") return entryText(target, entry);
  const { cursor } = entry;
  return format.wire === "sse"
    ? `event: content_block_delta\nid: ${cursor}\ndata: ${prefix}"${rawText}"}}\n\n`
    : `${prefix}"${rawText}"},"event_id":"${cursor}"${suffix}`;
}

function entryText(target: EncodingTarget, entry: LogEntry): string {
  if (entry.mightContain("blob")) return frameText(target, entry.event);
  if (target.format.wire !== "sse") return entry.textWith(target.suffix);
  return `event: ${entry.type}\nid: ${entry.cursor}\ndata: ${entry.text}\n\n`;
}

export function frameText(target: EncodingTarget, frame: object): string {
  return target.format.wire === "sse" ? sseText(target, frame as Frame) : socketText(target, frame as Frame);
}

function socketText(target: EncodingTarget, frame: Frame): string {
  const text = toJsonWithBlobUrls(target, frame);
  return "session_id" in frame ? text : text.slice(0, -1) + target.suffix;
}

function sseText(target: EncodingTarget, frame: Frame): string {
  const { event_id, ...data } = frame;
  const type = frame["type"] as string;
  const cursor = event_id ?? (target.format.dialect === "native" ? frame["id"] : undefined);
  const id = typeof cursor === "string" ? { id: cursor } : {};
  // The final frame of `responses` is the only one that is not JSON.
  if (type === "[DONE]") return formatSse({ data: type, ...id });
  return formatSse({ event: type, data: toJsonWithBlobUrls(target, data), ...id });
}

/** Stringifies a value and replaces blob references with URLs that clients can load. */
export function toJsonWithBlobUrls(
  { resolveBlobUrl }: Pick<EncodingTarget, "resolveBlobUrl">,
  value: unknown,
): string {
  const text = JSON.stringify(value);
  return mayContainBlobs(text) ? JSON.stringify(resolveBlobUrls(value, resolveBlobUrl)) : text;
}

function mayContainBlobs(text: string): boolean {
  // Fast path: one search is enough for nearly all frames.
  return text.includes("blob") && (text.includes("turnstream:blob/") || text.includes('"blob":'));
}
