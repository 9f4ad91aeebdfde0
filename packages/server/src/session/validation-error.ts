/** INVALID: what a person filled in doesn't fit. Carries the words for that person, without ids and without the store's own. */
import { StoreError } from "../store/errors.ts";

export class InputValidationError extends StoreError {
  /** Which field, and what is wrong with it. */
  readonly userMessage: string;

  constructor(what: string, words: string) {
    super("INVALID", `${what}: ${words}`);
    this.name = "UnfitError";
    this.userMessage = words;
  }
}
