/**
 * `LogEntry` is one entry of a log. It stores the line that `formatLine` builds: the key of the append, a space, and
 * the event as JSON. The line has no id, because the id is the position.
 *
 * Invariant: `formatLine` writes `v` and `at` before the fields of the draft, and `lastStringAfter`, `hasType` and
 * `type` rely on this. The event is parsed only when a reader needs it, and has the current schema version, unless a
 * newer one wrote it. All readers share the parsed event, so none may change it.
 */
import {
  type Cursor,
  type SessionEvent,
  type Position,
  type ReadableEvent,
  SCHEMA_VERSION,
  upgradeEvent,
} from "@turnstream/protocol";
import type { EventDraft } from "@turnstream/protocol/writer";

/** Maximum size of one event in the log. Larger content is stored in a blob, and the event references it. */
export const MAX_EVENT_BYTES = 65_536;

/** Estimated overhead of the objects around a line. */
const ENTRY_BYTES = 100;
const TYPE_FIELD = '"type":"';

/** Builds the key with which a retry finds an earlier append. */
export function appendKey(writer: string, counter: number): string {
  return `${writer}:${counter}`;
}

export function formatLine(key: string, draft: EventDraft, at: number): string {
  return `${key} {"v":${SCHEMA_VERSION},"at":${at},${JSON.stringify(draft).slice(1)}`;
}

export class LogEntry implements Position {
  readonly epoch: number;
  readonly seq: number;
  private readonly line: string;
  private parsed: SessionEvent | undefined;

  constructor(epoch: number, seq: number, line: string) {
    this.epoch = epoch;
    this.seq = seq;
    this.line = line;
    this.parsed = undefined;
  }

  get cursor(): Cursor {
    return `${this.epoch}-${this.seq}`;
  }

  /** Approximate memory use in bytes. */
  get size(): number {
    return this.line.length + ENTRY_BYTES;
  }

  get key(): string {
    return this.line.slice(0, this.line.indexOf(" "));
  }

  /** The id of the writer that appended this entry. */
  get writer(): string {
    return this.line.slice(0, this.line.lastIndexOf(":", this.line.indexOf(" ")));
  }

  /** The whole event as JSON text, for dialects that send events unchanged. */
  get text(): string {
    return this.textWith("}");
  }

  /** The whole event as JSON text, with `suffix` instead of its closing brace. */
  textWith(suffix: string): string {
    return `{"id":"${this.epoch}-${this.seq}",${this.line.slice(this.line.indexOf("{") + 1, -1)}${suffix}`;
  }

  /**
   * Returns true if the event's JSON contains `text`, without parsing it. May return true for a match inside a string.
   */
  mightContain(text: string): boolean {
    return this.line.includes(text);
  }

  /** Drops the parsed event. For callers that retain many entries and seldom read them again. */
  releaseParsed(): void {
    this.parsed = undefined;
  }

  /**
   * Returns the JSON string after the `v` and `at` fields and `prefix`, without its quotes. `prefix` includes the first
   * quote. Returns null if `prefix` doesn't follow those fields, or if the string is not the last field.
   */
  lastStringAfter(prefix: string): string | null {
    const { line } = this;
    const stampEnd = this.stampEnd();
    if (!line.startsWith(prefix, stampEnd)) return null;
    const start = stampEnd + prefix.length;
    let end = line.indexOf('"', start);
    while (end > 0 && isEscaped(line, end)) end = line.indexOf('"', end + 1);
    return end === line.length - 2 ? line.slice(start, end) : null;
  }

  /** Parses the event only if its type doesn't directly follow the `v` and `at` fields. */
  hasType(type: SessionEvent["type"]): boolean {
    return this.type === type;
  }

  /** The event's type. Parses the event only if its type doesn't directly follow the `v` and `at` fields. */
  get type(): string {
    const start = this.stampEnd();
    if (!this.line.startsWith(TYPE_FIELD, start)) return this.event.type;
    const at = start + TYPE_FIELD.length;
    return this.line.slice(at, this.line.indexOf('"', at));
  }

  /** Returns the index after the `v` and `at` fields. */
  private stampEnd(): number {
    const { line } = this;
    return line.indexOf(",", line.indexOf(",", line.indexOf("{")) + 1) + 1;
  }

  get event(): SessionEvent {
    if (this.parsed === undefined) {
      const event = JSON.parse(this.line.slice(this.line.indexOf("{"))) as ReadableEvent & { id: Cursor };
      event.id = this.cursor;
      this.parsed = upgradeEvent(event);
    }
    return this.parsed;
  }
}

function isEscaped(text: string, index: number): boolean {
  let slashes = 0;
  while (text[index - 1 - slashes] === "\\") slashes++;
  return slashes % 2 === 1;
}
