/**
 * Which addresses of an answer may be opened or loaded without a question: none, unless a team names their hosts. Whatever
 * somebody else wrote goes through here before it is an address of the page. Pure; never loads anything.
 */
export interface LinkPolicy {
  /** Hosts whose links open without a question, such as "docs.example.com" or "*.example.com". */
  readonly hosts: readonly string[];
  /** Hosts whose pictures are loaded without a click. The gateway's own files always are. */
  readonly imageHosts: readonly string[];
  /** Where the gateway is, such as "https://chat.example.com", if not where the page is from. */
  readonly gateway?: string;
}

export const DEFAULT_LINK_POLICY: LinkPolicy = { hosts: [], imageHosts: [] };

/**
 * open: as it is. ask: only after a person has seen where it leads. dead: not at all, only its text is shown.
 * `to` is what people are shown of where it leads: a host as the network knows it, or a mail address.
 */
export type LinkDecision =
  | { readonly may: "open" | "ask"; readonly href: string; readonly to: string }
  | { readonly may: "dead" };

const BLOCKED: LinkDecision = { may: "dead" };
const MAX_ADDRESS_CHARS = 4_096;
/** Below what of the gateway files are. */
const FILE_PATH = /^\/api\/v1\/(blobs\/[^/]+|sessions\/[^/]+\/files\/[^/]+)$/;
/** Only gives `new URL` something to stand on; never part of an address that is given back. */
const PLACEHOLDER_ORIGIN = "https://gateway.invalid";
const DATA_IMAGE = /^data:image\/(?:png|jpeg|gif|webp|avif);base64,([a-z0-9+/]+)={0,2}$/i;

/** What to do with the address of a link. */
export function checkLink(address: string, policy: LinkPolicy): LinkDecision {
  const file = matchGatewayFile(address, policy);
  if (file !== null) return file;
  const url = parseAbsolute(address);
  if (url === null) return BLOCKED;
  if (url.protocol === "mailto:") return { may: "ask", href: url.href, to: decodeText(url.pathname) };
  return checkWebAddress(url, policy.hosts);
}

/** What to do with the address of a picture. */
export function checkImage(address: string, policy: LinkPolicy): LinkDecision {
  const imageData = DATA_IMAGE.exec(address)?.[1];
  // One character more than whole groups is no base64: the browser would call it an error of the page.
  if (imageData !== undefined && imageData.length % 4 !== 1) return { may: "open", href: address, to: "" };
  const file = matchGatewayFile(address, policy);
  if (file !== null) return file;
  const url = parseAbsolute(address);
  return url === null || url.protocol === "mailto:" ? BLOCKED : checkWebAddress(url, policy.imageHosts);
}

function checkWebAddress(url: URL, hosts: readonly string[]): LinkDecision {
  // A name before the host only serves to look like another host.
  url.username = "";
  url.password = "";
  if (url.hostname === "") return BLOCKED;
  const isKnown = url.port === "" && hosts.some((host) => matchesHost(url.hostname, host.toLowerCase()));
  return { may: isKnown ? "open" : "ask", href: url.href, to: url.host };
}

function matchesHost(host: string, allowed: string): boolean {
  return allowed.startsWith("*.") ? host.endsWith(allowed.slice(1)) : host === allowed;
}

/** Only what says by itself where it leads: a relative address would be one of the page that shows the answer. */
function parseAbsolute(address: string): URL | null {
  if (address.length > MAX_ADDRESS_CHARS || !/^(https?:\/\/|mailto:)/i.test(address)) return null;
  return URL.parse(address);
}

/** A file of the gateway, whose address may be given without the host. */
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
