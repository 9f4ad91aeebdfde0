/**
 * One entry of a log. What is stored is a line: the key of the append, a space, the event as JSON without its
 * id, which only the log knows. The event is parsed at most once, by the first reader who asks, for all readers.
 */
import { type Cursor, type SessionEvent, type Position, SCHEMA_VERSION } from "@turnstream/protocol";
import type { EventDraft } from "@turnstream/protocol/writer";

/** Bytes of one event in the log. What is larger is kept elsewhere and referred to. */
export const MAX_EVENT_BYTES = 65_536;

/** The objects around a line. */
const ENTRY_BYTES = 100;

/** The key under which an append can be found again. */
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

  /** What it takes to hold it, roughly in bytes. */
  get size(): number {
    return this.line.length + ENTRY_BYTES;
  }

  /** The key of the append that wrote it. */
  get key(): string {
    return this.line.slice(0, this.line.indexOf(" "));
  }

  /** Who wrote it. */
  get writer(): string {
    return this.line.slice(0, this.line.lastIndexOf(":", this.line.indexOf(" ")));
  }

  /** The whole event as JSON text, for wires that carry events as they are. */
  get text(): string {
    return `{"id":"${this.epoch}-${this.seq}",${this.line.slice(this.line.indexOf("{") + 1)}`;
  }

  /** Drops the parsed event, for whoever holds many entries that are seldom read again. */
  releaseParsed(): void {
    this.parsed = undefined;
  }

  /** Whether a piece of JSON text may be in the event, without reading it. */
  mightContain(text: string): boolean {
    return this.line.includes(text);
  }

  /** What comes after the stamp of the event and a piece of JSON text that may follow it; null when it doesn't. */
  jsonAfter(prefix: string): string | null {
    const stamp = this.line.indexOf(",", this.line.indexOf(",", this.line.indexOf("{")) + 1) + 1;
    return this.line.startsWith(prefix, stamp) ? this.line.slice(stamp + prefix.length) : null;
  }

  /** Of the event; parses it only where it doesn't begin with its type. */
  get type(): string {
    const rest = this.jsonAfter('"type":"');
    return rest === null ? this.event.type : rest.slice(0, rest.indexOf('"'));
  }

  get event(): SessionEvent {
    if (this.parsed === undefined) {
      const event = JSON.parse(this.line.slice(this.line.indexOf("{"))) as { id: Cursor };
      event.id = this.cursor;
      this.parsed = event as SessionEvent;
    }
    return this.parsed;
  }
}
