/** Where a server is, as `host:port`, with brackets around an IPv6 host: the host of a URL. Pure. */

const DEFAULT_PORT = 6379;

/** A name or an IPv4 or IPv6 address, with or without brackets. */
export function formatAddress(host: string, port: number): string {
  return host.includes(":") && !host.startsWith("[") ? `[${host}]:${port}` : `${host}:${port}`;
}

export function isRedisUrl(url: unknown): url is string {
  return typeof url === "string" && /^rediss?:\/\//.test(url) && URL.canParse(url);
}

/** Throws a TypeError. What comes from an environment may be missing, whatever its type says. */
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

/** As Redis names it when it sends us away, without brackets; no host, or `?`, when it doesn't know it itself. */
export function parseRedirection(text: string, unknownHost: string): string {
  const colon = text.lastIndexOf(":");
  const host = text.slice(0, colon);
  return formatAddress(host === "" || host === "?" ? unknownHost : host, Number(text.slice(colon + 1)));
}

/** The same kind of connection to another server. */
export function urlAt(address: string, like: string): string {
  const url = new URL(like);
  url.host = address;
  return url.href;
}
