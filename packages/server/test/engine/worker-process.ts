/** Worker processes to be killed and frozen, all on one database, with signals between them. Never starts one again. */
import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { join } from "node:path";
import { until } from "@turnstream/testkit/util/until.ts";
import pg from "pg";

import { migratedDatabaseUrl } from "../store/migrated-database.ts";
import type { ChildReport, Order } from "./engine-child.ts";

type JobStart = Extract<ChildReport, { job: string }>;

export class WorkerProcess {
  readonly name: string;
  readonly reports: ChildReport[] = [];
  readonly #process: ChildProcess;
  readonly #ended: Promise<unknown>;

  constructor(databaseUrl: string, settings: Settings, onSignal: (text: string) => void) {
    this.name = `worker-${randomUUID()}`;
    const { ttlMs = 3_000, guarded = true } = settings;
    const file = join(import.meta.dirname, "engine-child.ts");
    const flags = ["--conditions=@turnstream/source", "--expose-gc"];
    const args = [databaseUrl, this.name, String(ttlMs), guarded ? "guarded" : "bare"];
    this.#process = spawn(process.execPath, [...flags, file, ...args], {
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    this.#ended = once(this.#process, "exit");
    this.#process.on("message", (message: ChildReport) => {
      this.reports.push(message);
      if ("signal" in message) onSignal(message.signal);
    });
  }

  send(order: Order): void {
    if (this.#process.connected) this.#process.send(order);
  }

  kill(signal: "SIGKILL" | "SIGSTOP" | "SIGCONT" | "SIGTERM"): void {
    this.#process.kill(signal);
  }

  get startedJobs(): JobStart[] {
    return this.reports.filter((report) => "job" in report);
  }

  /** The first report with this field. */
  async waitFor<K extends string>(
    key: K,
    timeoutMs = 20_000,
  ): Promise<Extract<ChildReport, Record<K, unknown>>> {
    const find = () =>
      this.reports.find((report): report is Extract<ChildReport, Record<K, unknown>> => key in report);
    await until(`"${key}" from ${this.name}`, () => find() !== undefined, { timeoutMs });
    return find() as Extract<ChildReport, Record<K, unknown>>;
  }

  async waitForExit(): Promise<void> {
    await this.#ended;
  }
}

export interface Settings {
  readonly ttlMs?: number;
  /** Whether the engine asks the executor if its lease is good. */
  readonly guarded?: boolean;
}

export class Workers {
  readonly databaseUrl: string;
  readonly #all: WorkerProcess[] = [];

  private constructor(databaseUrl: string) {
    this.databaseUrl = databaseUrl;
  }

  /** On a new database, which is migrated. All of them are killed in the end. */
  static async use(use: (workers: Workers) => Promise<void>): Promise<void> {
    const workers = new Workers(await migratedDatabaseUrl());
    try {
      await use(workers);
    } finally {
      for (const worker of workers.#all) worker.kill("SIGKILL");
      await Promise.all(workers.#all.map((worker) => worker.waitForExit()));
    }
  }

  async launch(count: number, settings: Settings = {}): Promise<WorkerProcess[]> {
    const launched = Array.from({ length: count }, () => {
      const worker = new WorkerProcess(this.databaseUrl, settings, (signal) => {
        for (const other of this.#all) if (other !== worker) other.send({ signal });
      });
      return worker;
    });
    this.#all.push(...launched);
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

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
