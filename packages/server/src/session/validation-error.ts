/**
 * `InputValidationError` (INVALID) reports invalid input of a user, with a message for that user.
 *
 * Invariant: the gateway sends `userMessage` to the user unchanged. It must not contain ids or internal text of the
 * store; these belong in `message`.
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
