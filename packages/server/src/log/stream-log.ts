/**
 * A log on top of an engine: turns drafts into lines, judges cursors, follows. The same code for every engine.
 * Never retries a write by itself; the engine does where it knows that nothing was sent.
 */
import {
  comparePositions,
  type Cursor,
  formatCursor,
  parseCursor,
  type Position,
} from "@turnstream/protocol";
import { SESSION_ID_PATTERN, SESSION_ID_RULE, WRITER_ID_PATTERN, WRITER_ID_RULE } from "../util/names.ts";
import {
  toAppendResult,
  type EngineAppend,
  type EngineHead,
  type EngineRange,
  type LogEngine,
} from "./engine.ts";
import { appendKey, formatLine, MAX_EVENT_BYTES } from "./entry.ts";
import { LogError } from "./errors.ts";
import type { InvalidCursorReason, AppendBatch, Claim, Log, LogHead, ReadResult, ReadRange } from "./log.ts";
import { attach, type FollowSettings, listen } from "./reader/attach.ts";

export interface StreamLogOptions extends Partial<FollowSettings> {
  /** Stamps events. */
  readonly now?: () => number;
}

/** Bounds one command to the engine, so that nobody's batch keeps the others waiting. */
const MAX_BATCH_EVENTS = 1_000;
const MAX_BATCH_LENGTH = 4_000_000;
const DEFAULT_PAGE = 500;
const MAX_PAGE = 2_000;

export function createStreamLog(engine: LogEngine, options: StreamLogOptions = {}): Log {
  const now = options.now ?? Date.now;

  async function read(session: string, { after, limit = DEFAULT_PAGE }: ReadRange): Promise<ReadResult> {
    checkSession(session);
    const position = parseCursor(after);
    if (position === null) return { ok: false, reason: "malformed" };
    const size = Math.min(Math.max(1, limit), MAX_PAGE);
    // One for the position itself, and one to know whether there is more.
    const range = await engine.range(session, position, size + 2);
    if (range === null) return { ok: false, reason: "missing" };
    const entries = entriesAfter(position, range);
    if (entries === null)
      return { ok: false, reason: invalidCursorReason(position, await engine.head(session)) };
    const { epoch } = range;
    return { ok: true, epoch, entries: entries.slice(0, size), more: entries.length > size };
  }

  return {
    read,

    async claim(session, claim: Claim) {
      checkSession(session);
      checkWriter(claim.writer);
      const floor = mustParse(claim.archivedUpTo, "floor");
      // Somebody has archived under this epoch or a higher one: it is taken.
      if (floor.epoch >= claim.epoch) throw new LogError("OUTBID", { epoch: floor.epoch });
      const line = checkedLine(appendKey(claim.writer, 0), claim.event, now());
      const { epoch, writer, isRetry = false } = claim;
      const last = claim.last === undefined ? null : mustParse(claim.last, "last");
      return toAppendResult(
        await engine.claim(session, { epoch, writer, line, floor, last, repeat: isRetry }),
        1,
      );
    },

    append(session, batch: AppendBatch) {
      try {
        return engine.append(session, toAppend(session, batch, now()));
      } catch (error) {
        return Promise.reject(error);
      }
    },

    attach(session, attaching) {
      checkSession(session);
      return attach({ engine, read, session, ...attaching }, options);
    },

    // Not async: it lasts as long as somebody looks, and each of thousands would hold a frame.
    listen(session, attaching, listener) {
      try {
        checkSession(session);
        return listen({ engine, read, session, ...attaching }, listener, options);
      } catch (error) {
        return Promise.reject(error);
      }
    },

    async head(session) {
      checkSession(session);
      const head = await engine.head(session);
      return head === null ? null : headOf(head);
    },

    async trim(session, upTo) {
      checkSession(session);
      return engine.trim(session, mustParse(upTo, "upTo"));
    },

    async expire(session, archived, afterMs) {
      checkSession(session);
      return engine.expire(session, mustParse(archived, "archived"), afterMs);
    },

    async remove(session) {
      checkSession(session);
      await engine.remove(session);
    },

    onOutage: (listener) => engine.onOutage?.(listener) ?? (() => undefined),

    close: () => engine.close(),
  };
}

function toAppend(session: string, batch: AppendBatch, at: number): EngineAppend {
  checkSession(session);
  checkWriter(batch.writer);
  const { writer, counter, events, epoch = null, isRetry = false } = batch;
  if (events.length === 0 || events.length > MAX_BATCH_EVENTS) {
    throw new LogError("INVALID", { detail: `A batch has 1 to ${MAX_BATCH_EVENTS} events` });
  }
  const key = appendKey(writer, counter);
  const lines = events.map((event) => checkedLine(key, event, at));
  checkBatch(lines);
  const since = batch.since === undefined ? null : mustParse(batch.since, "since");
  return { writer, counter, lines, epoch, repeat: isRetry, since };
}

function headOf({ epoch, last, base }: EngineHead): LogHead {
  return { epoch, last: formatCursor(last), base: formatCursor(base) };
}

function checkedLine(key: string, event: Parameters<typeof formatLine>[1], at: number): string {
  const line = formatLine(key, event, at);
  // Three bytes are the most that a UTF-16 unit takes, so that most events need not be measured.
  if (line.length * 3 > MAX_EVENT_BYTES && Buffer.byteLength(line) > MAX_EVENT_BYTES) {
    throw new LogError("TOO_LARGE", { detail: `A ${event.type} has more than ${MAX_EVENT_BYTES} bytes` });
  }
  return line;
}

function checkBatch(lines: readonly string[]): void {
  if (lines.length === 1) return;
  const length = lines.reduce((sum, line) => sum + line.length, 0);
  if (length > MAX_BATCH_LENGTH) throw new LogError("TOO_LARGE", { detail: "A batch has too much in all" });
}

function mustParse(cursor: Cursor, name: string): Position {
  const position = parseCursor(cursor);
  if (position === null) throw new LogError("INVALID", { detail: `\`${name}\` is not a cursor` });
  return position;
}

/** Keys and lines are put together from these; nothing in them may change what they mean. */
function checkWriter(writer: string): void {
  if (!WRITER_ID_PATTERN.test(writer))
    throw new LogError("INVALID", { detail: `A writer is ${WRITER_ID_RULE}` });
}

function checkSession(session: string): void {
  if (!SESSION_ID_PATTERN.test(session)) {
    throw new LogError("INVALID", { detail: `A session id is ${SESSION_ID_RULE}` });
  }
}

/**
 * Whether a cursor is good: only if that very entry is in the log, or it is the recorded boundary before it.
 * Redis itself would answer a bad one with silence or with a jump. Pure.
 */
/** What was read from a position on, as the entries after it; null when the position is not in the log. */
function entriesAfter(after: Position, range: EngineRange): EngineRange["entries"] | null {
  const [first, ...rest] = range.entries;
  if (first !== undefined && comparePositions(first, after) === 0) return rest;
  return comparePositions(range.base, after) === 0 ? range.entries : null;
}

function invalidCursorReason(cursor: Position, head: EngineHead | null): InvalidCursorReason {
  if (head === null) return "missing";
  if (comparePositions(cursor, head.last) > 0) return "ahead";
  return comparePositions(cursor, head.base) < 0 ? "trimmed" : "lost";
}
