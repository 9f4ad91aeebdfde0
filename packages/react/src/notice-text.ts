/**
 * `noticeText` returns the text of a notice in the language of the page. Pure.
 * Invariant: a template with a known code gives one of the page's own strings. Any other notice shows the text of the
 * server, because it can contain something that no string of the page does.
 */
import type { ClientErrorCode } from "@turnstream/client";
import type { NoticeBlock, TextTemplate } from "@turnstream/protocol";
import type { Messages } from "./strings/messages.ts";

export function noticeText(strings: Messages, { notice, text, template }: NoticeBlock): string {
  const own = template ? ownText(strings, template) : null;
  if (own !== null) return own;
  return text || (notice === "stopped" ? strings.thread.stopped : strings.thread.failed);
}

function ownText({ thread, errors }: Messages, { code, params = {} }: TextTemplate): string | null {
  if (code === "STOPPED") return thread.stopped;
  if (code === "NOT_RETRYABLE") return thread.notRetryable;
  if (code === "LIMIT_REACHED") return limitText(thread, params);
  return Object.hasOwn(errors.byCode, code) ? errors.byCode[code as ClientErrorCode] : null;
}

function limitText(
  { limits, limitReached }: Messages["thread"],
  { limit, value }: NonNullable<TextTemplate["params"]>,
): string | null {
  if (typeof limit !== "string" || typeof value !== "number" || !Object.hasOwn(limits, limit)) return null;
  return limitReached(limits[limit as keyof typeof limits](value));
}
