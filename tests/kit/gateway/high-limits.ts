/**
 * `HIGH_LIMITS` allows one caller to use a whole server, for benches and chaos scenarios with one user. Everything is
 * still counted, so that figures include its cost.
 */
import type { ServerOptions } from "@turnstream/server";
import { limitNames, type LimitScope } from "@turnstream/server/internal";

const HIGH = 1_000_000_000;

function high(scope: LimitScope): Record<string, number> {
  return Object.fromEntries(limitNames(scope).map((name) => [name, HIGH]));
}

export const HIGH_LIMITS: NonNullable<ServerOptions["callerLimits"]> = {
  address: high("address"),
  key: high("key"),
  user: high("user"),
  tenant: high("tenant"),
  gateway: high("gateway"),
};
