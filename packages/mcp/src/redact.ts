/**
 * `Redactor` replaces the values of headers, environment variables and URL parameters in texts.
 * Invariant: every error text passes `clean` before it reaches a log or a model. Results, descriptions and progress of
 * a server do not. Longer secrets are replaced first, so that no part of one remains. Values below 6 characters are
 * not replaced, because they also occur in unrelated text.
 */

/** Shorter values are not replaced, because they also occur in unrelated text. */
const MIN_SECRET = 6;

export class Redactor {
  readonly #secrets = new Set<string>();

  /** @param value a whole header or variable. Its parts count as secrets too, such as the token in `Bearer …`. */
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
