/** `StopperProcess` starts the program processes/stopper.ts and lets it stop turns. */
import { join } from "node:path";
import type { SessionRef } from "@turnstream/server";
import { ChildProgram } from "@turnstream/testkit/processes/child-program.ts";
import type { StopperMessage, StopperSettings, StopRequest, StopResult } from "./processes/stopper.ts";

export class StopperProcess extends ChildProgram<StopperMessage, StopRequest> {
  private constructor(settings: StopperSettings) {
    super({ file: join(import.meta.dirname, "processes/stopper.ts"), settings, name: settings.name });
  }

  static async launch(settings: StopperSettings): Promise<StopperProcess> {
    const stopper = new StopperProcess(settings);
    await stopper.ready();
    return stopper;
  }

  /** Sends this many stop calls at once. */
  stop(ref: SessionRef, count: number): Promise<StopResult> {
    return this.request({ ref, count }, "receipts", ({ session }) => session === ref.session);
  }
}
