/**
 * `retryAfterOf` reads from response headers how long a provider asks to wait. Pure. Does not decide whether to wait.
 * Invariant: dates are compared with the response's own `date` header, so the result does not depend on the local
 * clock. `retry-after` takes precedence over rate limit headers, which count only if their quota is used up. Unusable
 * values give null; the result is never negative.
 */

type Headers = Readonly<Record<string, string | undefined>>;

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Pairs of headers for remaining quota and reset time: OpenAI's, which other providers copy, and Anthropic's. */
const LIMITS = [
  ["x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"],
  ["x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"],
  ["x-ratelimit-remaining", "x-ratelimit-reset"],
  ["anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-requests-reset"],
  ["anthropic-ratelimit-tokens-remaining", "anthropic-ratelimit-tokens-reset"],
  ["anthropic-ratelimit-input-tokens-remaining", "anthropic-ratelimit-input-tokens-reset"],
  ["anthropic-ratelimit-output-tokens-remaining", "anthropic-ratelimit-output-tokens-reset"],
] as const;

/**
 * @param headers with names in lower case
 * @returns milliseconds, or null if no header is usable
 */
export function retryAfterOf(headers: Headers | undefined): number | null {
  if (headers === undefined) return null;
  const ms = numberOf(headers["retry-after-ms"]);
  if (ms !== null) return Math.ceil(ms);
  const after = headers["retry-after"];
  const seconds = numberOf(after);
  if (seconds !== null) return Math.ceil(seconds * 1000);
  return untilDate(after, headers) ?? untilReset(headers);
}

function untilReset(headers: Headers): number | null {
  let longest: number | null = null;
  for (const [remaining, reset] of LIMITS) {
    if (numberOf(headers[remaining]) !== 0) continue;
    const ms = durationOf(headers[reset]) ?? untilDate(headers[reset], headers);
    if (ms !== null) longest = Math.max(longest ?? 0, ms);
  }
  return longest;
}

function numberOf(text: string | undefined): number | null {
  return text !== undefined && /^\s*\d{1,12}([.]\d{1,12})?\s*$/.test(text) ? Number(text) : null;
}

/** Parses `6m0s`, `1.5s`, `20ms` or seconds. A large number is a point in time and returns null. */
function durationOf(text: string | undefined): number | null {
  if (text === undefined || text.length > 40) return null;
  const seconds = numberOf(text);
  if (seconds !== null) return seconds < 1e8 ? Math.ceil(seconds * 1000) : null;
  if (!/^(\d+([.]\d+)?(ms|s|m|h|d))+$/.test(text)) return null;
  let total = 0;
  for (const [, amount, unit] of text.matchAll(/(\d+(?:[.]\d+)?)(ms|s|m|h|d)/g))
    total += Number(amount) * (UNITS[unit ?? ""] ?? 0);
  return Math.ceil(total);
}

function untilDate(text: string | undefined, headers: Headers): number | null {
  if (text === undefined || numberOf(text) !== null) return null;
  const ms = Date.parse(text) - Date.parse(headers["date"] ?? "");
  return Number.isFinite(ms) ? Math.max(0, ms) : null;
}
