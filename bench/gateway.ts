/**
 * `benchGateway` measures the gateway on real servers: the cost of a delivery, the memory of an idle connection, and a
 * reconnect of all clients at once. The first two are compared with a minimal server in the same run. All three take
 * less than half an hour.
 */
import { type FanOutSize, measureFanOut } from "./gateway-fan-out.ts";
import { type MemorySize, measureMemory } from "./gateway-memory.ts";
import { openGatewayEnvironment, type Servers, startServers } from "./gateway-environment.ts";
import { measureStorm, type StormSize } from "./gateway-storm.ts";
import type { Measurement } from "./measure.ts";

export interface GatewayBenchSize {
  readonly fanOut: FanOutSize;
  readonly memory: MemorySize;
  readonly storm: StormSize;
}

const FULL: GatewayBenchSize = {
  fanOut: {
    clients: 200,
    rounds: 5,
    burst: 200,
    deliveries: { 1: 20_000, 10: 60_000, 100: 200_000 },
  },
  memory: { connections: 5_000, warmUp: 500, settleMs: 8_000, rounds: 5 },
  storm: { sessions: 50, clients: 5_000, few: 200, times: 5, rounds: 5 },
};

const PARTS = ["fan-out", "memory", "storm"] as const;

/** @param chosen the parts to measure, all by default */
export async function benchGateway(chosen: readonly string[]): Promise<Measurement[]> {
  const parts = chosen.length === 0 ? PARTS : PARTS.filter((part) => chosen.includes(part));
  return runGatewayBench(await startServers(), "bench", FULL, parts);
}

/** Stops the servers at the end. */
export async function runGatewayBench(
  servers: Servers,
  prefix: string,
  size: GatewayBenchSize,
  parts: readonly (typeof PARTS)[number][] = PARTS,
): Promise<Measurement[]> {
  const environment = await openGatewayEnvironment(servers, prefix);
  const has = (part: (typeof PARTS)[number]) => parts.includes(part);
  try {
    return [
      ...(has("fan-out") ? await measureFanOut(environment, size.fanOut) : []),
      ...(has("memory") ? await measureMemory(environment, size.memory) : []),
      ...(has("storm") ? await measureStorm(environment, size.storm) : []),
    ];
  } finally {
    await environment.close();
  }
}
