/**
 * `TestQueue` is a job queue for tests of executors: a job starts in the member that it names, and every member fetches
 * it once it was returned or recovered.
 */
import type { FetchJobs, Jobs, TurnJob } from "../../src/store/ports/jobs.ts";

type Row = TurnJob & { member: string | null; owner: string | null; isOver: boolean };

export class TestQueue implements Pick<Jobs, "fetch" | "heartbeat" | "release" | "recover"> {
  readonly rows = new Map<string, Row>();

  /** @param member the executor that fetches it. Null: any */
  add(
    id: string,
    member: string | null,
    { agent = null, deaths = 0, alone = false }: Partial<TurnJob> = {},
  ): void {
    const job = { id, tenant: "t", session: id, user: "u", agent, deaths, alone };
    this.rows.set(id, { ...job, member, owner: null, isOver: false });
  }

  end(id: string): void {
    const row = this.rows.get(id);
    if (row !== undefined) row.isOver = true;
  }

  isRunning(id: string): boolean {
    return this.rows.get(id)?.isOver === false;
  }

  async fetch({ executor, agents, limit, skipTenants = [], alone }: FetchJobs): Promise<TurnJob[]> {
    const found = [...this.rows.values()]
      .filter((row) => !row.isOver && row.owner === null && agents.includes(row.agent))
      .filter((row) => row.member === null || row.member === executor)
      .filter((row) => row.alone === alone && !skipTenants.includes(row.tenant))
      .slice(0, limit);
    for (const row of found) row.owner = executor;
    return found.map(({ owner: _, isOver: __, member: ___, ...job }) => job);
  }

  async heartbeat(): Promise<string[]> {
    return [];
  }

  async release(jobs: readonly TurnJob[]): Promise<void> {
    for (const { id } of jobs) this.#return(id);
  }

  async recover(executor: string, { limit }: { readonly limit: number }): Promise<number> {
    const left = [...this.rows.values()]
      .filter((row) => !row.isOver && row.owner === executor)
      .slice(0, limit);
    for (const { id } of left) this.#return(id);
    return left.length;
  }

  #return(id: string): void {
    const row = this.rows.get(id);
    if (row !== undefined) this.rows.set(id, { ...row, member: null, owner: null });
  }
}
