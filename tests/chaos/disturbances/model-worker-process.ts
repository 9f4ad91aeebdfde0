/** `ModelWorkerProcess` starts the program processes/model-worker.ts, a worker that asks a model provider over HTTP. */
import { join } from "node:path";
import { ChildProgram } from "@turnstream/testkit/processes/child-program.ts";
import type { ModelWorkerMessage, ModelWorkerSettings } from "../processes/model-worker.ts";

const PROCESSES = join(import.meta.dirname, "../processes");

export class ModelWorkerProcess extends ChildProgram<ModelWorkerMessage> {
  /** @param launcher in front of the command, see `ChildProgram` */
  constructor(settings: ModelWorkerSettings, launcher: readonly string[] = []) {
    super({
      launcher,
      file: join(PROCESSES, "model-worker.ts"),
      settings,
      name: settings.name,
      nodeFlags: settings.clockFile === undefined ? [] : ["--import", join(PROCESSES, "shifted-clock.ts")],
    });
  }

  get hasLostLease(): boolean {
    return this.find("lost") !== null;
  }

  get failures(): string[] {
    return this.findAll("failed").map(({ failed }) => failed);
  }
}
