/**
 * One question for all who ask the same at the same moment, such as a session's viewers who come back together. Nothing is
 * kept: who asks when the answer is there asks anew.
 */

export class SingleFlight<T> {
  readonly #asked = new Map<string, Promise<T>>();

  run(key: string, question: () => Promise<T>): Promise<T> {
    const known = this.#asked.get(key);
    if (known !== undefined) return known;
    const answer = question().finally(() => this.#asked.delete(key));
    this.#asked.set(key, answer);
    return answer;
  }
}
