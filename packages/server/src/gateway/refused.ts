/** Why something that was asked for is not done, as one typed error: a word of the protocol's table, and words for people. */
import type { ErrorWord } from "@turnstream/protocol";

export class Refused extends Error {
  readonly word: ErrorWord;

  /** @param message for whoever asked: what is wrong, and what to do about it */
  constructor(word: ErrorWord, message: string) {
    super(message);
    this.name = "Refused";
    this.word = word;
  }
}
