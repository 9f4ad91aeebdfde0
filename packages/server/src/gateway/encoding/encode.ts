/**
 * Events as the bytes of a choice: dialect, then text, then wire. Made once for everybody with the same choice. Knows
 * no connection and reads nothing.
 */
import {
  type Cursor,
  type SessionEvent,
  formatSse,
  type SessionState,
  resolveBlobUrls,
} from "@turnstream/protocol";
import { blocks, eachResyncFrame } from "@turnstream/protocol/blocks";
import { responses, type ResponsesEncoder } from "@turnstream/protocol/responses";
import { tasks } from "@turnstream/protocol/tasks";
import type { LogEntry } from "../../log/entry.ts";
import type { StreamFormat } from "./stream-format.ts";
import { textFrame, textFrames } from "./ws-frame.ts";

/** Whose bytes they are. */
export interface EncodingTarget {
  readonly choice: StreamFormat;
  readonly session: string;
  /** The end of a JSON text whose closing brace it takes the place of. */
  readonly ending: string;
  /** The address of a blob that can be loaded. */
  readonly addressOf: (blob: string) => string;
}

type Frame = Readonly<Record<string, unknown>>;

/** How far the output text has got; only `responses` has to remember it. */
export type EncoderState = ResponsesEncoder | null;

export function createEncodingTarget(
  choice: StreamFormat,
  session: string,
  addressOf: (blob: string) => string,
): EncodingTarget {
  return { choice, session, ending: `,"session_id":${JSON.stringify(session)}}`, addressOf };
}

/** Events of `native` go out as they are. */
export function needsFoldedState({ dialect }: StreamFormat): boolean {
  return dialect !== "native";
}

/** Whether a delta can be told from its text in the log, without the event. */
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
  readonly remembered: EncoderState;
}

export function encodeEvent(
  { dialect }: StreamFormat,
  remembered: EncoderState,
  event: SessionEvent,
  before: SessionState,
  after: SessionState,
): EncodedEvent {
  switch (dialect) {
    case "native":
      return { frames: [event], remembered };
    case "blocks":
      return { frames: blocks.encode(before, event, after).frames, remembered };
    case "tasks":
      return { frames: tasks.encode(before, event, after).frames, remembered };
    case "responses": {
      // The state before may be without turns that the encoder has seen; the two belong together.
      const from = remembered === null ? responses.attach(before) : { ...remembered, state: before };
      const { frames, encoder } = responses.encode(from, event, after);
      return { frames, remembered: encoder };
    }
  }
}

/** What brings a client of `blocks` up to date that has missed everything behind a seq. */
export function resyncFrames(state: SessionState, since: number): Iterator<object> {
  return eachResyncFrame(state, since);
}

/** Frames as the bytes of a wire; null when there are none. */
export function encodeFrames(telling: EncodingTarget, frames: readonly object[]): Buffer | null {
  return joinWireBytes(
    telling,
    frames.map((frame) => frameText(telling, frame)),
  );
}

/** Entries as they are, for `native`; null when there are none. */
export function encodeEntries(telling: EncodingTarget, entries: readonly LogEntry[]): Buffer | null {
  if (entries.length === 1) return toWireBytes(telling, textOfEntry(telling, entries[0] as LogEntry));
  return joinWireBytes(
    telling,
    entries.map((entry) => textOfEntry(telling, entry)),
  );
}

/** Bytes of a text that is one whole frame on its wire. */
export function toWireBytes({ choice }: EncodingTarget, text: string): Buffer {
  return choice.wire === "sse" ? Buffer.from(text) : textFrame(text);
}

/** Texts of a wire, each a whole frame, as its bytes; null when there are none. */
export function joinWireBytes(telling: EncodingTarget, texts: readonly string[]): Buffer | null {
  if (texts.length < 2) return texts[0] === undefined ? null : toWireBytes(telling, texts[0]);
  return telling.choice.wire === "sse" ? Buffer.from(texts.join("")) : textFrames(texts);
}

/** How the frames of all deltas of a block begin in `blocks`, up to their text. */
export type DeltaPrefix = string;

/** Null when a delta is told in another way, or not at all. */
export function deltaPrefix(
  before: SessionState,
  event: SessionEvent,
  after: SessionState,
): DeltaPrefix | null {
  const [frame, ...more] = blocks.encode(before, event, after).frames;
  if (frame?.type !== "content_block_delta" || more.length > 0) return null;
  const { delta, event_id: _, ...place } = frame;
  if (!("type" in delta)) return null;
  const field = delta.type === "text_delta" ? "text" : delta.type === "thinking_delta" ? "thinking" : null;
  if (field === null) return null;
  return `${JSON.stringify(place).slice(0, -1)},"delta":{"type":"${delta.type}","${field}":`;
}

/** The frame of a delta whose text is JSON already: the same text that `blocks` makes of the event. */
export function rawDeltaFrame(
  { choice, ending }: EncodingTarget,
  head: DeltaPrefix,
  said: string,
  cursor: Cursor,
): string {
  return choice.wire === "sse"
    ? `event: content_block_delta\nid: ${cursor}\ndata: ${head}${said}}}\n\n`
    : `${head}${said}},"event_id":"${cursor}"${ending}`;
}

function textOfEntry(telling: EncodingTarget, entry: LogEntry): string {
  const { text } = entry;
  if (mayHoldBlobs(text)) return frameText(telling, entry.event);
  if (telling.choice.wire === "socket") return withEnding(text, telling);
  return `event: ${entry.type}\nid: ${entry.cursor}\ndata: ${text}\n\n`;
}

export function frameText(telling: EncodingTarget, frame: object): string {
  return telling.choice.wire === "sse"
    ? sseText(telling, frame as Frame)
    : socketText(telling, frame as Frame);
}

function socketText(telling: EncodingTarget, frame: Frame): string {
  const text = toJsonWithBlobUrls(telling, frame);
  return "session_id" in frame ? text : withEnding(text, telling);
}

function withEnding(text: string, { ending }: EncodingTarget): string {
  return text.slice(0, -1) + ending;
}

function sseText(telling: EncodingTarget, frame: Frame): string {
  const { event_id, ...data } = frame;
  const type = frame["type"] as string;
  const cursor = event_id ?? (telling.choice.dialect === "native" ? frame["id"] : undefined);
  const id = typeof cursor === "string" ? { id: cursor } : {};
  // The end of a stream of `responses` is the one frame that is not JSON.
  if (type === "[DONE]") return formatSse({ data: type, ...id });
  return formatSse({ event: type, data: toJsonWithBlobUrls(telling, data), ...id });
}

/** JSON in which blobs have addresses that can be loaded. */
export function toJsonWithBlobUrls({ addressOf }: Pick<EncodingTarget, "addressOf">, value: unknown): string {
  const text = JSON.stringify(value);
  return mayHoldBlobs(text) ? JSON.stringify(resolveBlobUrls(value, addressOf)) : text;
}

function mayHoldBlobs(text: string): boolean {
  // One look for nearly all of them.
  return text.includes("blob") && (text.includes("turnstream:blob/") || text.includes('"blob":'));
}
