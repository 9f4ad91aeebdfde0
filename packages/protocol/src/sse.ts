/**
 * `formatSse` and `createSseParser` format and parse server-sent events as text. The caller encodes and decodes UTF-8.
 * Invariant: output has exactly one space after each colon, because simple clients search for lines that start with
 * `data: `. A field that would break its line throws. The parser stops at a message or line above its length limit.
 *
 * SSE has only one newline: CR and CRLF in `data` arrive as LF. JSON escapes both, so the output of `toWireJson`
 * arrives unchanged.
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
  /** Milliseconds that a client waits before it reconnects. */
  readonly retry?: number;
}

export interface SseParser {
  /** Parses the next chunk of decoded text. Ignores all text after the limit was exceeded. */
  push(text: string): void;
}

export interface SseParserOptions {
  readonly onComment?: (text: string) => void;
  readonly onRetry?: (milliseconds: number) => void;
  readonly onError?: (error: SseTooLargeError) => void;
  /**
   * Maximum length of the data of one message, or of an unfinished line, in UTF-16 code units. A text never has more of
   * them than UTF-8 bytes, so frames within the server's byte limit are never rejected.
   * At the limit, the parser calls `onError` and stops.
   * @default 8388608 (8 MiB)
   */
  readonly maxLength?: number;
}

/** Thrown for a field that would break its line, or that a parser would drop. */
export class SseFieldError extends Error {
  override readonly name = "SseFieldError";
  readonly code = "BAD_REQUEST" satisfies ErrorCode;
  readonly field: "event" | "id" | "retry";

  constructor(field: "event" | "id" | "retry") {
    super(`invalid SSE field ${field}`);
    this.field = field;
  }
}

/** Reported if the sender exceeds the length limit of a message or line. */
export class SseTooLargeError extends Error {
  override readonly name = "SseTooLargeError";
  readonly code = "TOO_LARGE" satisfies ErrorCode;
  readonly maxLength: number;

  constructor(maxLength: number) {
    super(`SSE message exceeds ${maxLength} characters`);
    this.maxLength = maxLength;
  }
}

const DEFAULT_MAX_LENGTH = 8 * 1024 * 1024;
const NEWLINE = /\r\n|\r|\n/;
const DATA = "data: ";

/** Returns JSON text for the wire: one line, and well-formed UTF-16 even for strings with lone surrogates. */
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

/** Formats a comment. Clients ignore it; it keeps a connection alive or informs a developer. */
export function formatSseComment(text: string): string {
  return `${text
    .split(NEWLINE)
    .map((line) => `: ${line}\n`)
    .join("")}\n`;
}

/** Calls `onMessage` for each complete message. A message that the end of the text cuts off is never reported. */
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
    // The SSE standard requires unknown fields and invalid retry values to be ignored.
    onError: (error) => {
      if (error.type === "max-buffer-size-exceeded") refuse();
    },
    onEvent: ({ event, data, id }) => {
      // The library checks its buffer only between two pushes, so a message inside one push is checked here.
      if (data.length > maxLength) refuse();
      if (over) return;
      onMessage({ ...(event !== undefined && { event }), data, ...(id !== undefined && { id }) });
    },
    maxBufferSize: maxLength + DATA.length,
  });
  return {
    push: (text) => {
      // The library stores the chunks of a line in a list, and empty chunks would make it grow without limit.
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
