/**
 * A page of a replay: entries that are there already, merged and encoded for one choice, from where a viewer stands.
 * Pure; short enough to be done in one go.
 */
import { coalesce, type SessionEvent, fold, type Position, type SessionState } from "@turnstream/protocol";
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

/** Where a viewer stands, as its dialect has to know it. */
export interface ReplayState {
  readonly state: SessionState;
  readonly remembered: EncoderState;
}

export interface ReplayPage {
  readonly to: Position;
  readonly chunks: readonly Uint8Array[];
  /** The turn that the viewer waits for ends with it. */
  readonly isComplete: boolean;
  readonly standing: ReplayState | null;
}

export const PAGE_ENTRIES = 512;
const PAGE_BYTES = 128 * 1024;

export function replayStateAt(telling: EncodingTarget, state: SessionState): ReplayState {
  return { state, remembered: createEncoderState(telling.choice, state) };
}

/**
 * @param entries right after where the viewer stands, at least one
 * @param isLast whether the viewer leaves with the end of this turn
 */
export function buildReplayPage(
  telling: EncodingTarget,
  from: ReplayState | null,
  entries: readonly LogEntry[],
  isLast: (turn: string) => boolean,
): ReplayPage {
  const { taken, over } = cut(entries, isLast);
  const events = mergeDeltas(taken);
  const last = taken.at(-1) as LogEntry;
  const to = { epoch: last.epoch, seq: last.seq };
  if (!needsFoldedState(telling.choice) || from === null)
    return { to, chunks: chunksOf(encodeFrames(telling, events)), isComplete: over, standing: null };
  const frames: object[] = [];
  let { state, remembered } = from;
  for (const event of events) {
    const after = fold(state, event);
    const encoded = encodeEvent(telling.choice, remembered, event, state, after);
    for (const frame of encoded.frames) frames.push(frame);
    [state, remembered] = [after, encoded.remembered];
  }
  return {
    to,
    chunks: chunksOf(encodeFrames(telling, frames)),
    isComplete: over,
    standing: { state, remembered },
  };
}

/** As many as make a page; not beyond the end of the turn that the viewer waits for. */
function cut(
  entries: readonly LogEntry[],
  isLast: (turn: string) => boolean,
): { taken: readonly LogEntry[]; over: boolean } {
  let size = 0;
  for (const [n, entry] of entries.entries()) {
    size += entry.size;
    const ended = endedTurn(entry);
    if (ended !== null && isLast(ended)) return { taken: entries.slice(0, n + 1), over: true };
    if (size > PAGE_BYTES || n + 1 === PAGE_ENTRIES) return { taken: entries.slice(0, n + 1), over: false };
  }
  return { taken: entries, over: false };
}

/** The turn that an entry ends; null for nearly all. */
export function endedTurn(entry: LogEntry): string | null {
  if (!entry.mightContain('"turn.end"')) return null;
  const event: SessionEvent = entry.event;
  return event.type === "turn.end" ? event.turn : null;
}

function chunksOf(bytes: Uint8Array | null): readonly Uint8Array[] {
  return bytes === null ? [] : [bytes];
}

/**
 * The events of entries, neighbouring deltas merged: what `coalesce` makes of them, without parsing each one. Who was away
 * for long gets thousands of deltas of the same block. Pure.
 */
/** Of JSON text in one piece: far below what `coalesce` allows, which puts the pieces together. */
const MAX_LENGTH = 4_096;

export function mergeDeltas(entries: readonly LogEntry[]): SessionEvent[] {
  const events: SessionEvent[] = [];
  let saying: DeltaRun | null = null;
  let texts: string[] = [];
  let length = 0;
  let last: LogEntry | null = null;
  const flush = (): void => {
    if (saying !== null && last !== null && texts.length > 0)
      events.push(
        texts.length === 1 ? last.event : { ...mergedDelta(saying, texts, last), at: last.event.at },
      );
    texts = [];
    length = 0;
  };
  for (const entry of entries) {
    const isNext: boolean = last?.epoch === entry.epoch && last.seq === entry.seq - 1;
    const more: string | null = saying !== null && isNext ? extractRawText(saying, entry) : null;
    if (more === null || length + more.length > MAX_LENGTH) flush();
    if (more === null) {
      saying = matchDeltaRun(entry);
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
