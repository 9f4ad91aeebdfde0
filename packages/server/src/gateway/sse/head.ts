/** The head of an event stream, and what is said on one whatever its dialect. */
import { formatSseComment } from "@turnstream/protocol";

/** The last two keep proxies from holding back or changing what passes through them. */
export const EVENT_STREAM_HEADERS: Readonly<Record<string, string>> = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
};

/** Comes at once, so that the client has its head and knows that it is connected. */
export const OPENING = Buffer.from(formatSseComment("open"));
export const KEEP_ALIVE = Buffer.from(formatSseComment("keep-alive"));

/** The server goes down: come back after so many milliseconds. */
export function comeBack(afterMs: number): Buffer {
  return Buffer.from(`: the server restarts\nretry: ${afterMs}\n\n`);
}
