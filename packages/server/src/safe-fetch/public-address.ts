/**
 * Which addresses are on the public internet. What is not known to be is not. Pure; never looks a name up.
 */
import ipaddr from "ipaddr.js";

/** Public by their range, and yet inside: Azure answers its machines there. */
const INSIDE: readonly string[] = ["168.63.129.16"];

/** The only part of IPv6 that is handed out to the public internet... */
const GLOBAL = ipaddr.parseCIDR("2000::/3");

/** ... and what in it stands for something else: tunnels that carry IPv4, tests, documentation. */
const SPECIAL = ["2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20"].map((range) =>
  ipaddr.parseCIDR(range),
);

/** @param address an address as the system writes it; anything else is not public */
export function isPublicAddress(address: string): boolean {
  // Its parser takes octal, hexadecimal and short forms, of which the system may make something else.
  if (!ipaddr.IPv4.isValidFourPartDecimal(address) && !ipaddr.IPv6.isValid(address)) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== "unicast") return false;
  if (parsed.kind() === "ipv4") return !INSIDE.includes(parsed.toString());
  return parsed.match(GLOBAL) && !SPECIAL.some((range) => parsed.match(range));
}
