/**
 * `DeciderProcess` starts the program processes/decider.ts and lets it decide approvals. The process can be killed at
 * any time.
 */
import { join } from "node:path";
import { ChildProgram } from "@turnstream/testkit/processes/child-program.ts";
import type { DeciderMessage, DeciderSettings, DecideRequest, DecideResult } from "./processes/decider.ts";

export class DeciderProcess extends ChildProgram<DeciderMessage, DecideRequest> {
  #requests = 0;

  private constructor(settings: DeciderSettings) {
    super({ file: join(import.meta.dirname, "processes/decider.ts"), settings, name: settings.name });
  }

  static async launch(settings: DeciderSettings): Promise<DeciderProcess> {
    const decider = new DeciderProcess(settings);
    await decider.ready();
    return decider;
  }

  /** Stays pending if the process is killed before it answers. */
  decide(request: Omit<DecideRequest, "id">): Promise<DecideResult> {
    const id = ++this.#requests;
    return this.request({ id, ...request }, "won", (result) => result.id === id);
  }
}
