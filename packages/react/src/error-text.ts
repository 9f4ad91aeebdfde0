/**
 * `errorText` returns the text of an error in the language of the page. Pure.
 * Invariant: the error's own message is never shown alone, because it is in English.
 */
import type { ClientError, ClientErrorCode } from "@turnstream/client";
import type { Messages } from "./strings/messages.ts";

/** For these codes the message adds details: the limit, or the problem with the input. */
const CODES_WITH_DETAILS: ReadonlySet<string> = new Set<ClientErrorCode>([
  "BAD_REQUEST",
  "TOO_LARGE",
  "LIMIT_REACHED",
]);

/** A limit that lasts longer than a minute shows the hours until it ends. */
const LONG_WAIT_SECONDS = 60;

export function errorText({ errors }: Pick<Messages, "errors">, error: unknown): string {
  const { code = "", message = String(error), retryAfterSeconds } = error as Partial<ClientError>;
  if (!Object.hasOwn(errors.byCode, code)) return errors.other(message);
  const seconds = retryAfterSeconds ?? 0;
  const wait = seconds > LONG_WAIT_SECONDS ? `${Math.ceil(seconds / 3_600)} h` : "";
  const detail = CODES_WITH_DETAILS.has(code) ? message : wait;
  const text = errors.byCode[code as ClientErrorCode];
  return detail === "" ? text : `${text} (${detail})`;
}
