/** Tests which settings `turnstream()` accepts, and that each error names the variable to change. */
import { describe, expect, test } from "vitest";
import { readSettings, SettingsError } from "../../src/turnstream/settings.ts";

const SERVERS = {
  DATABASE_URL: "postgres://app:hidden-password@db.example/chat",
  REDIS_URL: "redis://:hidden-password@redis.example:6379",
  TURNSTREAM_SECRET: "s".repeat(32),
};

describe("settings", () => {
  test("without addresses everything is in memory", () => {
    expect(readSettings({}, {})).toEqual({ servers: null, secret: null });
    expect(readSettings({}, { DATABASE_URL: "", REDIS_URL: "" })).toEqual({ servers: null, secret: null });
  });

  test("with addresses and a secret, servers are used", () => {
    expect(readSettings({}, SERVERS)).toEqual({
      servers: { databaseUrl: SERVERS.DATABASE_URL, redisUrl: SERVERS.REDIS_URL, schema: undefined },
      secret: SERVERS.TURNSTREAM_SECRET,
    });
  });

  test("options override the environment", () => {
    const options = { databaseUrl: "postgres://x@y/z", schema: "chat" };
    expect(readSettings(options, { ...SERVERS, TURNSTREAM_SCHEMA: "other" }).servers).toMatchObject(options);
  });

  test.each([
    ["PostgreSQL is missing", { DATABASE_URL: undefined }, "DATABASE_URL", "Set DATABASE_URL"],
    ["Redis is missing", { REDIS_URL: undefined }, "REDIS_URL", "Set REDIS_URL"],
    ["another kind of database", { DATABASE_URL: "mysql://x/y" }, "DATABASE_URL", "Set DATABASE_URL"],
    ["another kind of cache", { REDIS_URL: "memcached://x" }, "REDIS_URL", "Set REDIS_URL"],
    ["the secret is missing", { TURNSTREAM_SECRET: undefined }, "SECRET", "openssl rand -hex 32"],
    ["a short secret", { TURNSTREAM_SECRET: "short" }, "SECRET", "has 5 bytes"],
  ])("%s", (_, change, code, text) => {
    const read = () => readSettings({}, { ...SERVERS, ...change });
    expect(read).toThrow(SettingsError);
    expect(read).toThrow(expect.objectContaining({ code, message: expect.stringContaining(text) }));
    expect(read).not.toThrow("hidden-password");
  });
});
