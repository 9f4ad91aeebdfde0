/**
 * `CommitterProcess` starts the program processes/committer.ts, lets it commit on request, and kills it with -9. It
 * fails if the process exits by itself.
 */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ChildProgram } from "@turnstream/testkit/processes/child-program.ts";
import { until } from "@turnstream/testkit/util/until.ts";
import { createWrite, type DurableWrite } from "./durable-writes.ts";
import type { CommitRequest, CommitterMessage, CommitterSettings } from "./processes/committer.ts";

export class CommitterProcess extends ChildProgram<CommitterMessage, CommitRequest> {
  constructor(settings: CommitterSettings) {
    super({ file: join(import.meta.dirname, "processes/committer.ts"), settings, name: settings.name });
  }

  /** The writes that the process reported as committed, in commit order. */
  get committed(): DurableWrite[] {
    return this.findAll("committed").map(({ ref, committed }) => createWrite(ref, committed));
  }

  async begin(request: CommitRequest): Promise<void> {
    await this.ready();
    this.send(request);
  }

  /** Kills the process this many milliseconds after it reports its n-th commit. */
  async killAfter(commits: number, ms: number): Promise<void> {
    await until(`${commits} commits`, () => this.committed.length >= commits || this.hasExited, {
      everyMs: 1,
    });
    await sleep(ms);
    this.signal("SIGKILL");
    const { code, signal } = await this.exited;
    if (signal !== "SIGKILL") throw new Error(`${this.name} exited by itself (${String(code)})`);
  }
}
