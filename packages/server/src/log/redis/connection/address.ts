/**
 * `formatAddress`, `addressOf`, `parseRedirection` and `urlAt` convert addresses of Redis servers, and `validateUrls`
 * checks configured URLs. Pure.
 *
 * Invariant: every address has the form `host:port`, with brackets around an IPv6 host, as in a URL. Addresses identify
 * servers in maps, so another form would mean another server. An address never contains credentials.
 */

const DEFAULT_PORT = 6379;

/** Accepts a host name, an IPv4 address, or an IPv6 address with or without brackets. */
export function formatAddress(host: string, port: number): string {
  return host.includes(":") && !host.startsWith("[") ? `[${host}]:${port}` : `${host}:${port}`;
}

export function isRedisUrl(url: unknown): url is string {
  return typeof url === "string" && /^rediss?:\/\//.test(url) && URL.canParse(url);
}

/** Accepts `unknown` because a URL from an environment variable may be missing. @throws TypeError */
export function validateUrls(url: unknown): void {
  const urls: readonly unknown[] = Array.isArray(url) ? url : [url];
  if (urls.length === 0 || !urls.every(isRedisUrl))
    throw new TypeError("`url` must be the address of Redis, such as redis://host:6379, or a list of them.");
}

export function addressOf(url: string): string {
  const { hostname, port } = new URL(url);
  return formatAddress(hostname, port === "" ? DEFAULT_PORT : Number(port));
}

export function hostOf(address: string): string {
  return address.slice(0, address.lastIndexOf(":"));
}

/**
 * Parses the address of a MOVED or ASK reply, which has no brackets. The host is empty or `?` if the server doesn't
 * know it.
 */
export function parseRedirection(text: string, unknownHost: string): string {
  const colon = text.lastIndexOf(":");
  const host = text.slice(0, colon);
  return formatAddress(host === "" || host === "?" ? unknownHost : host, Number(text.slice(colon + 1)));
}

/** Returns `like` with another server's address. */
export function urlAt(address: string, like: string): string {
  const url = new URL(like);
  url.host = address;
  return url.href;
}
