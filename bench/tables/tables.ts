/**
 * `benchTables` measures whether rows and tables of PostgreSQL limit a server: rows that all turns of a tenant change,
 * multixacts, searches in long queues, and retention. It starts a server of its own and takes a few minutes.
 */
import { createPostgresStore, migrate, openDatabase } from "@turnstream/server";
import { startPostgres } from "@turnstream/testkit/servers/start-postgres.ts";
import type { Measurement } from "../measure.ts";
import { measureLooks } from "./measure-looks.ts";
import { measureMultixacts } from "./measure-multixacts.ts";
import { measureRetirement } from "./measure-retirement.ts";
import { measureTurnEnds } from "./measure-turn-ends.ts";
import type { TablesEnvironment } from "./turn-ends.ts";

export interface TablesSize {
  /** Rounds of each kind, and turns that end in each round. */
  readonly rounds: number;
  readonly turns: number;
  /** Operations of each kind. */
  readonly operations: number;
  readonly queuedMessages: number;
  readonly retiredBytes: number;
}

const FULL: TablesSize = {
  rounds: 20,
  turns: 720,
  operations: 2_000,
  queuedMessages: 100_000,
  retiredBytes: 1024 ** 3,
};
export const SHORT: TablesSize = {
  rounds: 4,
  turns: 96,
  operations: 200,
  queuedMessages: 5_000,
  retiredBytes: 10 * 1024 ** 2,
};

/** More than `CONCURRENCY` in turn-ends.ts. */
const CONNECTIONS = 30;

export async function benchTables(size?: TablesSize): Promise<Measurement[]> {
  const chosen = size ?? (process.argv.includes("--short") ? SHORT : FULL);
  const postgres = await startPostgres();
  const url = await postgres.createDatabase("bench");
  const db = openDatabase({ url, max: CONNECTIONS, timeouts: { statementMs: 0 } });
  const store = createPostgresStore(db);
  const environment: TablesEnvironment = { store, url };
  try {
    await migrate(db);
    await store.agents.register([{ name: "helper", label: "Helper", description: "", inputs: [] }]);
    const measurements: Measurement[] = [];
    for (const measure of [measureTurnEnds, measureMultixacts, measureLooks, measureRetirement]) {
      const found = await measure(environment, chosen);
      for (const { measure: name, value } of found) console.error(`[tables] ${name}: ${value}`);
      measurements.push(...found);
    }
    return measurements;
  } finally {
    await store.close();
    await postgres.stop();
  }
}
