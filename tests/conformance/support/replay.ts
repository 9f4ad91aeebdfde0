/**
 * Helpers of the properties: `statesOf` folds a log at every position, `framesFrom` encodes it from any state, and
 * `expectSame` compares plain data quickly.
 */
import { emptyState, type SessionEvent, fold, type SessionState } from "@turnstream/protocol";
import { coalesce, type Dialect } from "@turnstream/protocol/writer";
import type { Decoder, Decoding } from "./codecs.ts";

/** The states at every position, starting with the empty one: `states[k]` is the fold of the first k events. */
export function statesOf(events: readonly SessionEvent[]): SessionState[] {
  const states = [emptyState];
  let state = emptyState;
  for (const event of events) {
    state = fold(state, event);
    states.push(state);
  }
  return states;
}

/** The number of events up to a cursor. A generated log has no gaps, so this is its seq. */
export function positionOf(cursor: string | null): number {
  return cursor === null ? 0 : Number(cursor.slice(cursor.indexOf("-") + 1));
}

/** The frames that a client receives when it attaches at a state. Replays are coalesced. */
export function framesFrom<E, F, O>(
  dialect: Dialect<E, F, O>,
  state: SessionState,
  events: readonly SessionEvent[],
  options?: O,
): F[] {
  let encoder = dialect.attach(state, options);
  const frames: F[] = [];
  for (const event of events) {
    const step = dialect.encode(encoder, event);
    encoder = step.encoder;
    frames.push(...step.frames);
  }
  return frames;
}

/** The frames after a resume at position k. */
export function resumeFrames<E, F, O>(
  dialect: Dialect<E, F, O>,
  states: readonly SessionState[],
  events: readonly SessionEvent[],
  k: number,
  options?: O,
): F[] {
  return framesFrom(dialect, states[k] ?? emptyState, coalesce(events.slice(k)), options);
}

/** Decodes frames and returns the events and problems, from the start or from a given decoder. */
export function decodeAll<D extends Decoding, F>(
  decoding: Decoder<D, F>,
  frames: readonly F[],
  from: D = decoding.start,
): { decoder: D; events: SessionEvent[]; problems: string[] } {
  let decoder = from;
  const events: SessionEvent[] = [];
  const problems: string[] = [];
  for (const frame of frames) {
    const step = decoding.decode(decoder, frame);
    decoder = step.decoder;
    events.push(...step.events);
    if (step.problem !== null) problems.push(step.problem);
  }
  return { decoder, events, problems };
}

/** Compares plain data and reports the first difference. Fast, because shrinking compares thousands of values. */
export function expectSame(actual: unknown, expected: unknown): void {
  sameAs(expected)(actual);
}

/** Like `expectSame`, for many values that are compared with the same one. */
export function sameAs(expected: unknown): (actual: unknown) => void {
  const text = JSON.stringify(expected);
  return (actual) => expectText(JSON.stringify(actual), text);
}

function expectText(a: string, b: string): void {
  if (a === b) return;
  let at = 0;
  while (a[at] === b[at]) at++;
  const around = (text: string): string => text.slice(Math.max(0, at - 200), at + 200);
  throw new Error(`not the same\n  actual:   ...${around(a)}\n  expected: ...${around(b)}`);
}
