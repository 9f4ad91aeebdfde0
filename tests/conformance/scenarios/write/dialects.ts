/** Writes the frames of each event of a log in a dialect, and the result of decoding them. */
import { blocks, type Codec, type Decoding, responses, tasks } from "../../support/codecs.ts";
import { emptyState, type SessionEvent } from "@turnstream/protocol";
import { type ResponsesFrame, responsesToSse } from "@turnstream/protocol/responses";
import { decodeAll } from "../../support/replay.ts";
import type { DialectVector, Frame } from "../vector-types.ts";

function vectorOf<E, D extends Decoding, F extends Frame, O>(
  dialect: Codec<E, D, F, O>,
  description: string,
  events: readonly SessionEvent[],
  options?: O,
): DialectVector & { readonly frames: readonly (readonly F[])[] } {
  const frames: (readonly F[])[] = [];
  let encoder = dialect.attach(emptyState, options);
  for (const event of events) {
    const step = dialect.encode(encoder, event);
    encoder = step.encoder;
    frames.push(step.frames);
  }
  const decoded = decodeAll(dialect, frames.flat()).events;
  return { description, dialect: dialect.name, events, frames, decoded };
}

export function blocksVector(description: string, events: readonly SessionEvent[]): DialectVector {
  return vectorOf(blocks, description, events);
}

export function tasksVector(description: string, events: readonly SessionEvent[]): DialectVector {
  return vectorOf(tasks, description, events);
}

export function responsesVector(
  description: string,
  events: readonly SessionEvent[],
  include_tool_tags: boolean,
): DialectVector {
  const options = { include_tool_tags };
  const { decoded, ...vector } = vectorOf(responses, description, events, options);
  const sse = vector.frames.flat().map((frame: ResponsesFrame) => responsesToSse(frame));
  return { ...vector, options, sse, decoded };
}
