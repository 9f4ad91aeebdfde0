/**
 * `formatNumber`, `formatDay`, `formatDate`, `formatPercent`, `formatDuration` and `formatSize` format values for a
 * locale. Pure.
 * Invariant: the locale is that of the strings, never the machine's, so server and browser render the same text. A
 * calendar day does not depend on the time zone.
 */
import type { Messages } from "./strings/messages.ts";
import type { ThreadStrings } from "./strings/thread.ts";

type Locale = Pick<Messages, "locale">;

/** For numbers that a user typed or that limit an input: no digit is rounded. */
export const MAX_DIGITS = 20;

export function formatNumber({ locale }: Locale, value: number, digits = 0): string {
  return new Intl.NumberFormat(locale, { maximumFractionDigits: digits }).format(value);
}

/** Formats a calendar day, `YYYY-MM-DD`, independent of the time zone. Returns other text unchanged. */
export function formatDay({ locale }: Locale, day: string): string {
  const at = Date.parse(`${day}T00:00:00Z`);
  if (Number.isNaN(at)) return day;
  return new Intl.DateTimeFormat(locale, { dateStyle: "long", timeZone: "UTC" }).format(at);
}

/** Formats a time as a day in the reader's time zone. Not for the first render, which must equal the server's. */
export function formatDate({ locale }: Locale, time: number): string {
  return new Intl.DateTimeFormat(locale, { dateStyle: "medium" }).format(time);
}

export function formatPercent({ locale }: Locale, share: number): string {
  return new Intl.NumberFormat(locale, { style: "percent" }).format(share);
}

export function formatDuration(strings: ThreadStrings, ms: number): string {
  if (ms < 60_000) return strings.thread.seconds(formatNumber(strings, ms / 1000, ms < 10_000 ? 1 : 0));
  const seconds = Math.round(ms / 1000);
  return strings.thread.minutes(
    formatNumber(strings, Math.floor(seconds / 60)),
    formatNumber(strings, seconds % 60),
  );
}

const UNITS = ["kilobyte", "megabyte", "gigabyte"] as const;

export function formatSize({ locale }: Locale, bytes: number): string {
  // From kilobytes on, because the word for bytes is English in some languages of browsers, such as zh-TW.
  const power = bytes < 1_000 ? 1 : Math.min(UNITS.length, Math.floor(Math.log(bytes) / Math.log(1000)));
  return new Intl.NumberFormat(locale, {
    style: "unit",
    unit: UNITS[power - 1] ?? "kilobyte",
    unitDisplay: "short",
    maximumFractionDigits: 1,
  }).format(bytes === 0 ? 0 : Math.max(0.1, bytes / 1000 ** power));
}
