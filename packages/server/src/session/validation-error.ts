/** INVALID: what a person filled in doesn't fit. Carries the words for that person, without ids and without the store's own. */
import { StoreError } from "../store/errors.ts";

export class InputValidationError extends StoreError {
  /** Which field, and what is wrong with it. */
  readonly userMessage: string;

  constructor(what: string, userMessage: string) {
    super("INVALID", `${what}: ${userMessage}`);
    this.name = "InputValidationError";
    this.userMessage = userMessage;
  }
}
