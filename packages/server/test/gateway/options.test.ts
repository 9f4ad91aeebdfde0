/** Tests that missing or invalid options of the gateway and the backends are named before anything starts. */
import { expect, test } from "vitest";
import { createGateway } from "../../src/gateway/gateway.ts";
import type { GatewayOptions } from "../../src/gateway/options.ts";
import { createRedisLog } from "../../src/log/redis/create-redis-log.ts";
import { createRedisSignals } from "../../src/signals/redis.ts";
import { openDatabase } from "../../src/store/postgres/open-database.ts";
import { createMemoryBackend } from "./test-server.ts";

/** A value from the environment: undefined where the type declares a string. */
const MISSING = undefined as unknown as string;

const given = (change: object) => {
  const options = { ...createMemoryBackend(), secrets: ["s".repeat(32)], ...change };
  return () => createGateway(options as unknown as GatewayOptions);
};

test("names a missing or invalid URL", async () => {
  for (const url of [MISSING, "", "localhost:5432", "postgres://host:port/name"])
    expect(() => openDatabase({ url })).toThrow("`url` must be the address of a database");
  for (const url of [MISSING, "", "localhost:6379", [], [MISSING]]) {
    await expect(createRedisLog({ url })).rejects.toThrow("`url` must be the address of Redis");
    expect(() => createRedisSignals({ url })).toThrow("`url` must be the address of Redis");
  }
});

test("accepts a URL that the driver accepts", async () => {
  for (const url of [
    "postgres:///name",
    "postgresql://role@/name?host=/run/postgresql",
    "/run/postgresql name",
  ])
    await expect(openDatabase({ url }).destroy()).resolves.toBeUndefined();
});

test.each(["store", "log", "signals", "secrets"])("a gateway without %s names the missing option", (name) => {
  expect(given({ [name]: undefined })).toThrow(new RegExp(`^\`${name}\` must be `));
  expect(given({ [name]: undefined })).toThrow(TypeError);
});

test("names an option that is almost valid", () => {
  expect(given({ log: Promise.resolve({}) })).toThrow("`await createRedisLog({ url })`");
  for (const secrets of [[], [undefined], "s".repeat(32)])
    expect(given({ secrets })).toThrow("`secrets` must be");
  expect(given({ secrets: ["short"] })).toThrow(RangeError);
});

test.each([
  "https://app.example.com/",
  "https://app.example.com/chat",
  "app.example.com",
  "https://App.example.com",
  "https://app.example.com:443",
  "*",
])("refuses the origin %s, which can never match", (origin) => {
  expect(given({ allowedOrigins: [origin] })).toThrow(RangeError);
  expect(given({ allowedOrigins: [origin] })).toThrow("`allowedOrigins` contains");
});

test("accepts origins in the form that browsers send", async () => {
  const allowedOrigins = [
    "https://app.example.com",
    "http://localhost:5173",
    "http://[::1]:8080",
    "capacitor://localhost",
    "null",
  ];
  await expect(given({ allowedOrigins })().close()).resolves.toBeUndefined();
});

test("names an invalid option of payments", () => {
  expect(given({ payments: { providers: [], publicUrl: "https://chat.example.com" } })).toThrow(
    "`payments.providers`",
  );
  expect(given({ payments: { publicUrl: "chat.example.com" } })).toThrow(RangeError);
});
