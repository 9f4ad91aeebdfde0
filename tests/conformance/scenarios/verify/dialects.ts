/** Verifies dialect vectors with the public functions: encode, decode, and the SSE text of `responses`. */
import { blocks, type Codec, type Decoding, responses, tasks } from "../../support/codecs.ts";
import { createSseParser, emptyState, type SessionEvent, type SseMessage } from "@turnstream/protocol";
import { responsesFromSse, responsesToSse } from "@turnstream/protocol/responses";
import { blocksFrameSchema, responsesFrameSchema, tasksFrameSchema } from "@turnstream/protocol/schema";
import type { DialectVector, Frame } from "../vector-types.ts";
import type { Report } from "./report.ts";

export function verifyDialect(report: Report, vector: DialectVector): void {
  switch (vector.dialect) {
    case "blocks":
      return verifyWith(report, vector, blocks, blocksFrameSchema);
    case "tasks":
      return verifyWith(report, vector, tasks, tasksFrameSchema);
    case "responses":
      verifyWith(report, vector, responses, responsesFrameSchema);
      return verifySseText(report, vector);
    default:
      report.problems.push(`there is no dialect ${vector.dialect}`);
  }
}

interface Schema {
  safeParse(value: unknown): { success: boolean };
}

function verifyWith<E, D extends Decoding, F, O>(
  report: Report,
  vector: DialectVector,
  dialect: Codec<E, D, F, O>,
  schema: Schema,
): void {
  let encoder = dialect.attach(emptyState, vector.options as O | undefined);
  report.same("events and frames", vector.frames.length, vector.events.length);
  for (const [n, event] of vector.events.entries()) {
    const step = dialect.encode(encoder, event);
    encoder = step.encoder;
    report.same(`frames of event ${n}`, step.frames, vector.frames[n]);
  }
  let decoder = dialect.start;
  const decoded: SessionEvent[] = [];
  for (const frame of vector.frames.flat()) {
    report.same(`${frame.type} fits its schema`, schema.safeParse(frame).success, true);
    const step = dialect.decode(decoder, frame as F);
    decoder = step.decoder;
    decoded.push(...step.events);
    report.same(`${frame.type} is read`, step.problem, null);
  }
  report.same("decoded", decoded, vector.decoded);
}

function verifySseText(report: Report, vector: DialectVector): void {
  const frames = vector.frames.flat() as (Frame & Parameters<typeof responsesToSse>[0])[];
  report.same("sse", frames.map(responsesToSse), vector.sse);
  const messages: SseMessage[] = [];
  createSseParser((message) => messages.push(message)).push((vector.sse ?? []).join(""));
  report.same("frames of the sse text", messages.map(responsesFromSse), frames);
}
