/**
 * Server-sent events as text: frames out, frames in. What goes out has exactly one space after each colon,
 * because simple clients look for lines that begin with `data: `. Never touches bytes, sockets or time:
 * encoding and decoding UTF-8 is the caller's.
 *
 * SSE has only one newline: CR and CRLF in `data` arrive as LF. JSON escapes both, so what `toWireJson` makes
 * arrives exactly as it was.
 */
import { createParser } from "eventsource-parser";
import type { ErrorCode } from "./errors.ts";
import type { Json } from "./json.ts";

export interface SseMessage {
  readonly event?: string;
  readonly data: string;
  readonly id?: string;
}

export interface SseFrame extends SseMessage {
  /** Milliseconds a client waits before it reconnects. */
  readonly retry?: number;
}

export interface SseParser {
  /** Takes the next piece of decoded text, cut anywhere. Once over the limit it ignores what comes. */
  push(text: string): void;
}

export interface SseParserOptions {
  readonly onComment?: (text: string) => void;
  readonly onRetry?: (milliseconds: number) => void;
  readonly onError?: (error: SseTooLargeError) => void;
  /**
   * How long the data of one message, or a line not yet ended, may be; 8 MB unless told. Counted in UTF-16
   * units, and a text never has more of them than UTF-8 bytes: no frame of ours within the limit is refused.
   */
  readonly maxLength?: number;
}

/** A field that would break its line, or that a parser would drop, was about to be sent. */
export class SseFieldError extends Error {
  override readonly name = "SseFieldError";
  readonly code = "BAD_REQUEST" satisfies ErrorCode;
  readonly field: "event" | "id" | "retry";

  constructor(field: "event" | "id" | "retry") {
    super(`not a valid SSE ${field}`);
    this.field = field;
  }
}

/** The other side sent a message or line without end. */
export class SseTooLargeError extends Error {
  override readonly name = "SseTooLargeError";
  readonly code = "TOO_LARGE" satisfies ErrorCode;
  readonly maxLength: number;

  constructor(maxLength: number) {
    super(`SSE message over ${maxLength} characters`);
    this.maxLength = maxLength;
  }
}

const DEFAULT_MAX_LENGTH = 8 * 1024 * 1024;
const NEWLINE = /\r\n|\r|\n/;
const DATA = "data: ";

/** JSON text for the wire: one line, and well-formed UTF-16 even for strings with lone surrogates. */
export function toWireJson(value: Json): string {
  return JSON.stringify(value);
}

export function formatSse({ event, data, id, retry }: SseFrame): string {
  let frame = "";
  if (event !== undefined) frame += `event: ${oneLine("event", event)}\n`;
  if (id !== undefined) frame += `id: ${oneLine("id", id)}\n`;
  if (retry !== undefined) frame += `retry: ${wholeNumber("retry", retry)}\n`;
  for (const line of data.split(NEWLINE)) frame += `${DATA}${line}\n`;
  return `${frame}\n`;
}

/** A frame that says nothing to a client, to keep a connection alive or to explain itself to a person. */
export function formatSseComment(text: string): string {
  return `${text
    .split(NEWLINE)
    .map((line) => `: ${line}\n`)
    .join("")}\n`;
}

/** Calls `onMessage` for each whole message; one that the end of the text cuts off is never reported. */
export function createSseParser(
  onMessage: (message: SseMessage) => void,
  options: SseParserOptions = {},
): SseParser {
  const { onComment, onRetry, onError, maxLength = DEFAULT_MAX_LENGTH } = options;
  let over = false;
  const refuse = (): void => {
    if (over) return;
    over = true;
    onError?.(new SseTooLargeError(maxLength));
  };
  const parser = createParser({
    onComment,
    onRetry,
    // Unknown fields and odd retry values are to be ignored, by the standard.
    onError: (error) => {
      if (error.type === "max-buffer-size-exceeded") refuse();
    },
    onEvent: ({ event, data, id }) => {
      // The library looks at what it holds between two pushes; a message whole in one push is checked here.
      if (data.length > maxLength) refuse();
      if (over) return;
      onMessage({ ...(event !== undefined && { event }), data, ...(id !== undefined && { id }) });
    },
    maxBufferSize: maxLength + DATA.length,
  });
  return {
    push: (text) => {
      // The library keeps a list of the pieces of a line: empty ones would make it grow without end.
      if (!over && text !== "") parser.feed(text);
    },
  };
}

function oneLine(field: "event" | "id", value: string): string {
  if (/[\r\n\0]/.test(value)) throw new SseFieldError(field);
  return value;
}

function wholeNumber(field: "retry", value: number): number {
  if (!Number.isSafeInteger(value) || value < 0) throw new SseFieldError(field);
  return value;
}
