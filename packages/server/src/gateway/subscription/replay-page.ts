/**
 * `buildReplayPage` makes a page of a replay: stored entries, merged and encoded for one format, after a position.
 * Pure; short enough to be done in one go.
 */
import { type SessionEvent, fold, type Position, type SessionState } from "@turnstream/protocol";
import { coalesce } from "@turnstream/protocol/writer";
import type { LogEntry } from "../../log/entry.ts";
import {
  createEncoderState,
  encodeFrames,
  encodeEvent,
  needsFoldedState,
  type EncoderState,
  type EncodingTarget,
} from "../encoding/encode.ts";
import { extractRawText, mergedDelta, type DeltaRun, matchDeltaRun } from "../encoding/raw-deltas.ts";

/** What a dialect has to know about the position that a subscriber has reached. */
export interface ReplayState {
  readonly state: SessionState;
  readonly encoderState: EncoderState;
}

export interface ReplayPage {
  readonly position: Position;
  readonly chunks: readonly Uint8Array[];
  /** The turn that the subscriber waits for ends with it. */
  readonly isComplete: boolean;
  readonly replayState: ReplayState | null;
}

export const PAGE_ENTRIES = 512;
const PAGE_BYTES = 128 * 1024;
/** Of JSON text in one merged delta: far below what `coalesce` allows, which merges further. */
const MAX_MERGED_LENGTH = 4_096;

export function replayStateAt(target: EncodingTarget, state: SessionState): ReplayState {
  return { state, encoderState: createEncoderState(target.format, state) };
}

/**
 * @param entries right after the subscriber's position, at least one
 * @param isLastTurn whether the subscription ends with this turn
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
  if (!needsFoldedState(target.format) || from === null)
    return { position, chunks: toChunks(encodeFrames(target, events)), isComplete, replayState: null };
  const frames: object[] = [];
  let { state, encoderState } = from;
  for (const event of events) {
    const after = fold(state, event);
    const encoded = encodeEvent(target.format, encoderState, event, state, after);
    for (const frame of encoded.frames) frames.push(frame);
    [state, encoderState] = [after, encoded.encoderState];
  }
  return {
    position,
    chunks: toChunks(encodeFrames(target, frames)),
    isComplete,
    replayState: { state, encoderState },
  };
}

/** As many as make a page; not beyond the end of the turn that the subscriber waits for. */
function cutPage(
  entries: readonly LogEntry[],
  isLastTurn: (turn: string) => boolean,
): { entries: readonly LogEntry[]; isComplete: boolean } {
  let size = 0;
  for (const [n, entry] of entries.entries()) {
    size += entry.size;
    const ended = endedTurn(entry);
    if (ended !== null && isLastTurn(ended)) return { entries: entries.slice(0, n + 1), isComplete: true };
    if (size > PAGE_BYTES || n + 1 === PAGE_ENTRIES)
      return { entries: entries.slice(0, n + 1), isComplete: false };
  }
  return { entries, isComplete: false };
}

/** The turn that an entry ends; null for nearly all. */
export function endedTurn(entry: LogEntry): string | null {
  if (!entry.mightContain('"turn.end"')) return null;
  const event: SessionEvent = entry.event;
  return event.type === "turn.end" ? event.turn : null;
}

function toChunks(bytes: Uint8Array | null): readonly Uint8Array[] {
  return bytes === null ? [] : [bytes];
}

/**
 * The events of entries, neighbouring deltas merged: what `coalesce` makes of them, without parsing each one. A client
 * that was away for long gets thousands of deltas of the same block. Pure.
 */
export function mergeDeltas(entries: readonly LogEntry[]): SessionEvent[] {
  const events: SessionEvent[] = [];
  let run: DeltaRun | null = null;
  let texts: string[] = [];
  let length = 0;
  let last: LogEntry | null = null;
  const flush = (): void => {
    if (run !== null && last !== null && texts.length > 0)
      events.push(texts.length === 1 ? last.event : { ...mergedDelta(run, texts, last), at: last.event.at });
    texts = [];
    length = 0;
  };
  for (const entry of entries) {
    const isNext: boolean = last?.epoch === entry.epoch && last.seq === entry.seq - 1;
    const more: string | null = run !== null && isNext ? extractRawText(run, entry) : null;
    if (more === null || length + more.length > MAX_MERGED_LENGTH) flush();
    if (more === null) {
      run = matchDeltaRun(entry);
      events.push(entry.event);
    } else {
      texts.push(more);
      length += more.length;
    }
    last = entry;
  }
  flush();
  return coalesce(events);
}
