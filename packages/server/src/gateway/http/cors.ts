/**
 * `corsHeaders` and `isAllowedOrigin` decide which pages may read responses and open sockets: those of the same
 * origin, and those in the options. Pure.
 * Invariant: origins are compared exactly; there is no wildcard, and cookies are never allowed. With configured
 * origins, every response varies by origin. `HEADERS` lists each request header that a page may send: not those of API
 * keys, which a page must never have. These functions do not authorize callers: a page must also send a token.
 */

const METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE";
const HEADERS = "authorization, content-type, idempotency-key, if-none-match, last-event-id";
const EXPOSED = "etag, idempotency-replayed, retry-after, x-request-id";

/** Returns the headers for every response. */
export function corsHeaders(origins: readonly string[], origin: string | undefined): Record<string, string> {
  if (origins.length === 0) return {};
  if (origin === undefined || !origins.includes(origin)) return { vary: "origin" };
  return {
    vary: "origin",
    "access-control-allow-origin": origin,
    "access-control-expose-headers": EXPOSED,
  };
}

/** Additional headers for the response to a preflight request. */
export const PREFLIGHT_HEADERS: Readonly<Record<string, string>> = {
  "access-control-allow-methods": METHODS,
  "access-control-allow-headers": HEADERS,
  "access-control-max-age": "600",
};

interface OriginRules {
  readonly origins: readonly string[];
  /** The server's host name in the request. */
  readonly host: string | undefined;
  /** The server's public URL, if it is behind a proxy. */
  readonly publicUrl: string | undefined;
}

/**
 * Returns true if a page of this origin may open a socket. Programs send no origin; they authenticate with headers that
 * pages can't set.
 */
export function isAllowedOrigin(origin: string, { origins, host, publicUrl }: OriginRules): boolean {
  if (origins.includes(origin)) return true;
  const url = URL.parse(origin);
  // A page's origin consists of scheme and host only. Anything else is forged.
  if (url === null || url.origin !== origin || !/^https?:$/.test(url.protocol)) return false;
  if (publicUrl !== undefined) return URL.parse(publicUrl)?.origin === origin;
  return host !== undefined && url.host === host.toLowerCase();
}
