/**
 * `FetchError` is the only error that a fetch throws, besides the reason of an aborted signal.
 * Invariant: its message is a fixed text per code. So it never contains the addresses that a host resolved to, which
 * would reveal the internal network. `cause` can contain them and is for operators only.
 */
import { createErrorGuard, defineErrors } from "../util/errors.ts";

/** For each code: what is wrong and what the caller can do. */
export const FETCH_ERRORS = {
  BAD_URL: "The address can't be fetched. Use http or https, without a user name or password in it.",
  BLOCKED:
    "The address, or one it redirects to, is not on the public internet. Use another, or allow this service by name.",
  TOO_LARGE: "The response is larger than the limit. Fetch a part of it, or raise the limit.",
  TIMEOUT: "The response took too long. Try again later, or raise the limit.",
  TOO_MANY_REDIRECTS: "The address redirects too often. Use the final address.",
  UNREACHABLE:
    "The server can't be reached, or closed the connection early. Check the address, or try again later.",
  BAD_RESPONSE: "The response of the server is invalid. Report it to the operator of that server.",
} as const;

export type FetchErrorCode = keyof typeof FETCH_ERRORS;

export class FetchError extends defineErrors("FetchError", FETCH_ERRORS, (_code, _what, meaning) => meaning) {
  constructor(code: FetchErrorCode, cause?: unknown) {
    super(code, "", cause);
  }
}

export const isFetchError = createErrorGuard(FetchError);
