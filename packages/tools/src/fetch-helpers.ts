/**
 * `resolveFetchPolicy`, `isTextResponse`, `decodeText` and `describeFetchError` are shared by the tools that fetch.
 *
 * Invariant: the limits of a tool can only lower those of the fetch policy. Decoding never throws. The user sees no
 * detail of a fetch error; the model gets its code and message.
 */
import { isFetchError, hostOf } from "@turnstream/server/internal";
import { type FetchPolicy, type ToolContext, ToolError } from "@turnstream/server";

const TEXT =
  /^(text\/.*|application\/(.*[+])?(json|xml|javascript|yaml|x-ndjson)|application\/x-www-form-urlencoded)$/;

export function isTextResponse(mediaType: string): boolean {
  return TEXT.test(mediaType);
}

/**
 * Returns the fetch policy of a call. The limits of the tool can only lower those of the policy.
 * @param own policy that the developer gave to the built-in tools. Default: the worker's policy
 */
export function resolveFetchPolicy(
  own: FetchPolicy | undefined,
  context: ToolContext,
  limits: { readonly maxBytes: number; readonly timeoutMs: number },
): FetchPolicy {
  const policy = own ?? hostOf(context).scope.host.fetchPolicy;
  const { maxBytes = Infinity, timeoutMs = Infinity } = policy;
  return {
    ...policy,
    maxBytes: Math.min(maxBytes, limits.maxBytes),
    timeoutMs: Math.min(timeoutMs, limits.timeoutMs),
  };
}

export function charsetOf(contentType: string): string {
  return /charset\s*=\s*"?([\w.:-]{1,40})/i.exec(contentType)?.[1] ?? "";
}

/** Decodes with the charset that the server names, or UTF-8. Invalid bytes become the replacement character. */
export function decodeText(bytes: Uint8Array, contentType: string): string {
  try {
    return new TextDecoder(charsetOf(contentType) || "utf-8").decode(bytes);
  } catch {
    return new TextDecoder().decode(bytes);
  }
}

/** The model gets the error code and message. The user only sees that the call failed. */
export function describeFetchError(error: unknown, userMessage: string): unknown {
  return isFetchError(error)
    ? new ToolError(userMessage, { modelMessage: `${error.code}: ${error.message}`, cause: error })
    : error;
}
