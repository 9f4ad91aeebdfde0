/**
 * `redisFull` tests promise 33: the memory of Redis is full for some seconds. In every second round a worker is killed
 * meanwhile, so that turns have to be claimed without memory.
 */
import { playFullRounds } from "./full-rounds.ts";
import { GatewayEnvironment } from "./gateway-environment.ts";
import type { Scenario } from "./scenario.ts";

export const redisFull: Scenario = {
  promise: 33,
  about: "fills the memory of Redis under load: turns wait, and end well when there is space",
  times: 30,
  short: 2,
  run: (options) =>
    GatewayEnvironment.use((environment) => {
      const { redis } = environment.turns.backend;
      const setMemory = (bytes: string) => redis.command("CONFIG", "SET", "maxmemory", bytes);
      const memory = {
        name: "memory of Redis",
        report: /refuses writes \(OOM\)/,
        fill: () => setMemory("1"),
        free: () => setMemory("0"),
      };
      return playFullRounds(environment, [memory], { ...options, killsWorker: true });
    }),
};
