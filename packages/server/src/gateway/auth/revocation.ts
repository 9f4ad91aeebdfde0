/**
 * `closeRevokedConnections` closes connections whose key was revoked or whose token has expired.
 * Invariant: a store error never closes a connection with a valid token, and never prevents closing expired ones:
 * those are closed before the store is queried. The keys of all connections are checked together, in batches.
 */
import type { Keys } from "../../store/keys.ts";
import type { Caller } from "../caller.ts";

const BATCH = 1_000;

/** The part of a socket or event stream that this module uses. */
interface RevocableConnection {
  readonly caller: Pick<Caller, "expiresAt" | "key">;
  close(reason: "unauthenticated"): void;
}

export async function closeRevokedConnections(
  connections: Iterable<RevocableConnection>,
  keys: Pick<Keys, "live">,
  now: number,
): Promise<void> {
  const keyIds = new Set<string>();
  const expired: RevocableConnection[] = [];
  for (const connection of connections) {
    const { expiresAt, key } = connection.caller;
    if (expiresAt !== null && expiresAt <= now) expired.push(connection);
    else if (key !== null) keyIds.add(key);
  }
  for (const connection of expired) connection.close("unauthenticated");
  const revokedKeys = await findRevoked(keys, [...keyIds]);
  if (revokedKeys.size === 0) return;
  const revoked = [...connections].filter(({ caller }) => caller.key !== null && revokedKeys.has(caller.key));
  for (const connection of revoked) connection.close("unauthenticated");
}

async function findRevoked(keys: Pick<Keys, "live">, keyIds: readonly string[]): Promise<Set<string>> {
  const revokedKeys = new Set(keyIds);
  for (let n = 0; n < keyIds.length; n += BATCH)
    for (const id of await keys.live(keyIds.slice(n, n + BATCH))) revokedKeys.delete(id);
  return revokedKeys;
}
