/**
 * `truncateText` cuts text to a length in UTF-16 code units without splitting a surrogate pair.
 * Invariant: the result is a prefix of the text and never longer than `max`. Shorter text is returned unchanged.
 */
export function truncateText(text: string, max: number): string {
  if (text.length <= max) return text;
  const last = text.charCodeAt(max - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? max - 1 : max);
}
