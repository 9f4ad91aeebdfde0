/**
 * Which pages may read responses: those of the same origin, and those that the options name. Pure. It authorizes no caller:
 * a page has to send a token as well.
 */

const METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE";
const HEADERS =
  "authorization, content-type, idempotency-key, if-none-match, last-event-id, x-api-key, x-user-id";
const EXPOSED = "etag, idempotency-replayed, retry-after";

/** For every response. */
export function corsHeaders(origins: readonly string[], origin: string | undefined): Record<string, string> {
  if (origins.length === 0) return {};
  if (origin === undefined || !origins.includes(origin)) return { vary: "origin" };
  return {
    vary: "origin",
    "access-control-allow-origin": origin,
    "access-control-expose-headers": EXPOSED,
  };
}

/** Also for the response to a preflight request. */
export const PREFLIGHT_HEADERS: Readonly<Record<string, string>> = {
  "access-control-allow-methods": METHODS,
  "access-control-allow-headers": HEADERS,
  "access-control-max-age": "600",
};

/**
 * Whether a page of this origin may open a socket. Not sent by programs, which let themselves in by headers that no page
 * can set.
 * @param host what the client calls this server
 * @param publicUrl what browsers call it, where a proxy stands before it
 */
export function isAllowedOrigin(
  origin: string,
  {
    origins,
    host,
    publicUrl,
  }: {
    readonly origins: readonly string[];
    readonly host: string | undefined;
    readonly publicUrl: string | undefined;
  },
): boolean {
  if (origins.includes(origin)) return true;
  const url = URL.parse(origin);
  // A page's origin is nothing but scheme and host: what is more was made up.
  if (url === null || url.origin !== origin || !/^https?:$/.test(url.protocol)) return false;
  if (publicUrl !== undefined) return URL.parse(publicUrl)?.origin === origin;
  return host !== undefined && url.host === host.toLowerCase();
}
