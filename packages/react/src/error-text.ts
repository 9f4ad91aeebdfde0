/** What went wrong, in the words of the page's language. Pure. Never an error's own words alone: these are in English. */
import type { ClientError, ClientErrorCode } from "@turnstream/client";
import type { Strings } from "./strings/strings.ts";

/** Here the error says more than its code: which limit, or what is wrong with what was sent. */
const SAYS_MORE: ReadonlySet<string> = new Set<ClientErrorCode>([
  "BAD_REQUEST",
  "TOO_LARGE",
  "LIMIT_REACHED",
]);

export function problemText({ problems }: Strings, error: unknown): string {
  const { code = "", message = String(error) } = error as Partial<ClientError>;
  if (!Object.hasOwn(problems.byCode, code)) return problems.other(message);
  const words = problems.byCode[code as ClientErrorCode];
  return SAYS_MORE.has(code) && message !== "" ? `${words} (${message})` : words;
}
