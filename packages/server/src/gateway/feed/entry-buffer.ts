/**
 * The newest entries of a log, without holes, bounded in bytes: what viewers who were away for a moment read. Never reads
 * by itself, and forgets the oldest first.
 */
import { comparePositions, type Position } from "@turnstream/protocol";
import type { LogEntry } from "../../log/entry.ts";

/** Where people come back, in bytes: the next ones will ask for the same. Elsewhere it would only cost the collector. */
const REACHED_BYTES = 1024 * 1024;
/** Up to this share of it what was before may be added: what comes needs its own. */
const REACH_BACK = 0.75;

export class EntryBuffer {
  #base: Position;
  #entries: LogEntry[] = [];
  #bytes = 0;
  readonly #leastBytes: number;
  #maxBytes: number;

  constructor(base: Position, maxBytes: number) {
    this.#base = base;
    this.#leastBytes = maxBytes;
    this.#maxBytes = maxBytes;
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

  /** How much more may be held before the first entry, in bytes. */
  get room(): number {
    return REACHED_BYTES * REACH_BACK - this.#bytes;
  }

  push(entries: readonly LogEntry[]): void {
    for (const entry of entries) {
      entry.releaseParsed();
      this.#entries.push(entry);
      this.#bytes += entry.size;
    }
    // By halves, so that moving the rest costs little.
    if (this.#bytes > this.#maxBytes) this.#keep(this.#maxBytes / 2);
  }

  /**
   * Holds what was before, too.
   * @param entries from right after the position to where the first one held begins, or further
   * @returns false when they don't join
   */
  prepend(position: Position, entries: readonly LogEntry[]): boolean {
    const gap = this.#base.seq - position.seq;
    const joint = entries[gap - 1];
    if (joint === undefined || comparePositions(joint, this.#base) !== 0) return false;
    const before = entries.slice(0, gap);
    for (const { size } of before) this.#bytes += size;
    this.#entries = [...before, ...this.#entries];
    this.#base = { epoch: position.epoch, seq: position.seq };
    this.#maxBytes = Math.max(this.#leastBytes, REACHED_BYTES);
    return true;
  }

  /** Forgets all but where it stands. */
  clear(): void {
    this.#maxBytes = this.#leastBytes;
    this.#keep(0);
  }

  /** The entries right after a position; null when it isn't here. */
  entriesAfter(position: Position, limit: number): readonly LogEntry[] | null {
    const at = position.seq - this.#base.seq;
    const known = at === 0 ? this.#base : this.#entries[at - 1];
    if (known === undefined || comparePositions(known, position) !== 0) return null;
    return this.#entries.slice(at, at + limit);
  }

  #keep(maxBytes: number): void {
    let n = 0;
    while (this.#bytes > maxBytes && n < this.#entries.length)
      this.#bytes -= (this.#entries[n++] as LogEntry).size;
    const last = this.#entries[n - 1];
    if (last === undefined) return;
    this.#base = { epoch: last.epoch, seq: last.seq };
    this.#entries = this.#entries.slice(n);
  }
}
