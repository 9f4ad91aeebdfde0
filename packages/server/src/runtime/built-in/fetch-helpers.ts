/** What the tools that fetch have in common: which answers are text, how to read them, and how to say what failed. */
import { isFetchError } from "../../safe-fetch/errors.ts";
import type { FetchPolicy } from "../../safe-fetch/policy.ts";
import { type ToolContext, ToolError } from "../define/tool.ts";
import { hostOf } from "../tool-calls/tool-host.ts";

const TEXT =
  /^(text\/.*|application\/(.*[+])?(json|xml|javascript|yaml|x-ndjson)|application\/x-www-form-urlencoded)$/;

export function isTextResponse(mediaType: string): boolean {
  return TEXT.test(mediaType);
}

/**
 * What a call may reach, and how much it may take.
 * @param own what the tools were made with; the worker's when absent
 */
export function resolveFetchPolicy(
  own: FetchPolicy | undefined,
  context: ToolContext,
  limits: { readonly maxBytes: number; readonly timeoutMs: number },
): FetchPolicy {
  const policy = own ?? hostOf(context).scope.attempt.context.fetchPolicy;
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

/** In the encoding that the server names, or UTF-8. Whatever can't be read becomes a mark that says so. */
export function decodeText(bytes: Uint8Array, contentType: string): string {
  try {
    return new TextDecoder(charsetOf(contentType) || "utf-8").decode(bytes);
  } catch {
    return new TextDecoder().decode(bytes);
  }
}

/** The model reads why; people read that it failed. */
export function describeFetchError(error: unknown, userMessage: string): unknown {
  return isFetchError(error)
    ? new ToolError(userMessage, { modelMessage: `${error.code}: ${error.message}`, cause: error })
    : error;
}
