/**
 * `errorText` returns the text of an error in the language of the page. Pure.
 * Invariant: the error's own message is never shown alone, because it is in English.
 */
import type { ClientError, ClientErrorCode } from "@turnstream/client";
import type { Strings } from "./strings/strings.ts";

/** For these codes the message adds details: the limit, or the problem with the input. */
const CODES_WITH_DETAILS: ReadonlySet<string> = new Set<ClientErrorCode>([
  "BAD_REQUEST",
  "TOO_LARGE",
  "LIMIT_REACHED",
]);

/** A minute: a shorter wait is no limit of a day or month. */
const SOON_HOURS = 1 / 60;

export function errorText({ errors }: Strings, error: unknown): string {
  const { code = "", message = String(error), retryAfterSeconds } = error as Partial<ClientError>;
  const hours = (retryAfterSeconds ?? 0) / 3_600;
  if (code === "RATE_LIMITED" && hours > SOON_HOURS) return errors.limited(Math.ceil(hours));
  if (!Object.hasOwn(errors.byCode, code)) return errors.other(message);
  const text = errors.byCode[code as ClientErrorCode];
  return CODES_WITH_DETAILS.has(code) && message !== "" ? `${text} (${message})` : text;
}
