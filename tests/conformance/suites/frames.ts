/**
 * Helpers of the suites: `framesOf` encodes a log, and `read` decodes frames as the source documents print them.
 * Every frame and every event is checked against its schema.
 */
import {
  listBlocks,
  type Block,
  emptyState,
  type SessionEvent,
  type SessionState,
  type Turn,
} from "@turnstream/protocol";
import type { Dialect } from "@turnstream/protocol/writer";
import { parseEvent } from "../support/parse-event.ts";
import type { Decoder, Decoding } from "../support/codecs.ts";
import { decodeAll, framesFrom } from "../support/replay.ts";

export interface AnyFrame {
  readonly type: string;
  readonly event_id?: string;
}

/** The frames of a complete log, with cursors. */
export function framesOf<E, F extends AnyFrame, O>(
  dialect: Dialect<E, F, O>,
  log: { readonly events: readonly SessionEvent[] },
  options?: O,
): F[] {
  return framesFrom(dialect, emptyState, log.events, options);
}

/** The frames without cursors, to compare them with printed frames. */
export function bareFramesOf<E, F extends AnyFrame, O>(
  dialect: Dialect<E, F, O>,
  log: { readonly events: readonly SessionEvent[] },
  options?: O,
): Omit<F, "event_id">[] {
  return framesOf(dialect, log, options).map(({ event_id: _, ...frame }) => frame);
}

export interface Reading {
  readonly state: SessionState;
  readonly events: readonly SessionEvent[];
  /** The cursor from which this client would resume. */
  readonly cursor: string | null;
  /** The errors of the events against their schemas. */
  readonly problems: readonly string[];
}

/** Decodes frames of any server: fields can be missing or unknown. */
export function read<D extends Decoding, F>(decoding: Decoder<D, F>, frames: readonly object[]): Reading {
  const { decoder, events } = decodeAll(decoding, frames as unknown as readonly F[]);
  const problems = events.flatMap((event) => {
    // JSON drops undefined fields, as in a log.
    const result = parseEvent(JSON.parse(JSON.stringify(event)));
    return result.ok ? [] : [`${event.type}: ${result.message}`];
  });
  return { state: decoder.state, events, cursor: decoder.cursor, problems };
}

export function turnOf(state: SessionState): Turn {
  const turn = state.turns.last();
  if (turn === undefined) throw new Error("there is no turn");
  return turn;
}

/** The blocks of a state's newest turn. */
export function blocksIn(state: SessionState): Block[] {
  return listBlocks(turnOf(state));
}

/** Selects fields of objects, to compare only these. */
export function pick(things: readonly object[], ...fields: readonly string[]): Record<string, unknown>[] {
  return things.map((thing) =>
    Object.fromEntries(Object.entries(thing).filter(([field]) => fields.includes(field))),
  );
}
