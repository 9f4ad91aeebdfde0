/**
 * `CommitterProcess` starts the program processes/committer.ts, lets it commit on request, and kills it with -9. It
 * fails if the process exits by itself.
 */
import { join } from "node:path";
import { ChildProgram } from "@turnstream/testkit/processes/child-program.ts";
import type { CommitRequest, CommitterMessage, CommitterSettings } from "./processes/committer.ts";

export class CommitterProcess extends ChildProgram<CommitterMessage, CommitRequest> {
  constructor(settings: CommitterSettings) {
    super({ file: join(import.meta.dirname, "processes/committer.ts"), settings, name: settings.name });
  }

  /** The keys that the process reported as committed, in commit order. */
  get committed(): string[] {
    return this.findAll("committed").map(({ committed }) => committed);
  }

  async begin(request: CommitRequest): Promise<void> {
    await this.ready();
    this.send(request);
  }

  /** Kills the process as soon as it reports its n-th commit. */
  async killAt(commits: number): Promise<void> {
    await this.#killOnCommit((count) => {
      if (count >= commits) this.signal("SIGKILL");
    });
  }

  /** Kills the process this many milliseconds after its first commit. */
  async killAfter(ms: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    await this.#killOnCommit((count) => {
      if (count > 0) timer ??= setTimeout(() => this.signal("SIGKILL"), ms);
    });
  }

  async #killOnCommit(onCommit: (count: number) => void): Promise<void> {
    let count = this.committed.length;
    onCommit(count);
    this.onMessage((message) => {
      if ("committed" in message) onCommit(++count);
    });
    const { code, signal } = await this.exited;
    if (signal !== "SIGKILL") throw new Error(`${this.name} exited by itself (${String(code)})`);
  }
}
