/** Verifies the small vectors: SSE text cut at every position, partial JSON, tool tags, cursors, classes of events. */
import {
  compareCursors,
  createSseParser,
  emptyState,
  fold,
  formatCursor,
  parseCursor,
  classifyEvent,
  SCHEMA_VERSION,
  type SseMessage,
} from "@turnstream/protocol";
import { formatSse, formatSseComment, toWireJson } from "@turnstream/protocol/writer";
import { SseFieldError, type SseFrame } from "../../../../packages/protocol/src/sse.ts";
import { argumentsOf, releasedBy } from "../one-block.ts";
import type {
  CursorsVector,
  PartialJsonVector,
  PlacesVector,
  SseVector,
  ToolTagsVector,
} from "../vector-types.ts";
import type { Report } from "./report.ts";

export function verifySse(report: Report, vector: SseVector): void {
  for (const { name, frame, text } of vector.format) report.same(name, formatSse(frame), text);
  for (const { name, comment, text } of vector.comment) report.same(name, formatSseComment(comment), text);
  for (const { name, frame, field } of vector.refuse) report.same(name, refusedField(frame), field);
  for (const { name, value, text } of vector.json) {
    report.same(name, toWireJson(value), text);
    report.same(`${name}: read again`, JSON.parse(text), value);
  }
  for (const { name, text, messages, comments, retries } of vector.parse) {
    const expected = { messages, comments, retries };
    for (let at = 0; at <= text.length; at++)
      report.same(`${name}, cut at ${at}`, parsed([text.slice(0, at), text.slice(at)]), expected);
    report.same(`${name}, every unit alone`, parsed(text.split("")), expected);
  }
}

function refusedField(frame: SseFrame): string | null {
  try {
    formatSse(frame);
    return null;
  } catch (error) {
    return error instanceof SseFieldError ? error.field : String(error);
  }
}

function parsed(chunks: readonly string[]): unknown {
  const messages: SseMessage[] = [];
  const comments: string[] = [];
  const retries: number[] = [];
  const parser = createSseParser((message) => messages.push(message), {
    onComment: (comment) => comments.push(comment),
    onRetry: (retry) => retries.push(retry),
  });
  for (const chunk of chunks) parser.push(chunk);
  return { messages, comments, retries };
}

export function verifyPartialJson(report: Report, vector: PartialJsonVector): void {
  for (const { name, chunks, partial, input } of vector.cases) {
    report.same(name, argumentsOf(chunks), { partial, input });
    // The result must not depend on how the text is cut.
    report.same(`${name}, every unit alone`, argumentsOf(chunks.join("").split("")).input, input);
  }
}

export function verifyToolTags(report: Report, vector: ToolTagsVector): void {
  for (const { name, chunks, released, at_end, text } of vector.cases) {
    report.same(name, releasedBy(chunks), { released, at_end, text });
    report.same(`${name}: joined`, [...released, at_end].join(""), text);
    const alone = releasedBy(chunks.join("").split(""));
    report.same(`${name}, every unit alone`, [...alone.released, alone.at_end].join(""), text);
  }
}

export function verifyPlaces(report: Report, vector: PlacesVector): void {
  for (const { name, last, event, place } of vector.cases) {
    report.same(name, classifyEvent(last, event), place);
    // Only an event that is next, or after a gap, moves the position of the fold.
    const { epoch, seq } = fold({ ...emptyState, ...last }, { v: SCHEMA_VERSION, ...event });
    const isTaken = place === "next" || place === "gap";
    report.same(`${name}: position`, formatCursor({ epoch, seq }), isTaken ? event.id : formatCursor(last));
  }
}

export function verifyCursors(report: Report, vector: CursorsVector): void {
  for (const { cursor, epoch, seq } of vector.good) {
    report.same(cursor, parseCursor(cursor), { epoch, seq });
    report.same(`${cursor} written`, formatCursor({ epoch, seq }), cursor);
  }
  for (const bad of vector.bad) report.same(JSON.stringify(bad), parseCursor(bad), null);
  for (const { a, b, sign } of vector.order) {
    report.same(`${a} and ${b}`, Math.sign(compareCursors(a, b)), sign);
    report.same(`${b} and ${a}`, Math.sign(compareCursors(b, a)), 0 - sign);
  }
}
