/**
 * The newest entries of a log, without holes, bounded in bytes: what viewers who were away for a moment read. Never reads
 * by itself, and forgets the oldest first.
 */
import { comparePositions, type Position } from "@turnstream/protocol";
import type { LogEntry } from "../log/entry.ts";

export class Held {
  /** Right before the first entry. */
  #base: Position;
  #entries: LogEntry[] = [];
  #bytes = 0;
  readonly #maxBytes: number;

  constructor(base: Position, maxBytes: number) {
    this.#base = base;
    this.#maxBytes = maxBytes;
  }

  get head(): Position {
    return this.#entries.at(-1) ?? this.#base;
  }

  get bytes(): number {
    return this.#bytes;
  }

  push(entries: readonly LogEntry[]): void {
    for (const entry of entries) {
      entry.rest();
      this.#entries.push(entry);
      this.#bytes += entry.size;
    }
    // By halves, so that moving the rest costs little.
    if (this.#bytes > this.#maxBytes) this.#keep(this.#maxBytes / 2);
  }

  /** Forgets all but where it stands. */
  clear(): void {
    this.#keep(0);
  }

  /** The entries right after a position; null when it isn't here. */
  after(position: Position, limit: number): readonly LogEntry[] | null {
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
