/** Tests which settings `turnstream()` accepts, and that each error names the variable to change. */
import { describe, expect, test } from "vitest";
import { hasServers, readSettings, SettingsError } from "../../src/turnstream/settings.ts";

const SERVERS = {
  DATABASE_URL: "postgres://app:hidden-password@db.example/chat",
  REDIS_URL: "redis://:hidden-password@redis.example:6379",
  TURNSTREAM_SECRET: "s".repeat(32),
};

describe("settings", () => {
  test("without addresses no servers are used", () => {
    expect(hasServers(readSettings({}, {}))).toBe(false);
    expect(hasServers(readSettings({ databaseUrl: "" }, { DATABASE_URL: "", REDIS_URL: "" }))).toBe(false);
  });

  test("with addresses and a secret, servers are used", () => {
    const settings = readSettings({}, SERVERS);
    expect(hasServers(settings)).toBe(true);
    expect(settings).toEqual({
      databaseUrl: { value: SERVERS.DATABASE_URL, source: "environment" },
      redisUrl: { value: SERVERS.REDIS_URL, source: "environment" },
      secret: { value: SERVERS.TURNSTREAM_SECRET, source: "environment" },
      auditKey: { value: null, source: "not set" },
      schema: { value: "turnstream", source: "default" },
    });
  });

  test("options override the environment", () => {
    const options = { databaseUrl: "postgres://x@y/z", schema: "chat" };
    expect(readSettings(options, { ...SERVERS, TURNSTREAM_SCHEMA: "other" })).toMatchObject({
      databaseUrl: { value: "postgres://x@y/z", source: "option" },
      schema: { value: "chat", source: "option" },
    });
  });

  test.each([
    ["PostgreSQL is missing", { DATABASE_URL: undefined }, "DATABASE_URL", "Set DATABASE_URL"],
    ["Redis is missing", { REDIS_URL: undefined }, "REDIS_URL", "Set REDIS_URL"],
    ["another kind of database", { DATABASE_URL: "mysql://x/y" }, "DATABASE_URL", "Set DATABASE_URL"],
    ["another kind of cache", { REDIS_URL: "memcached://x" }, "REDIS_URL", "Set REDIS_URL"],
    ["the secret is missing", { TURNSTREAM_SECRET: undefined }, "SECRET", "openssl rand -hex 32"],
    ["a short secret", { TURNSTREAM_SECRET: "short" }, "SECRET", "has 5 bytes"],
    ["a short audit key", { TURNSTREAM_AUDIT_KEY: "hidden-password" }, "AUDIT_KEY", "is too short"],
  ])("%s", (_, change, code, text) => {
    const read = () => readSettings({}, { ...SERVERS, ...change });
    expect(read).toThrow(SettingsError);
    expect(read).toThrow(expect.objectContaining({ code, message: expect.stringContaining(text) }));
    expect(read).not.toThrow("hidden-password");
  });
});
