/** Who is asked to leave by the sweep: everybody whose key or token is good no longer, and nobody else. */
import { expect, test } from "vitest";
import type { Connection } from "../../../src/gateway/connection/connection-registry.ts";
import { closeRevokedConnections } from "../../../src/gateway/auth/revocation.ts";

const NOW = 1_000;

function connection(key: string | null, expiresAt: number | null): Connection & { left: string[] } {
  const left: string[] = [];
  const caller = { tenant: "t", user: "u", scopes: [], from: "", key, expiresAt };
  return {
    left,
    caller,
    bufferedBytes: 0,
    onHeartbeat: () => undefined,
    close: (why) => void left.push(why),
    destroy: () => undefined,
  };
}

const isLive = (id: string): boolean => Number(id.slice(1)) % 3 !== 0;
const away = () => Promise.reject(new Error("away"));

test("of more keys than one question takes, all that were revoked", async () => {
  const all = Array.from({ length: 2_500 }, (_, n) => connection(`k${n}`, null));
  const asked: number[] = [];
  const live = async (ids: readonly string[]) => {
    asked.push(ids.length);
    return new Set(ids.filter(isLive));
  };
  await closeRevokedConnections(all, { live }, NOW);
  for (const { caller, left } of all)
    expect(left).toEqual(isLive(caller.key ?? "") ? [] : ["unauthenticated"]);
  expect(Math.max(...asked)).toBeLessThanOrEqual(1_000);
});

test("whose time is over, also when the store can't be asked", async () => {
  const [over, own, later] = [connection("k", NOW), connection(null, null), connection("k", NOW + 1)];
  await expect(closeRevokedConnections([over, own, later], { live: away }, NOW)).rejects.toThrow("away");
  expect([over.left, own.left, later.left]).toEqual([["unauthenticated"], [], []]);
});
