/**
 * `InputValidationError` (INVALID) reports invalid input of a user, with a message for that user.
 *
 * The message contains no ids and no internal text of the store.
 */
import { StoreError } from "../store/errors.ts";

export class InputValidationError extends StoreError {
  /** The field and what is wrong with it. */
  readonly userMessage: string;

  constructor(what: string, userMessage: string) {
    super("INVALID", `${what}: ${userMessage}`);
    this.name = "InputValidationError";
    this.userMessage = userMessage;
  }
}
