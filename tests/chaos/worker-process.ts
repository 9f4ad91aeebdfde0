/** `WorkerProcess` starts the program processes/turn-worker.ts, a worker that tests kill, freeze and replace. */
import { join } from "node:path";
import { ChildProgram } from "@turnstream/testkit/processes/child-program.ts";
import type { StartCommand, WorkerMessage, WorkerSettings } from "./processes/turn-worker.ts";

export class WorkerProcess extends ChildProgram<WorkerMessage, StartCommand> {
  wasFrozen = false;

  /** @param root the repository, or a copy of it with another version */
  constructor(settings: WorkerSettings, root = join(import.meta.dirname, "../..")) {
    super({ file: join(root, "tests/chaos/processes/turn-worker.ts"), settings, name: settings.name });
  }

  /** True once the worker was ready for turns. */
  get isReady(): boolean {
    return this.find("ready") !== null;
  }

  /** True if it has exited, was frozen, or was too slow for its lease on a busy machine. It gets no new turns then. */
  get isDown(): boolean {
    return this.hasExited || this.wasFrozen || this.hasLostLease;
  }

  get hasLostLease(): boolean {
    return this.find("lost") !== null;
  }

  get failures(): string[] {
    return this.findAll("failed").map(({ failed }) => failed);
  }

  override signal(signal: Parameters<ChildProgram["signal"]>[0]): void {
    this.wasFrozen ||= signal === "SIGSTOP";
    super.signal(signal);
  }

  override async ready(): Promise<void> {
    await this.waitFor("ready");
  }

  /** Waits until a paused worker has loaded everything. */
  async loaded(): Promise<void> {
    await this.waitFor("loaded");
  }

  /** Starts a paused worker. */
  async begin(): Promise<void> {
    await this.loaded();
    this.send({ start: true });
    await this.ready();
  }
}
