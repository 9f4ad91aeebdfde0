/**
 * `CommitterProcess` is started ahead of its use, commits on request, and is killed with -9; processes/committer.ts is its
 * program. Fails if the process exits by itself.
 */
import { join } from "node:path";
import { ChildProgram } from "@turnstream/testkit/processes/child-program.ts";
import type { CommitRequest, CommitterMessage, CommitterSettings } from "./processes/committer.ts";

export class CommitterProcess extends ChildProgram<CommitterMessage, CommitRequest> {
  constructor(settings: CommitterSettings) {
    super({ file: join(import.meta.dirname, "processes/committer.ts"), settings, name: settings.name });
  }

  /** The keys that it has committed, in their order. */
  get committed(): string[] {
    return this.findAll("committed").map(({ committed }) => committed);
  }

  async begin(request: CommitRequest): Promise<void> {
    await this.ready();
    this.send(request);
  }

  /** Kills it the very moment it reports its n-th commit. */
  async killAt(commits: number): Promise<void> {
    await this.#killOnCommit((count) => {
      if (count >= commits) this.signal("SIGKILL");
    });
  }

  /** Kills it that long after its first commit. */
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
