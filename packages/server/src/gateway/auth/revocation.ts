/**
 * Ends the connections of those who are no longer let in: their key was revoked, or their token has expired. Looks at all of
 * them every few seconds, with one question to the store. Never ends anybody because the store can't be asked.
 */
import type { Keys } from "../../store/ports/access.ts";
import type { Caller } from "../caller.ts";

const BATCH = 1_000;

/** What this needs of a socket or an event stream. */
interface RevocableConnection {
  readonly caller: Pick<Caller, "expiresAt" | "key">;
  close(reason: "unauthenticated"): void;
}

export async function closeRevokedConnections(
  connections: Iterable<RevocableConnection>,
  keys: Pick<Keys, "live">,
  now: number,
): Promise<void> {
  const used = new Set<string>();
  const expired: RevocableConnection[] = [];
  for (const connection of connections) {
    const { expiresAt, key } = connection.caller;
    if (expiresAt !== null && expiresAt <= now) expired.push(connection);
    else if (key !== null) used.add(key);
  }
  for (const connection of expired) connection.close("unauthenticated");
  const dead = await deadOf(keys, [...used]);
  if (dead.size === 0) return;
  const revoked = [...connections].filter(({ caller }) => caller.key !== null && dead.has(caller.key));
  for (const connection of revoked) connection.close("unauthenticated");
}

async function deadOf(keys: Pick<Keys, "live">, used: readonly string[]): Promise<Set<string>> {
  const dead = new Set(used);
  for (let n = 0; n < used.length; n += BATCH)
    for (const id of await keys.live(used.slice(n, n + BATCH))) dead.delete(id);
  return dead;
}
