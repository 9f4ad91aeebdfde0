/** `measureConnections` counts the connections that one worker opens to PostgreSQL while it runs many turns. */
import { setTimeout as sleep } from "node:timers/promises";
import { runSql } from "@turnstream/testkit/servers/run-sql.ts";
import { figure, type Measurement } from "../measure.ts";
import {
  DATABASE,
  GATEWAY_NAME,
  openSessions,
  runTurns,
  type TurnsEnvironment,
} from "../turns-environment.ts";
import { WorkerProcess } from "../worker-process.ts";

const TURNS = 200;
const LOOK_MS = 50;

export async function measureConnections(environment: TurnsEnvironment): Promise<Measurement[]> {
  const worker = await WorkerProcess.start(environment);
  const refs = await openSessions(environment, TURNS);
  const over = new AbortController();
  const counted = countConnections(environment, over.signal);
  await runTurns(environment, refs, "one_call");
  over.abort();
  const most = await counted;
  await worker.shutdown();
  return [figure("connections of a worker", most, `most at once, ${TURNS} turns at a time`, 8)];
}

async function countConnections({ backend }: TurnsEnvironment, over: AbortSignal): Promise<number> {
  let most = 0;
  while (!over.aborted) {
    const [row = {}] = await runSql(
      backend.postgres.url,
      `select count(*) from pg_stat_activity
        where datname = '${DATABASE}' and application_name <> '${GATEWAY_NAME}'`,
    );
    most = Math.max(most, Number(row["count"]));
    await sleep(LOOK_MS);
  }
  return most;
}
