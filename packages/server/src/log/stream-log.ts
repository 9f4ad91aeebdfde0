/**
 * `createStreamLog` builds a `Log` on any engine: it converts drafts to lines, validates arguments and follows logs.
 *
 * Invariant: it never retries a write, because only the writer knows whether a repeat is safe. It checks ids, sizes and
 * batch limits before it calls the engine. A cursor is valid only if its exact entry is in the log, or if it is the
 * base.
 */
import {
  comparePositions,
  type Cursor,
  formatCursor,
  parseCursor,
  type Position,
} from "@turnstream/protocol";
import { type SessionRef, sessionKey } from "../util/refs.ts";
import {
  ID_RULE,
  isId,
  SESSION_ID_PATTERN,
  SESSION_ID_RULE,
  WRITER_ID_PATTERN,
  WRITER_ID_RULE,
} from "../util/names.ts";
import {
  toAppendResult,
  type EngineAppend,
  type EngineHead,
  type EngineRange,
  type LogEngine,
} from "./engine.ts";
import { appendKey, formatLine, MAX_EVENT_BYTES } from "./entry.ts";
import { LogError } from "./errors.ts";
import type { InvalidCursorReason, AppendBatch, Claim, Log, ReadResult, ReadRange } from "./log.ts";
import { attach, type FollowSettings, listen } from "./reader/attach.ts";

export interface StreamLogOptions extends Partial<FollowSettings> {
  /** Clock for the `at` field of events. @default Date.now */
  readonly now?: () => number;
}

/** Limits of one append. A larger command would delay those of other sessions. */
const MAX_BATCH_EVENTS = 1_000;
const MAX_BATCH_LENGTH = 4_000_000;
const DEFAULT_PAGE = 500;
const MAX_PAGE = 2_000;

export function createStreamLog(engine: LogEngine, options: StreamLogOptions = {}): Log {
  const now = options.now ?? Date.now;

  async function readLog(name: string, { after, limit = DEFAULT_PAGE }: ReadRange): Promise<ReadResult> {
    const position = parseCursor(after);
    if (position === null) return { ok: false, reason: "malformed" };
    const size = Math.min(Math.max(1, limit), MAX_PAGE);
    // One more for the position itself, and one more to detect further entries.
    const range = await engine.range(name, position, size + 2);
    if (range === null) return { ok: false, reason: "missing" };
    const entries = entriesAfter(position, range);
    if (entries === null)
      return { ok: false, reason: invalidCursorReason(position, await engine.head(name)) };
    const { epoch } = range;
    return { ok: true, epoch, entries: entries.slice(0, size), more: entries.length > size };
  }

  return {
    async read(ref, range) {
      return readLog(logName(ref), range);
    },

    async claim(ref, claim: Claim) {
      const name = logName(ref);
      checkWriter(claim.writer);
      const floor = mustParse(claim.archivedUpTo, "archivedUpTo");
      // The archive has events of this epoch or a higher one, so another writer has claimed it.
      if (floor.epoch >= claim.epoch) throw new LogError("OUTBID", { epoch: floor.epoch });
      const line = checkedLine(appendKey(claim.writer, 0), claim.event, now());
      const { epoch, writer, isRetry = false } = claim;
      const last = claim.last === undefined ? null : mustParse(claim.last, "last");
      return toAppendResult(
        await engine.claim(name, { epoch, writer, line, floor, last, repeat: isRetry }),
        1,
      );
    },

    // Not async: that would delay each append by passes through the microtask queue.
    append(ref, batch: AppendBatch) {
      try {
        return engine.append(logName(ref), toAppend(batch, now()));
      } catch (error) {
        return Promise.reject(error);
      }
    },

    attach(ref, attaching) {
      return attach({ engine, read: readLog, name: logName(ref), ...attaching }, options);
    },

    // Not async: the call lasts as long as a subscription, and each of thousands would retain an async frame.
    listen(ref, attaching, listener) {
      try {
        return listen({ engine, read: readLog, name: logName(ref), ...attaching }, listener, options);
      } catch (error) {
        return Promise.reject(error);
      }
    },

    async head(ref) {
      const head = await engine.head(logName(ref));
      if (head === null) return null;
      return { epoch: head.epoch, last: formatCursor(head.last), base: formatCursor(head.base) };
    },

    async trim(ref, upTo) {
      return engine.trim(logName(ref), mustParse(upTo, "upTo"));
    },

    async expire(ref, archived, afterMs) {
      return engine.expire(logName(ref), mustParse(archived, "archived"), afterMs);
    },

    async remove(ref) {
      await engine.remove(logName(ref));
    },

    get isImpaired() {
      return engine.isImpaired ?? false;
    },

    onOutage: (listener) => engine.onOutage?.(listener) ?? (() => undefined),

    ...(engine.evaluate === undefined ? {} : { evaluate: engine.evaluate.bind(engine) }),

    close: () => engine.close(),
  };
}

function toAppend(batch: AppendBatch, at: number): EngineAppend {
  checkWriter(batch.writer);
  const { writer, counter, events, epoch = null, isRetry = false, generation = 0 } = batch;
  if (events.length === 0 || events.length > MAX_BATCH_EVENTS)
    throw new LogError("INVALID", { detail: `\`events\` must have 1 to ${MAX_BATCH_EVENTS} elements` });
  const key = appendKey(writer, counter);
  const lines = events.map((event) => checkedLine(key, event, at));
  const length = lines.reduce((sum, line) => sum + line.length, 0);
  // One line has been checked already.
  if (lines.length > 1 && length > MAX_BATCH_LENGTH)
    throw new LogError("TOO_LARGE", { detail: "The events of the batch are too large in total" });
  const since = batch.since === undefined ? null : mustParse(batch.since, "since");
  return { writer, counter, lines, epoch, generation, repeat: isRetry, since };
}

function checkedLine(key: string, event: Parameters<typeof formatLine>[1], at: number): string {
  const line = formatLine(key, event, at);
  // A UTF-16 unit takes at most three bytes, so most events need no exact measurement.
  if (line.length * 3 > MAX_EVENT_BYTES && Buffer.byteLength(line) > MAX_EVENT_BYTES) {
    throw new LogError("TOO_LARGE", {
      detail: `The ${event.type} event is larger than ${MAX_EVENT_BYTES} bytes`,
    });
  }
  return line;
}

function mustParse(cursor: Cursor, name: string): Position {
  const position = parseCursor(cursor);
  if (position === null) throw new LogError("INVALID", { detail: `\`${name}\` must be a cursor` });
  return position;
}

/** Writer ids become part of keys and lines, so they must not contain separators of those. */
function checkWriter(writer: string): void {
  if (!WRITER_ID_PATTERN.test(writer))
    throw new LogError("INVALID", { detail: `\`writer\` must be ${WRITER_ID_RULE}` });
}

/** Names of logs, because a writer passes the same reference with every append. */
const logNames = new WeakMap<SessionRef, string>();

function logName(ref: SessionRef): string {
  const known = logNames.get(ref);
  if (known !== undefined) return known;
  const name = checkedName(ref);
  logNames.set(ref, name);
  return name;
}

/** @throws LogError with INVALID for an id that the store would refuse */
function checkedName(ref: SessionRef): string {
  if (!SESSION_ID_PATTERN.test(ref.session))
    throw new LogError("INVALID", { detail: `The session id must be ${SESSION_ID_RULE}` });
  if (!isId(ref.tenant)) throw new LogError("INVALID", { detail: `The tenant id must have ${ID_RULE}` });
  return sessionKey(ref);
}

/**
 * Returns the entries after a cursor, or null if the cursor is invalid. It is valid only if that exact entry is in the
 * log, or if it is the recorded base. For an invalid cursor Redis alone would return nothing or skip entries. Pure.
 */
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
