/** `pairs` injects two random faults at once into each round of turns. */
import { setTimeout as sleep } from "node:timers/promises";
import { startNetwork } from "@turnstream/testkit/network/partitioned-network.ts";
import type { Figure, RunOptions, Scenario } from "../scenario.ts";
import { afterUpTo, FaultRounds } from "./fault-rounds.ts";

const TURNS = 20;
const ANSWER_MS = 12_000;
const LATEST_MS = 4_000;
/** A process may give up its turns, a partition may be so short that nobody notices. */
const LONGEST_MS = 20_000;

type Fault = (rounds: FaultRounds, random: () => number) => Promise<void>;

const pick = <T>(all: readonly T[], random: () => number): T => all[Math.floor(random() * all.length)] as T;

function cutOff(processes: "workers" | "gateways", server: "redis" | "postgres"): Fault {
  return async (rounds, random) => {
    const hosts = rounds[processes].map(({ host }) => host);
    const host = pick(hosts, random);
    host?.cut(server, pick(["toServer", "toClient"], random));
    await sleep(random() * LONGEST_MS);
    await host?.heal();
  };
}

const FAULTS: Readonly<Record<string, Fault>> = {
  "a killed worker": (rounds, random) => rounds.kill(pick(rounds.workers, random)),
  "a killed gateway": async (rounds, random) => {
    const gateway = pick(rounds.gateways, random);
    await rounds.kill(gateway);
    await rounds.replace(gateway);
  },
  "a frozen worker": async (rounds, random) => {
    const { program } = pick(rounds.workers, random);
    if (program.hasExited) return;
    await program.freeze();
    await sleep(random() * LONGEST_MS);
    program.signal("SIGCONT");
  },
  "a restart of Redis": async (rounds) => {
    await rounds.models.turns.backend.redis.kill();
    await rounds.models.turns.backend.redis.restart();
  },
  "a restart of PostgreSQL": async (rounds) => {
    await rounds.models.turns.backend.postgres.kill();
    await rounds.models.turns.backend.postgres.restart();
  },
  "a worker without Redis": cutOff("workers", "redis"),
  "a worker without PostgreSQL": cutOff("workers", "postgres"),
  "a gateway without Redis": cutOff("gateways", "redis"),
  "a gateway without PostgreSQL": cutOff("gateways", "postgres"),
};

async function run(options: RunOptions): Promise<Figure[]> {
  const { times, random } = options;
  return FaultRounds.run({ ...options, workers: 3, startNetwork }, async (rounds) => {
    for (let n = 0; n < times; n++) {
      const names = Object.keys(FAULTS);
      const first = pick(names, random);
      const second = pick(
        names.filter((name) => name !== first),
        random,
      );
      await rounds.round(TURNS, ANSWER_MS, async () => {
        await Promise.all(
          [first, second].map((name) =>
            afterUpTo(LATEST_MS, random, async () => FAULTS[name]?.(rounds, random)),
          ),
        );
        for (const name of [first, second]) rounds.count(name);
      });
    }
  });
}

export const pairs: Scenario = {
  promise: 41,
  about: "injects two random faults at once",
  times: 40,
  short: 2,
  usesNamespaces: true,
  run,
};
