/** Tests that missing or invalid options of the gateway and the backends are named before anything starts. */
import { expect, test } from "vitest";
import { createGateway } from "../../src/gateway/gateway.ts";
import type { GatewayOptions } from "../../src/gateway/options.ts";
import { createRedisLog } from "../../src/log/redis/create-redis-log.ts";
import { createRedisSignals } from "../../src/signals/redis.ts";
import { openDatabase } from "../../src/store/database/open-database.ts";
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
  expect(given({ [name]: undefined })).toThrow(
    expect.objectContaining({
      code: "BAD_OPTIONS",
      message: expect.stringContaining(`\`${name}\` of the gateway is missing`),
    }),
  );
});

test("names an option that is almost valid", () => {
  expect(given({ log: Promise.resolve({}) })).toThrow("`await createRedisLog({ url })`");
  for (const secrets of [[], [undefined], "s".repeat(32)])
    expect(given({ secrets })).toThrow("`secrets` of the gateway must be a list of strings");
  // The message doesn't show a secret.
  for (const secrets of ["short", ["short"]])
    expect(given({ secrets })).toThrow(/bytes of random data: Correct the options/);
});

test.each([
  "https://app.example.com/",
  "https://app.example.com/chat",
  "app.example.com",
  "https://App.example.com",
  "https://app.example.com:443",
  "*",
])("refuses the origin %s, which can never match", (origin) => {
  expect(given({ allowedOrigins: [origin] })).toThrow("`allowedOrigins[0]` of the gateway must be an origin");
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

test("accepts a backend that has more than the gateway needs", async () => {
  await expect(given({ leases: {} })().close()).resolves.toBeUndefined();
});

test("a token can have the scope of a feature that allows it", async () => {
  const tokens = { defaultScopes: ["read", "notes"] };
  expect(given({ tokens, features: [{ name: "notes", scope: "keys" }] })).toThrow('got "notes"');
  await expect(
    given({ tokens, features: [{ name: "notes", scope: "tokens" }] })().close(),
  ).resolves.toBeUndefined();
});

test.each<[message: string, options: object]>([
  ["`pingInterval` is not an option of `limits` of the gateway", { limits: { pingInterval: 1 } }],
  ["must be an integer from 20 to 2147483647, got 1", { limits: { heartbeatMs: 1 } }],
  ["`defaultScopes` of `tokens` of the gateway must be a list of", { tokens: { defaultScopes: [] } }],
  ["`user` of `signIn` of the gateway is missing", { signIn: { tenant: "acme" } }],
  [
    'must not be named like a scope of the server, got "debug"',
    { features: [{ name: "debug", scope: "tokens" }] },
  ],
])("refuses %s", (message, options) => {
  expect(given(options)).toThrow(message);
});
