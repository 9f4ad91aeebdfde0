/**
 * `EntryBuffer` buffers the newest entries of a log, for subscribers that reconnect soon. Does not read the log.
 * Invariant: there are no gaps: the n-th entry has the seq `base.seq + n`. `push` gets only the entries that follow
 * directly, and `prepend` refuses entries that do not connect. The size is bounded by `maxBytes`, or by 1 MiB after a
 * `prepend`; the oldest entries are dropped first. `clear` does not change `head`.
 */
import { comparePositions, type Position } from "@turnstream/protocol";
import type { LogEntry } from "../../log/entry.ts";

/**
 * Limit after a client has reconnected, because others will need the same entries. Without reconnects, this much would
 * only waste memory.
 */
const EXTENDED_BYTES = 1024 * 1024;
/** The share of the limit that prepended entries may use. The rest is for new entries. */
const PREPEND_SHARE = 0.75;

export class EntryBuffer {
  #base: Position;
  #entries: LogEntry[] = [];
  #bytes = 0;
  readonly #minCapacity: number;
  #capacity: number;

  constructor(base: Position, maxBytes: number) {
    this.#base = base;
    this.#minCapacity = maxBytes;
    this.#capacity = maxBytes;
  }

  get head(): Position {
    return this.#entries.at(-1) ?? this.#base;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** The position directly before the first entry. */
  get base(): Position {
    return this.#base;
  }

  /** How many more bytes may be prepended. */
  get prependableBytes(): number {
    return EXTENDED_BYTES * PREPEND_SHARE - this.#bytes;
  }

  push(entries: readonly LogEntry[]): void {
    for (const entry of entries) {
      entry.releaseParsed();
      this.#entries.push(entry);
      this.#bytes += entry.size;
    }
    // Trim to half of the limit, so that moving the remaining entries is rare.
    if (this.#bytes > this.#capacity) this.#trim(this.#capacity / 2);
  }

  /**
   * Adds earlier entries.
   * @param entries from directly after the position up to the first buffered one, or further
   * @returns false if they don't connect to the buffered entries
   */
  prepend(position: Position, entries: readonly LogEntry[]): boolean {
    const gap = this.#base.seq - position.seq;
    const overlap = entries[gap - 1];
    if (overlap === undefined || comparePositions(overlap, this.#base) !== 0) return false;
    const earlier = entries.slice(0, gap);
    for (const { size } of earlier) this.#bytes += size;
    this.#entries = [...earlier, ...this.#entries];
    this.#base = { epoch: position.epoch, seq: position.seq };
    this.#capacity = Math.max(this.#minCapacity, EXTENDED_BYTES);
    return true;
  }

  /** Drops all entries. The position stays. */
  clear(): void {
    this.#capacity = this.#minCapacity;
    this.#trim(0);
  }

  /** Returns the entries directly after a position, or null if the buffer does not contain the position. */
  entriesAfter(position: Position, limit: number): readonly LogEntry[] | null {
    const index = position.seq - this.#base.seq;
    const entry = index === 0 ? this.#base : this.#entries[index - 1];
    if (entry === undefined || comparePositions(entry, position) !== 0) return null;
    return this.#entries.slice(index, index + limit);
  }

  #trim(maxBytes: number): void {
    let n = 0;
    while (this.#bytes > maxBytes && n < this.#entries.length)
      this.#bytes -= (this.#entries[n++] as LogEntry).size;
    const last = this.#entries[n - 1];
    if (last === undefined) return;
    this.#base = { epoch: last.epoch, seq: last.seq };
    this.#entries = this.#entries.slice(n);
  }
}
