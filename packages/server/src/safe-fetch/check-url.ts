/**
 * `checkUrl` decides by the URL alone whether it may be fetched. Pure.
 * Invariant: only http and https without credentials pass, on allowed ports, and no internal host name. A literal IP
 * address is checked only here, because it is not resolved; a host name is checked again by `guardedLookup`. Only an
 * exact `host:port` in `policy.allow` skips the checks of port and host. Every redirect must pass it too.
 */
import { isIP } from "node:net";
import { isPublicAddress } from "./guarded-lookup.ts";
import { FetchError } from "./errors.ts";
import type { ResolvedFetchPolicy } from "./policy.ts";

const MAX_URL = 8_192;

/** Host name suffixes that are internal in every network. */
const INSIDE = [
  "localhost",
  "localdomain",
  "local",
  "internal",
  "intranet",
  "lan",
  "home",
  "corp",
  "home.arpa",
];

export interface CheckedUrl {
  readonly url: URL;
  /** True if the policy allows this host and port by name. Its addresses are then not checked. */
  readonly isAllowed: boolean;
}

/** @param base the URL that redirected here */
export function checkUrl(text: string, policy: ResolvedFetchPolicy, base?: URL): CheckedUrl {
  const url = parse(text, base);
  if (url.protocol !== "http:" && url.protocol !== "https:") throw new FetchError("BAD_URL");
  if (url.username !== "" || url.password !== "" || url.hostname === "") throw new FetchError("BAD_URL");
  const port = url.port === "" ? (url.protocol === "https:" ? 443 : 80) : Number(url.port);
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const isAllowed = policy.allow.includes(`${url.hostname}:${port}`);
  if (!isAllowed && !(policy.ports.includes(port) && mayBeOutside(host))) throw new FetchError("BLOCKED");
  return { url, isAllowed };
}

function parse(text: string, base: URL | undefined): URL {
  const url = text.length > MAX_URL ? null : URL.parse(text, base?.href);
  if (url === null) throw new FetchError("BAD_URL");
  return url;
}

function mayBeOutside(host: string): boolean {
  if (isIP(host) !== 0) return isPublicAddress(host);
  const name = host.replace(/\.+$/, "").toLowerCase();
  // A name without a dot is resolved through the DNS search list of this machine.
  return name.includes(".") && !INSIDE.some((inside) => name === inside || name.endsWith(`.${inside}`));
}
