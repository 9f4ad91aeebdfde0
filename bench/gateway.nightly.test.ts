/** Runs the gateway bench in its smallest form, so that it stays usable. The times measured here mean nothing. */
import { freshDatabaseUrl, freshPrefix, sharedRedisUrl } from "@turnstream/testkit/servers/shared-servers.ts";
import { expect, test } from "vitest";
import { type GatewayBenchSize, runGatewayBench } from "./gateway.ts";

const SMALLEST: GatewayBenchSize = {
  fanOut: { clients: 4, rounds: 1, burst: 4, deliveries: { 2: 8 } },
  memory: { connections: 4, warmUp: 2, settleMs: 10, rounds: 1 },
  storm: { sessions: 2, clients: 6, few: 3, times: 1, rounds: 1 },
};

test("the gateway bench completes", { timeout: 600_000 }, async () => {
  const servers = {
    redisUrl: sharedRedisUrl(),
    databaseUrl: await freshDatabaseUrl(),
    stop: async () => undefined,
  };
  const measurements = await runGatewayBench(servers, freshPrefix(), SMALLEST);
  expect(measurements.length).toBeGreaterThan(35);
  expect(measurements.filter(({ value }) => !Number.isFinite(value))).toEqual([]);
  // All clients reconnect over both wires.
  expect(measurements.filter(({ measure }) => / 6 clients at once, all /.test(measure))).toHaveLength(4);
  // Bytes are the same on every machine, however busy it is.
  const bytes = measurements.filter(({ measure }) => / bytes for a cursor at /.test(measure));
  expect(bytes).toHaveLength(12);
  expect(bytes.filter(({ value, atMost = 0 }) => value > atMost)).toEqual([]);
});
