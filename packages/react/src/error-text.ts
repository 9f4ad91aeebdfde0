/** What went wrong, in the words of the page's language. Pure. Never an error's own words alone: these are in English. */
import type { ClientError, ClientErrorCode } from "@turnstream/client";
import type { Strings } from "./strings/strings.ts";

/** Here the error says more than its code: which limit, or what is wrong with what was sent. */
const CODES_WITH_DETAILS: ReadonlySet<string> = new Set<ClientErrorCode>([
  "BAD_REQUEST",
  "TOO_LARGE",
  "LIMIT_REACHED",
]);

export function errorText({ errors }: Strings, error: unknown): string {
  const { code = "", message = String(error) } = error as Partial<ClientError>;
  if (!Object.hasOwn(errors.byCode, code)) return errors.other(message);
  const text = errors.byCode[code as ClientErrorCode];
  return CODES_WITH_DETAILS.has(code) && message !== "" ? `${text} (${message})` : text;
}
