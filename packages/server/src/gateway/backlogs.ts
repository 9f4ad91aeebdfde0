/** What waits in one queue for each of those who share it, in bytes, and who has the most. Pure but for its own counts. */
export class Backlogs<T> {
  readonly #of = new Map<T, number>();
  #all = 0;

  /** Of everybody. */
  get all(): number {
    return this.#all;
  }

  get isEmpty(): boolean {
    return this.#of.size === 0;
  }

  /** @param of null for what is nobody's, and never gives way */
  add(of: T | null, bytes: number): void {
    this.#all += bytes;
    if (of !== null) this.#of.set(of, (this.#of.get(of) ?? 0) + bytes);
  }

  /** All of one's. */
  delete(of: T): void {
    this.#all -= this.#of.get(of) ?? 0;
    this.#of.delete(of);
  }

  /** Who has the most, if `sender` gets so much more; the sender, where others have as much. */
  most(sender: T, more: number): { readonly who: T; readonly bytes: number } {
    let [who, bytes] = [sender, (this.#of.get(sender) ?? 0) + more];
    for (const [other, has] of this.#of) if (has > bytes) [who, bytes] = [other, has];
    return { who, bytes };
  }
}
