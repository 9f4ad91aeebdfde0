/**
 * `postgresSplit` promotes the replica of PostgreSQL while the old primary still serves half of the workers. Both
 * databases give turns to workers then, and hand out the same epochs, but there is one Redis.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { openBackend, type StartedBackend } from "@turnstream/testkit/backend/open-backend.ts";
import { HOST } from "@turnstream/testkit/network/free-port.ts";
import { startProxy, type TcpProxy } from "@turnstream/testkit/network/tcp-proxy.ts";
import {
  type PostgresReplica,
  startPostgresReplica,
} from "@turnstream/testkit/servers/start-postgres-replica.ts";
import { type PostgresServer, startPostgres } from "@turnstream/testkit/servers/start-postgres.ts";
import { startRedis } from "@turnstream/testkit/servers/start-redis.ts";
import type { Figure, RunOptions, Scenario } from "../scenario.ts";
import { afterUpTo, FaultRounds } from "./fault-rounds.ts";

const TURNS = 20;
const WORKERS = 4;
const ANSWER_MS = 30_000;
const LATEST_MS = 5_000;
/** Until after the leases of the workers on the other side have expired. */
const SPLIT_MS = { shortest: 5_000, longest: 30_000 };

class Pair {
  primary: PostgresServer;
  replica: PostgresReplica;
  /** One for everybody who follows the promotion, and one for those who notice it late. */
  readonly early: TcpProxy;
  readonly late: TcpProxy;

  private constructor(primary: PostgresServer, replica: PostgresReplica, early: TcpProxy, late: TcpProxy) {
    [this.primary, this.replica, this.early, this.late] = [primary, replica, early, late];
  }

  static async start(): Promise<Pair> {
    const primary = await startPostgres();
    const to = { host: HOST, port: primary.port };
    const [early, late] = await Promise.all([startProxy({ to }), startProxy({ to })]);
    return new Pair(primary, await startPostgresReplica(primary), early, late);
  }

  urlOf({ port }: TcpProxy): string {
    const url = new URL(this.primary.url);
    url.port = String(port);
    return url.href;
  }

  move(proxy: TcpProxy): void {
    proxy.retarget({ host: HOST, port: this.replica.port });
    proxy.cutConnections();
  }

  /** Stops the old primary, and gives the new one a replica. */
  async renew(): Promise<void> {
    await this.primary.stop();
    this.primary = this.replica;
    this.replica = await startPostgresReplica(this.primary);
  }

  async stop(): Promise<void> {
    await Promise.all([this.early.close(), this.late.close(), this.primary.stop(), this.replica.stop()]);
  }
}

async function run(options: RunOptions): Promise<Figure[]> {
  const { times, random } = options;
  const pair = await Pair.start();
  const rounds = {
    ...options,
    workers: WORKERS,
    start: () => startOn(pair),
    databaseUrlOf: (worker: number) => pair.urlOf(worker % 2 === 0 ? pair.early : pair.late),
  };
  return FaultRounds.run(rounds, async (load) => {
    for (let n = 0; n < times; n++) {
      const { shortest, longest } = SPLIT_MS;
      await load.round(TURNS, ANSWER_MS, () =>
        afterUpTo(LATEST_MS, random, async () => {
          await pair.replica.promote();
          pair.move(pair.early);
          await sleep(shortest + random() * (longest - shortest));
          await pair.primary.kill();
          pair.move(pair.late);
        }),
      );
      await pair.renew();
    }
  });
}

async function startOn(pair: Pair): Promise<StartedBackend> {
  const redis = await startRedis();
  const urls = { databaseUrl: pair.urlOf(pair.early), redisUrl: redis.url };
  const backend = await openBackend({ ...urls, shouldMigrate: true });
  return {
    ...backend,
    ...urls,
    postgres: pair.primary,
    redis,
    async close() {
      await backend.close();
      await Promise.all([pair.stop(), redis.stop()]);
    },
  };
}

export const postgresSplit: Scenario = {
  promise: 42,
  about: "promotes the replica of PostgreSQL while the old primary still serves half of the workers",
  times: 20,
  short: 1,
  run,
};
