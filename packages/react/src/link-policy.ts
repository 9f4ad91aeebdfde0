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
  /** The address of the gateway, such as "https://chat.example.com", if it differs from the origin of the page. */
  readonly gateway?: string;
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
/** The paths of files on the gateway. */
const FILE_PATH = /^\/api\/v1\/(blobs\/[^/]+|sessions\/[^/]+\/files\/[^/]+)$/;
/** A base for `new URL`. Never part of a returned address. */
const PLACEHOLDER_ORIGIN = "https://gateway.invalid";
const DATA_IMAGE = /^data:image\/(?:png|jpeg|gif|webp|avif);base64,([a-z0-9+/]+)={0,2}$/i;

/** Decides about the address of a link. */
export function checkLink(address: string, policy: LinkPolicy): LinkDecision {
  const file = matchGatewayFile(address, policy);
  if (file !== null) return file;
  const url = parseAbsolute(address);
  if (url === null) return BLOCKED;
  if (url.protocol === "mailto:") return { may: "ask", href: url.href, to: decodeText(url.pathname) };
  return checkWebAddress(url, policy.hosts);
}

/** Decides about the address of an image. */
export function checkImage(address: string, policy: LinkPolicy): LinkDecision {
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

/** Returns the decision for a file of the gateway, whose address may lack the host. */
function matchGatewayFile(address: string, { gateway = "" }: LinkPolicy): LinkDecision | null {
  if (address.length > MAX_ADDRESS_CHARS) return null;
  const base = gateway === "" ? PLACEHOLDER_ORIGIN : gateway;
  const isRelative = /^\/(?!\/)/.test(address);
  const url = isRelative ? URL.parse(address, base) : parseAbsolute(address);
  const origin = URL.parse(base)?.origin;
  if (url === null || url.origin !== origin || !FILE_PATH.test(url.pathname)) return null;
  const path = `${url.pathname}${url.search}`;
  return { may: "open", href: gateway === "" ? path : `${url.origin}${path}`, to: url.host };
}

function decodeText(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
