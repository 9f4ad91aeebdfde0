/**
 * `buildReplayPage` builds one page of a replay: the stored entries after a position, merged and encoded for one
 * format. Pure.
 * Invariant: a page has at least one entry and ends at 512 entries, after 128 KiB, or with the subscriber's last turn.
 * So it does not block the event loop for long. `position` is that of its last entry. Several subscriptions share a
 * page, so its bytes are never changed.
 */
import { emptyState, type SessionEvent, fold, type Position, type SessionState } from "@turnstream/protocol";
import type { LogEntry } from "../../log/entry.ts";
import { mergeDeltas } from "../../log/raw-deltas.ts";
import {
  createEncoderState,
  encodeFrames,
  encodeEvent,
  frameText,
  joinWireBytes,
  needsFoldedState,
  type EncoderState,
  type EncodingTarget,
} from "../encoding/encode.ts";

/** The folded state that a dialect needs at the subscriber's position. */
export interface ReplayState {
  readonly state: SessionState;
  readonly encoderState: EncoderState;
}

export interface ReplayPage {
  readonly position: Position;
  readonly chunks: readonly Uint8Array[];
  /** True if the page ends with the turn that the subscriber waits for. */
  readonly isComplete: boolean;
  readonly replayState: ReplayState | null;
}

export const PAGE_ENTRIES = 512;
const PAGE_BYTES = 128 * 1024;

export function replayStateAt(target: EncodingTarget, state: SessionState): ReplayState {
  return { state, encoderState: createEncoderState(target.format, state) };
}

/**
 * @param from null only for a format that needs no folded state
 * @param entries directly after the subscriber's position, at least one
 * @param isLastTurn returns true if the subscription ends with this turn
 */
export function buildReplayPage(
  target: EncodingTarget,
  from: ReplayState | null,
  entries: readonly LogEntry[],
  isLastTurn: (turn: string) => boolean,
): ReplayPage {
  const { entries: pageEntries, isComplete } = cutPage(entries, isLastTurn);
  const events = mergeDeltas(pageEntries);
  const last = pageEntries.at(-1) as LogEntry;
  const position = { epoch: last.epoch, seq: last.seq };
  if (!needsFoldedState(target.format))
    return { position, chunks: toChunks(encodeFrames(target, events)), isComplete, replayState: null };
  const { bytes, replayState } = encodeReplay(target, from ?? replayStateAt(target, emptyState), events);
  return { position, chunks: toChunks(bytes), isComplete, replayState };
}

/**
 * Encodes events until their frames have `maxLength` characters.
 * @returns the state after them, and how many they are
 */
export function encodeReplay(
  target: EncodingTarget,
  from: ReplayState,
  events: readonly SessionEvent[],
  maxLength = Infinity,
): { readonly bytes: Buffer | null; readonly replayState: ReplayState; readonly count: number } {
  const texts: string[] = [];
  let { state, encoderState } = from;
  let count = 0;
  for (let length = 0; count < events.length && length < maxLength; count++) {
    const event = events[count] as SessionEvent;
    const after = fold(state, event);
    const encoded = encodeEvent(target.format, encoderState, event, state, after);
    for (const frame of encoded.frames) {
      const text = frameText(target, frame);
      texts.push(text);
      length += text.length;
    }
    [state, encoderState] = [after, encoded.encoderState];
  }
  return { bytes: joinWireBytes(target, texts), replayState: { state, encoderState }, count };
}

/** Returns the entries of one page, at most up to the end of the turn that the subscriber waits for. */
function cutPage(
  entries: readonly LogEntry[],
  isLastTurn: (turn: string) => boolean,
): { entries: readonly LogEntry[]; isComplete: boolean } {
  let size = 0;
  for (let n = 0; n < entries.length; n++) {
    const entry = entries[n] as LogEntry;
    size += entry.size;
    const ended = endedTurn(entry);
    if (ended !== null && isLastTurn(ended)) return { entries: entries.slice(0, n + 1), isComplete: true };
    if (size > PAGE_BYTES || n + 1 === PAGE_ENTRIES)
      return { entries: entries.slice(0, n + 1), isComplete: false };
  }
  return { entries, isComplete: false };
}

/** Returns the turn that an entry ends, or null for nearly all entries. */
export function endedTurn(entry: LogEntry): string | null {
  if (!entry.hasType("turn.end")) return null;
  const event: SessionEvent = entry.event;
  return event.type === "turn.end" ? event.turn : null;
}

function toChunks(bytes: Uint8Array | null): readonly Uint8Array[] {
  return bytes === null ? [] : [bytes];
}
