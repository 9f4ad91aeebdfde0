/**
 * Looks a name up for a connection, and refuses it when any of its addresses is inside. The connection is made to the
 * very addresses that were checked: nobody asks again in between. Never connects.
 */
import type { LookupAddress } from "node:dns";
import { lookup as systemLookup } from "node:dns/promises";
import { isIP, type LookupFunction } from "node:net";
import { isPublicAddress } from "./public-address.ts";
import { FetchError } from "./errors.ts";
import type { Lookup } from "./policy.ts";

const ask: Lookup = async (host) => (await systemLookup(host, { all: true })).map(({ address }) => address);

/** @param isAllowed whether the host may be inside */
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
