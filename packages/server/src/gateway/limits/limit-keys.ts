/**
 * `addressKey` and `callerKeys` name the counters of a client in Redis and in memory. Pure.
 * Invariant: ids and addresses appear only as hashes, so a counter has a bounded name without personal data. All
 * counters of a tenant have the same hash tag, so one script can change them together in a cluster. IPv6 addresses
 * count by their network of 64 bits, because one client has all addresses in it.
 */
import { createHash } from "node:crypto";
import ipaddr from "ipaddr.js";
import type { LimitName, LimitScope } from "../../store/rules/limits.ts";
import type { Caller } from "../caller.ts";

const HASH_LENGTH = 22;
const IPV6_GROUPS_OF_NETWORK = 4;

/** The group of addresses that count as one client. Empty if the host does not know the address. */
export function groupAddress(address: string): string {
  const bare = address.replace(/%.*$/, "");
  if (!ipaddr.isValid(bare)) return "";
  const parsed = ipaddr.process(bare);
  if (parsed.kind() === "ipv4") return parsed.toString();
  return `${(parsed as ipaddr.IPv6).parts
    .slice(0, IPV6_GROUPS_OF_NETWORK)
    .map((part) => part.toString(16))
    .join(":")}::/64`;
}

export function addressKey(group: string): string {
  return `limits:{${hash(["address", group])}}`;
}

/** The scopes after sign-in. A token that no key has issued has no key. */
type CallerScope = "user" | "key" | "tenant";

export interface CallerKeys {
  /** The prefix of the tenant's counters. */
  readonly tag: string;
  readonly ids: readonly { readonly scope: CallerScope; readonly id: string }[];
}

export function callerKeys({ tenant, user, key }: Pick<Caller, "tenant" | "user" | "key">): CallerKeys {
  return {
    tag: `limits:{${hash(["tenant", tenant])}}`,
    ids: [
      { scope: "user", id: hash(["user", user]) },
      ...(key === null ? [] : [{ scope: "key", id: hash(["key", key]) } as const]),
      { scope: "tenant", id: "all" },
    ],
  };
}

export function counterKey(tag: string, limit: LimitName, scope: LimitScope, id: string): string {
  return `${tag}:${limit}:${scope}:${id}`;
}

/** Returns the hash tag of a counter. A script may only use keys with the same one. */
export function hashTag(key: string): string {
  return key.slice(0, key.indexOf("}"));
}

function hash(parts: readonly string[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("base64url").slice(0, HASH_LENGTH);
}
