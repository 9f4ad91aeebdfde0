/**
 * Checks that every dialect must pass, whatever its frames look like. The properties run them on generated logs.
 */
import { emptyState, type SessionEvent, fold, type SessionState } from "@turnstream/protocol";
import { type Dialect, checkEvent } from "@turnstream/protocol/writer";
import { parseEvent } from "./parse-event.ts";
import type { Codec, Decoder, Decoding } from "./codecs.ts";
import { decodeAll, expectSame, framesFrom, positionOf, resumeFrames, sameAs, statesOf } from "./replay.ts";

type Check = (events: SessionEvent[], cuts: number[]) => void;

/** Applies a check at every frame of a log, for properties that only provide positions. */
export function atEveryFrame<E, F, O>(
  dialect: Dialect<E, F, O>,
  check: Check,
): (events: SessionEvent[]) => void {
  return (events) => {
    const { length } = framesFrom(dialect, emptyState, events);
    check(
      events,
      Array.from({ length: length + 1 }, (_, cut) => cut),
    );
  };
}

/**
 * Encodes a log, cuts after some frames, resumes from the last cursor, decodes and folds everything. The result must
 * equal the fold of the log, except for what the dialect can't carry.
 */
export function roundTrip<E, D extends Decoding, F extends { readonly event_id?: string }, O>(
  dialect: Codec<E, D, F, O>,
  erase: (state: SessionState, whole: SessionState) => unknown,
): Check {
  return (events, cuts) => {
    const states = statesOf(events);
    const whole = states.at(-1) ?? emptyState;
    const frames = framesFrom(dialect, emptyState, events);
    const expectWhole = sameAs(erase(whole, whole));
    // Decoders are immutable, so the frames before a cut are decoded once for all later cuts.
    const seen = decodersOf(dialect, frames);
    const rests = new Map<number, F[]>();
    let cursor: string | null = null;
    const positions = [0, ...frames.map(({ event_id }) => positionOf((cursor = event_id ?? cursor)))];
    for (const at of cuts) {
      const cut = Math.min(at, frames.length);
      const position = positions[cut] ?? 0;
      const rest = rests.get(position) ?? resumeFrames(dialect, states, events, position);
      rests.set(position, rest);
      const before = seen[cut] ?? { decoder: dialect.start, problems: [] };
      const { decoder, problems } = decodeAll(dialect, rest, before.decoder);
      expectSame([...before.problems, ...problems], []);
      expectWhole(erase(decoder.state, whole));
    }
  };
}

/** Returns the decoder after each frame, starting with the initial one, and the problems up to there. */
function decodersOf<D extends Decoding, F>(
  dialect: Decoder<D, F>,
  frames: readonly F[],
): { decoder: D; problems: string[] }[] {
  let last = { decoder: dialect.start, problems: [] as string[] };
  return [
    last,
    ...frames.map((frame) => {
      const { decoder, problems } = decodeAll(dialect, [frame], last.decoder);
      last = { decoder, problems: problems.length === 0 ? last.problems : [...last.problems, ...problems] };
      return last;
    }),
  ];
}

/** Checks that a decoder writes a valid log. A call without its result can't be valid if one of the two is hidden. */
export function decodesLegally<E, D extends Decoding, F, O>(
  dialect: Codec<E, D, F, O>,
  isExcused: (event: SessionEvent) => boolean = () => false,
): (events: SessionEvent[]) => void {
  return (events) => {
    if (events.some((event) => "hidden" in event)) return;
    let state = emptyState;
    for (const event of decodeAll(dialect, framesFrom(dialect, emptyState, events)).events) {
      const valid = parseEvent(event);
      if (!valid.ok) throw new Error(`${event.type} is not valid: ${valid.message}`);
      const wrong = checkEvent(state, event);
      if (wrong !== null && !isExcused(event))
        throw new Error(`${wrong.rule} ${event.type}: ${wrong.message}`);
      state = fold(state, event);
    }
  };
}
