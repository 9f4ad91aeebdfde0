/**
 * `parseNotification`, `parseEntries`, `parseHead`, `parseHeadEpoch` and `parsePulse` parse the replies and published
 * messages of the scripts. Pure.
 *
 * Invariant: the formats are those of `scripts.ts`. An append publishes `<first id>\n<line>\n<line>…`, a claim
 * `<previous id> <id>\n<line>`, and a removal `removed`. Lines contain JSON, which never has an unescaped newline. An
 * id that is not a position throws; `parseHeadEpoch` returns null.
 */
import type { Position } from "@turnstream/protocol";
import type { EngineHead, PublishedBatch, LogNotification } from "../engine.ts";
import { LogEntry } from "../entry.ts";

/** Parses an id that Redis created. It needs fewer checks than a cursor from a client. */
export function parsePosition(id: unknown): Position {
  const text = String(id);
  const dash = text.indexOf("-");
  const position = { epoch: Number(text.slice(0, dash)), seq: Number(text.slice(dash + 1)) };
  if (dash > 0 && Number.isSafeInteger(position.epoch) && Number.isSafeInteger(position.seq)) return position;
  throw new TypeError("Redis returned an id that is not a position");
}

export function parseNotification(text: string): LogNotification {
  if (text === "removed") return { type: "removed" };
  const end = text.indexOf("\n");
  const space = text.lastIndexOf(" ", end);
  const before = space < 0 ? null : parsePosition(text.slice(0, space));
  const { epoch, seq } = parsePosition(text.slice(space + 1, end));
  return { type: "written", batch: { before, entries: readLines(epoch, seq, text, end + 1) } };
}

function readLines(epoch: number, first: number, text: string, start: number): PublishedBatch["entries"] {
  const end = text.indexOf("\n", start);
  // Fast path: most appends have one event.
  if (end < 0) return [new LogEntry(epoch, first, text.slice(start))];
  return text
    .slice(start)
    .split("\n")
    .map((line, n) => new LogEntry(epoch, first + n, line));
}

/** Parses the reply of XRANGE: `[id, [field, line]]`. */
export function parseEntries(reply: unknown): LogEntry[] {
  return (reply as [string, [string, string]][]).map(([id, [, line]]) => {
    const { epoch, seq } = parsePosition(id);
    return new LogEntry(epoch, seq, line);
  });
}

/** Returns the head up to its generation. */
export function formatHeadKey(epoch: number, replicationId: string, writer: string): string {
  return `${epoch} ${replicationId} ${writer}~`;
}

/** Returns the epoch of a head, or null for a text that is not a head. */
export function parseHeadEpoch(text: string): number | null {
  const [epoch, , writer] = text.split(" ");
  return writer === undefined ? null : Number(epoch);
}

/**
 * True if the head marks the log as expiring. The normal append is then refused, and `APPEND_WITH_LOOKBACK` cancels the
 * expiry.
 */
export function isExpiring(head: string): boolean {
  return head.endsWith(" expiring");
}

export interface Pulse {
  /** The replication id of the server, with its role if it is not a primary. */
  readonly replicationId: string;
  /** The code with which the server refuses writes, such as OOM, or null. */
  readonly refusal: string | null;
  /** The token of the sentinel key, or null if it could not be read or written. */
  readonly token: string | null;
}

/** Returns null for a text that is not from `PULSE`. */
export function parsePulse(text: string): Pulse | null {
  const [replicationId, refusal, token] = text.split(" ");
  if (replicationId === undefined || refusal === undefined || token === undefined) return null;
  return {
    replicationId,
    refusal: refusal === "-" ? null : refusal,
    token: token === "-" ? null : token,
  };
}

export function parseHead(reply: unknown): EngineHead | null {
  const [head, last, base] = reply as string[];
  if (head === undefined) return null;
  return { epoch: parseHeadEpoch(head) ?? 0, last: parsePosition(last), base: parsePosition(base) };
}
