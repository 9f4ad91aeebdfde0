/**
 * `guardedLookup` resolves a host name for a connection and refuses it if any of its addresses is not public.
 * `isPublicAddress` decides that.
 * Invariant: the connection uses exactly the addresses that were checked, because a second lookup could return others.
 * Text that is not in the notation of the operating system is not public. IPv6 is refused unless it is in a range that
 * is known to be public. An error never contains the addresses.
 */
import type { LookupAddress } from "node:dns";
import { lookup as systemLookup } from "node:dns/promises";
import { isIP, type LookupFunction } from "node:net";
import ipaddr from "ipaddr.js";
import { FetchError } from "./errors.ts";
import type { Lookup } from "./policy.ts";

const ask: Lookup = async (host) => (await systemLookup(host, { all: true })).map(({ address }) => address);

/** @param isAllowed true if the host may be internal */
export function guardedLookup(lookup: Lookup = ask, isAllowed = false): LookupFunction {
  return (host, options, done) => {
    void (async () => {
      const found = await checked(lookup, host, isAllowed);
      if (found instanceof Error) done(found, []);
      else if (options.all === true) done(null, found);
      else done(null, found[0].address, found[0].family);
    })();
  };
}

type Found = [LookupAddress, ...LookupAddress[]];

async function checked(lookup: Lookup, host: string, isAllowed: boolean): Promise<Found | Error> {
  try {
    const addresses = await lookup(host);
    if (!isAllowed && !addresses.every(isPublicAddress)) return new FetchError("BLOCKED");
    const [first, ...rest] = addresses.map((address) => ({ address, family: isIP(address) }));
    return first === undefined ? new FetchError("UNREACHABLE") : [first, ...rest];
  } catch (error) {
    return new FetchError("UNREACHABLE", error);
  }
}

/** In a public range, but internal: Azure serves its virtual machines from this address. */
const INSIDE: readonly string[] = ["168.63.129.16"];

/** The only part of IPv6 that is assigned to the public internet. */
const GLOBAL = ipaddr.parseCIDR("2000::/3");

/** Ranges inside `GLOBAL` that are not public: tunnels that carry IPv4, tests, documentation. */
const SPECIAL = ["2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20"].map((range) =>
  ipaddr.parseCIDR(range),
);

/** @param address in the notation of the operating system; any other text is not public */
export function isPublicAddress(address: string): boolean {
  // `ipaddr` also accepts octal, hexadecimal and short forms, which the operating system may interpret differently.
  if (!ipaddr.IPv4.isValidFourPartDecimal(address) && !ipaddr.IPv6.isValid(address)) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== "unicast") return false;
  if (parsed.kind() === "ipv4") return !INSIDE.includes(parsed.toString());
  return parsed.match(GLOBAL) && !SPECIAL.some((range) => parsed.match(range));
}
