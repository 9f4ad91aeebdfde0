/** `TurnMemory` is what a body keeps of a turn in this process, from one attempt to the next. */

export interface Closable {
  close(reason: unknown): void;
}

export class TurnMemory {
  readonly #parts = new Map<string, Closable>();

  /** Returns the part with this name, which the first call creates. */
  part<Part extends Closable>(name: string, create: () => Part): Part {
    const part = this.#parts.get(name) ?? create();
    this.#parts.set(name, part);
    // A name always has the same type.
    return part as Part;
  }

  /** The turn has ended, or this process no longer runs it. */
  close(reason: unknown): void {
    for (const part of this.#parts.values()) part.close(reason);
  }
}
