/**
 * The newest entries of a log, without holes, bounded in bytes: for subscribers that reconnect soon. Never reads by itself,
 * and drops the oldest first.
 */
import { comparePositions, type Position } from "@turnstream/protocol";
import type { LogEntry } from "../../log/entry.ts";

/** The bound once a client has reconnected: the next ones will ask for the same. Elsewhere it would only cost memory. */
const EXTENDED_BYTES = 1024 * 1024;
/** The share of it that earlier entries may take: new entries need the rest. */
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

  /** Right before the first entry. */
  get base(): Position {
    return this.#base;
  }

  /** How much more may be prepended, in bytes. */
  get prependableBytes(): number {
    return EXTENDED_BYTES * PREPEND_SHARE - this.#bytes;
  }

  push(entries: readonly LogEntry[]): void {
    for (const entry of entries) {
      entry.releaseParsed();
      this.#entries.push(entry);
      this.#bytes += entry.size;
    }
    // By halves, so that moving the rest costs little.
    if (this.#bytes > this.#capacity) this.#trim(this.#capacity / 2);
  }

  /**
   * Adds earlier entries.
   * @param entries from right after the position to the first one that is buffered, or further
   * @returns false when they don't join
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

  /** Drops all entries; the position stays. */
  clear(): void {
    this.#capacity = this.#minCapacity;
    this.#trim(0);
  }

  /** The entries right after a position; null when it isn't here. */
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
