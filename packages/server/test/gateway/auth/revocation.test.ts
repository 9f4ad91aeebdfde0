/** Tests `closeRevokedConnections`: it closes connections with a revoked key or an expired token, and no others. */
import { expect, test } from "vitest";
import type { Connection } from "../../../src/gateway/connection/connection-registry.ts";
import { closeRevokedConnections } from "../../../src/gateway/auth/revocation.ts";

const NOW = 1_000;

function connection(key: string | null, expiresAt: number | null): Connection & { left: string[] } {
  const left: string[] = [];
  const caller = { tenant: "t", user: "u", scopes: [], from: "", clientId: "c", key, expiresAt };
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

test("closes all connections with revoked keys, also if there are more keys than one query takes", async () => {
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

test("closes connections with an expired token although the store is unreachable", async () => {
  const [over, own, later] = [connection("k", NOW), connection(null, null), connection("k", NOW + 1)];
  await expect(closeRevokedConnections([over, own, later], { live: away }, NOW)).rejects.toThrow("away");
  expect([over.left, own.left, later.left]).toEqual([["unauthenticated"], [], []]);
});
