/** Worker processes for tests to kill and freeze, all on one database, with signals between them. */
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { ChildProgram } from "@turnstream/testkit/processes/child-program.ts";
import { migratedDatabaseUrl } from "@turnstream/testkit/backend/migrated-database-url.ts";
import pg from "pg";

import type { EngineMessage, EngineRequest, EngineSettings } from "./engine-child.ts";

export type WorkerSettings = Partial<Pick<EngineSettings, "ttlMs" | "isGuarded">>;

export class WorkerProcess extends ChildProgram<EngineMessage, EngineRequest> {
  constructor(databaseUrl: string, options: WorkerSettings) {
    const name = `worker-${randomUUID()}`;
    const settings: EngineSettings = { databaseUrl, name, ttlMs: 3_000, isGuarded: true, ...options };
    const file = join(import.meta.dirname, "engine-child.ts");
    super({ file, settings, name, nodeFlags: ["--expose-gc"] });
  }

  get startedJobs(): Extract<EngineMessage, { job: string }>[] {
    return this.findAll("job");
  }

  /** The heap that the process uses after a garbage collection. */
  async measureHeap(): Promise<number> {
    return (await this.request({ measureHeap: true }, "heapUsed")).heapUsed;
  }
}

export class Workers {
  readonly databaseUrl: string;
  readonly #all: WorkerProcess[] = [];

  private constructor(databaseUrl: string) {
    this.databaseUrl = databaseUrl;
  }

  /** Starts the processes on a new, migrated database, and kills all of them at the end. */
  static async use(use: (workers: Workers) => Promise<void>): Promise<void> {
    const workers = new Workers(await migratedDatabaseUrl());
    try {
      await use(workers);
    } finally {
      await Promise.all(workers.#all.map((worker) => worker.kill()));
    }
  }

  async launch(count: number, settings: WorkerSettings = {}): Promise<WorkerProcess[]> {
    const launched = Array.from({ length: count }, () => new WorkerProcess(this.databaseUrl, settings));
    this.#all.push(...launched);
    for (const worker of launched)
      worker.onMessage((message) => {
        if (!("signal" in message)) return;
        for (const other of this.#all) if (other !== worker) other.send(message);
      });
    await Promise.all(launched.map((worker) => worker.waitFor("ready")));
    return launched;
  }

  async rows(): Promise<{ id: string; status: string; executor: string }[]> {
    const client = new pg.Client({ connectionString: this.databaseUrl });
    await client.connect();
    try {
      const { rows } = await client.query<{ id: string; status: string; executor: string }>(
        "select workflow_uuid as id, status, executor_id as executor from dbos.workflow_status order by 1",
      );
      return rows;
    } finally {
      await client.end();
    }
  }
}
