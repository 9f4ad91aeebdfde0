/**
 * `createMemoryEngine` is the in-memory engine for development and tests. Engines that share a hub see each other's
 * jobs, like processes with one database.
 * Invariant: it follows the same rules as the DBOS engine; the same contract tests run on both. A job is recorded
 * before it runs, and its outcome counts only while the same run owns it. Nothing survives the process.
 */
import { type Env, systemEnv } from "../util/env.ts";
import type { Engine } from "./engine.ts";
import { Jobs, type JobsOptions } from "./jobs.ts";

interface InlineJob {
  readonly id: string;
  /** Replaced when another executor takes the job. The outcome of the previous run then no longer counts. */
  readonly owner: { readonly executor: string };
  readonly attempt: number;
  readonly endedAt: number | null;
}

export interface MemoryEngineHub {
  readonly jobs: Map<string, InlineJob>;
}

export interface MemoryEngineOptions extends JobsOptions {
  readonly executor?: string;
  readonly hub?: MemoryEngineHub;
  readonly env?: Pick<Env, "now" | "id">;
}

export function createMemoryEngineHub(): MemoryEngineHub {
  return { jobs: new Map() };
}

export function createMemoryEngine(options: MemoryEngineOptions): Engine {
  const { env = systemEnv, hub = createMemoryEngineHub() } = options;
  const executor = options.executor ?? env.id();
  const rows = hub.jobs;
  const jobs = new Jobs(options);

  async function run(id: string, attempt: number): Promise<void> {
    const owner = { executor };
    rows.set(id, { id, owner, attempt, endedAt: null });
    const outcome = await jobs.run(id, attempt);
    const row = rows.get(id);
    if (outcome !== "left" && row?.owner === owner) rows.set(id, { ...row, endedAt: env.now() });
  }

  function remove(removed: readonly InlineJob[]): number {
    for (const { id } of removed) rows.delete(id);
    return removed.length;
  }

  return {
    executor,
    get running() {
      return jobs.running;
    },
    start: (id) =>
      jobs.admit(`job ${id}`, async () => {
        if (rows.has(id)) return false;
        void run(id, 1);
        return true;
      }),
    recover: (dead) =>
      jobs.admit(`executor ${dead}`, async () => {
        const left = [...rows.values()].filter((row) => row.endedAt === null && row.owner.executor === dead);
        if (dead === executor) return 0;
        for (const { id, attempt } of left) void run(id, attempt + 1);
        return left.length;
      }),
    executors: async () => {
      const unended = [...rows.values()].filter((row) => row.endedAt === null);
      return [...new Set(unended.map((row) => row.owner.executor))];
    },
    isRunning: async (id) => rows.get(id)?.endedAt === null,
    handOver: (onBack, drainMs) => jobs.handOver(onBack, drainMs),
    async reassign(ids, to) {
      for (const row of ids.flatMap((id) => rows.get(id) ?? []))
        if (row.endedAt === null && row.owner.executor === executor)
          rows.set(row.id, { ...row, owner: { executor: to } });
    },
    async deleteJobs(prefix) {
      const count = remove([...rows.values()].filter((row) => row.id.startsWith(prefix)));
      jobs.abort(prefix);
      return count;
    },
    async prune({ olderThanMs, limit }) {
      const before = env.now() - olderThanMs;
      const old = [...rows.values()].filter((row) => row.endedAt !== null && row.endedAt <= before);
      return remove(old.toSorted((a, b) => (a.endedAt ?? 0) - (b.endedAt ?? 0)).slice(0, limit));
    },
    close: () => jobs.handOver(),
  };
}
