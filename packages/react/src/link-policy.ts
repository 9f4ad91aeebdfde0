/**
 * Decides which addresses of an answer open or load without a confirmation: none, except on hosts that the app allows
 * (`LinkPolicy`).
 * Invariant: every address from an answer, a tool or a user passes `checkLink` or `checkImage` before it becomes part
 * of the page. Pure; loads nothing.
 */
export interface LinkPolicy {
  /** Hosts whose links open without a confirmation, such as "docs.example.com" or "*.example.com". */
  readonly hosts: readonly string[];
  /** Hosts whose images load without a click. Files of the gateway always load. */
  readonly imageHosts: readonly string[];
}

/** The policy of the app, with the address of the session's gateway. */
export interface LinkRules extends LinkPolicy {
  /** Can have a path. "" or without a host: on the origin of the page. @default "" */
  readonly gatewayUrl?: string;
}

export const DEFAULT_LINK_POLICY: LinkPolicy = { hosts: [], imageHosts: [] };

/**
 * open: without a confirmation. ask: only after the user has seen the target. dead: never, only the text is shown.
 * `to` is the shown target: a host in its network form, or a mail address.
 */
export type LinkDecision =
  | { readonly may: "open" | "ask"; readonly href: string; readonly to: string }
  | { readonly may: "dead" };

const BLOCKED: LinkDecision = { may: "dead" };
const MAX_ADDRESS_CHARS = 4_096;
/** The paths of files on the gateway, after the path of its address. */
const FILE_PATH = /^\/api\/v1\/(blobs\/[^/]+|sessions\/[^/]+\/files\/[^/]+)$/;
/** Stands for the origin of the page. Never part of a returned address. */
const PLACEHOLDER_ORIGIN = "https://gateway.invalid";
const DATA_IMAGE = /^data:image\/(?:png|jpeg|gif|webp|avif);base64,([a-z0-9+/]+)={0,2}$/i;

/** Decides about the address of a link. */
export function checkLink(address: string, policy: LinkRules): LinkDecision {
  const file = matchGatewayFile(address, policy);
  if (file !== null) return file;
  const url = parseAbsolute(address);
  if (url === null) return BLOCKED;
  if (url.protocol === "mailto:") return { may: "ask", href: url.href, to: decodeText(url.pathname) };
  return checkWebAddress(url, policy.hosts);
}

/** Decides about the address of an image. */
export function checkImage(address: string, policy: LinkRules): LinkDecision {
  const imageData = DATA_IMAGE.exec(address)?.[1];
  // A length of 4n + 1 is not valid base64, and the browser would report an error of the page.
  if (imageData !== undefined && imageData.length % 4 !== 1) return { may: "open", href: address, to: "" };
  const file = matchGatewayFile(address, policy);
  if (file !== null) return file;
  const url = parseAbsolute(address);
  return url === null || url.protocol === "mailto:" ? BLOCKED : checkWebAddress(url, policy.imageHosts);
}

function checkWebAddress(url: URL, hosts: readonly string[]): LinkDecision {
  // A user name before the host only serves to imitate another host.
  url.username = "";
  url.password = "";
  if (url.hostname === "") return BLOCKED;
  const isKnown = url.port === "" && hosts.some((host) => matchesHost(url.hostname, host.toLowerCase()));
  return { may: isKnown ? "open" : "ask", href: url.href, to: url.host };
}

function matchesHost(host: string, allowed: string): boolean {
  return allowed.startsWith("*.") ? host.endsWith(allowed.slice(1)) : host === allowed;
}

/** Accepts only absolute addresses. A relative address would point to the page that shows the answer. */
function parseAbsolute(address: string): URL | null {
  if (address.length > MAX_ADDRESS_CHARS || !/^(https?:\/\/|mailto:)/i.test(address)) return null;
  return URL.parse(address);
}

/** Returns the decision for a file of the gateway, whose address may lack the host or the path of the gateway. */
function matchGatewayFile(address: string, { gatewayUrl = "" }: LinkRules): LinkDecision | null {
  const gateway = URL.parse(`${gatewayUrl.replace(/\/+$/, "")}/`, PLACEHOLDER_ORIGIN);
  if (gateway === null || address.length > MAX_ADDRESS_CHARS) return null;
  const isRelative = /^\/(?!\/)/.test(address);
  const url = isRelative ? URL.parse(address, gateway) : parseAbsolute(address);
  if (url === null) return null;
  const isOnPage = gateway.origin === PLACEHOLDER_ORIGIN;
  const isOnPageOrigin = isOnPage && url.origin === globalThis.location?.origin;
  if (url.origin !== gateway.origin && !isOnPageOrigin) return null;
  const prefix = gateway.pathname.slice(0, -1);
  const paths = [
    ...(url.pathname.startsWith(`${prefix}/`) ? [url.pathname.slice(prefix.length)] : []),
    // A gateway that doesn't know its own address returns paths without the prefix of its proxy.
    ...(isRelative ? [url.pathname] : []),
  ];
  const path = paths.find((candidate) => FILE_PATH.test(candidate));
  if (path === undefined) return null;
  const file = `${prefix}${path}${url.search}`;
  return { may: "open", href: isOnPage ? file : `${url.origin}${file}`, to: url.host };
}

function decodeText(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
