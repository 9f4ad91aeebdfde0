/** Takes secrets out of words: what was given as a header or an environment variable is not for logs or models. */

/** Shorter ones would tear holes into words that have nothing to do with them. */
const MIN_SECRET = 6;

export class Redactor {
  readonly #secrets = new Set<string>();

  /** @param value a whole header or variable; its words count as secrets too, as in `Bearer …` */
  add(value: string): void {
    for (const secret of [value, ...value.split(/\s+/)])
      if (secret.length >= MIN_SECRET) this.#secrets.add(secret);
  }

  clean(text: string): string {
    let clean = text;
    for (const secret of [...this.#secrets].toSorted((a, b) => b.length - a.length))
      clean = clean.replaceAll(secret, "[redacted]");
    return clean;
  }
}
