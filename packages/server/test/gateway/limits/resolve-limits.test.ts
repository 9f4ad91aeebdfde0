/** Which limits apply: code, stored values and defaults, and how clients are grouped by address. */
import { readFileSync } from "node:fs";
import { readTables } from "@turnstream/conformance/support/markdown.ts";
import { describe, expect, test } from "vitest";
import { groupAddress } from "../../../src/gateway/limits/limit-keys.ts";
import {
  type CallerLimitOptions,
  callerLimits,
  lowerLimit,
  resolveLimits,
} from "../../../src/gateway/limits/resolve-limits.ts";
import type { LimitSource } from "../../../src/store/rules/limits.ts";
import type { StoredLimit } from "../../../src/store/caller-limits.ts";
import {
  findExceededTurnLimit,
  fromWireName,
  LIMIT_NAMES,
  LIMITS,
  toWireName,
} from "../../../src/store/rules/limits.ts";
import { parseOptions } from "../../../src/util/parse-options.ts";

const ANN = "ann";

function stored(of: string, source: LimitSource, value: number | null): StoredLimit {
  const target =
    of === "tenant"
      ? ({ scope: "tenant" } as const)
      : ({ scope: "user", user: of === "each" ? null : of } as const);
  return { target, source, name: "sockets", value };
}

const userSockets = (options: CallerLimitOptions, rows: readonly StoredLimit[] = []) =>
  resolveLimits(options, rows, ANN).user.sockets;
const tenantSockets = (options: CallerLimitOptions, rows: readonly StoredLimit[] = []) =>
  resolveLimits(options, rows, ANN).tenant.sockets;

describe("resolveLimits", () => {
  test("the most specific value of a user applies, then code, then the default", () => {
    expect(userSockets({})).toBe(LIMITS.sockets.defaults.user);
    const code = { user: { sockets: 7 } };
    expect(userSockets(code)).toBe(7);
    expect(userSockets(code, [stored("each", "admin", 5)])).toBe(5);
    expect(userSockets(code, [stored("each", "admin", 5), stored("ann", "admin", 30)])).toBe(30);
    expect(userSockets(code, [stored("bob", "admin", 1)])).toBe(7);
  });

  test("null removes a limit", () => {
    expect(userSockets({ user: { sockets: null } })).toBe(null);
    expect(userSockets({}, [stored("ann", "operator", null)])).toBe(null);
  });

  test("a tenant's key lowers the tenant's limits and never raises them above the operator's", () => {
    expect(tenantSockets({ tenant: { sockets: 10 } }, [stored("tenant", "admin", 3)])).toBe(3);
    expect(tenantSockets({ tenant: { sockets: 10 } }, [stored("tenant", "admin", 99)])).toBe(10);
    expect(tenantSockets({ tenant: { sockets: 10 } }, [stored("tenant", "admin", null)])).toBe(10);
    const operator = stored("tenant", "operator", 50);
    expect(tenantSockets({ tenant: { sockets: 10 } }, [operator, stored("tenant", "admin", 99)])).toBe(50);
    expect(tenantSockets({ tenant: { sockets: 10 } }, [operator, stored("tenant", "admin", 20)])).toBe(20);
  });

  test("the lower one of operator and admin applies to the same user", () => {
    expect(userSockets({}, [stored("ann", "operator", 5), stored("ann", "admin", 9)])).toBe(5);
    expect(userSockets({}, [stored("ann", "operator", 5), stored("ann", "admin", 2)])).toBe(2);
    expect(lowerLimit(undefined, null)).toBe(null);
    expect(lowerLimit(null, 3)).toBe(3);
    expect(lowerLimit(undefined, undefined)).toBe(undefined);
  });
});

const check = (options: object) => () => parseOptions(callerLimits, options, "callerLimits");

test("the option is checked at the start, with its path", () => {
  expect(check({ user: { sockets: -1 } })).toThrow(
    "`sockets` of `user` of callerLimits must be a whole number from 0 to 10^15, or null for no limit, got -1",
  );
  expect(check({ address: { sockets: 1 } })).toThrow(
    "`sockets` is not an option of `address` of callerLimits",
  );
  expect(check({ user: { costPerDay: "1" } })).toThrow(
    "`costPerDay` of `user` of callerLimits must be a number",
  );
  expect(check({ tenants: { acme: {} } })).toThrow("`tenants` is not an option of callerLimits");
  expect(check({ user: { costPerDay: 0.5, sockets: null } })).not.toThrow();
});

test("every limit has a name for clients, a unit and a description", () => {
  for (const name of LIMIT_NAMES) {
    expect(fromWireName(toWireName(name))).toBe(name);
    expect(LIMITS[name].description).toMatch(/\.$/);
  }
  expect(toWireName("requestsPerMinute")).toBe("requests_per_minute");
  expect(fromWireName("requestsPerMinute")).toBe(null);
});

test("tokens of a day are free again at midnight UTC, those of a month on the first", () => {
  const counts = {
    queuedMessages: 0,
    runningTurns: 0,
    tokensPerDay: 5,
    tokensPerMonth: 5,
    costPerDay: 0,
    costPerMonth: 0,
  };
  const none = {
    queuedMessages: null,
    runningTurns: null,
    tokensPerDay: null,
    tokensPerMonth: null,
    costPerDay: null,
    costPerMonth: null,
  };
  const now = Date.UTC(2026, 11, 31, 23, 59, 50);
  expect(findExceededTurnLimit("user", counts, { ...none, tokensPerDay: 5 }, now)).toEqual({
    limit: "tokensPerDay",
    scope: "user",
    retryAfterMs: 10_000,
  });
  const middle = Date.UTC(2026, 1, 27);
  expect(findExceededTurnLimit("tenant", counts, { ...none, tokensPerMonth: 1 }, middle)).toMatchObject({
    retryAfterMs: 2 * 24 * 3_600_000,
  });
  expect(findExceededTurnLimit("user", counts, { ...none, tokensPerDay: 6 }, now)).toBe(null);
});

test("an address counts alone, IPv6 by its network of 64 bits, and an unknown one together with others", () => {
  expect(groupAddress("192.0.2.7")).toBe("192.0.2.7");
  expect(groupAddress("::ffff:192.0.2.7")).toBe("192.0.2.7");
  expect(groupAddress("2001:db8:1:2:3:4:5:6")).toBe("2001:db8:1:2::/64");
  expect(groupAddress("2001:db8:1:2::9")).toBe(groupAddress("2001:db8:1:2:ffff::"));
  expect(groupAddress("2001:db8:1:3::9")).not.toBe(groupAddress("2001:db8:1:2::9"));
  expect(groupAddress("fe80::1%eth0")).toBe("fe80:0:0:0::/64");
  for (const unknown of ["", "unix", "localhost:80"]) expect(groupAddress(unknown)).toBe("");
});

test("docs/limit-a-user.md lists every limit with its unit, defaults and description", () => {
  const page = readFileSync(new URL("../../../../../docs/limit-a-user.md", import.meta.url), "utf8");
  const written = readTables(page, "Limit").flat();
  const real = LIMIT_NAMES.map((name) => {
    const defaults = Object.entries(LIMITS[name].defaults).map(
      ([scope, value]) => `${scope} ${value ?? "none"}`,
    );
    return [`\`${toWireName(name)}\``, defaults.join(", "), LIMITS[name].unit, LIMITS[name].description];
  });
  expect(written).toEqual(real);
});
