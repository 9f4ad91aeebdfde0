/** `WorkerProcess` is the worker that the bench of turns measures; processes/turn-worker.ts is its program. */
import { join } from "node:path";
import { ChildProgram } from "@turnstream/testkit/processes/child-program.ts";
import type { WorkerMessage, WorkerRequest, WorkerSettings, WorkerUsage } from "./processes/turn-worker.ts";
import { KEY_PREFIX, type TurnsEnvironment } from "./turns-environment.ts";

export class WorkerProcess {
  readonly #program: ChildProgram<WorkerMessage, WorkerRequest>;
  #isStopping = false;

  private constructor(settings: WorkerSettings) {
    const file = join(import.meta.dirname, "processes/turn-worker.ts");
    this.#program = new ChildProgram({ file, settings, nodeFlags: ["--expose-gc"] });
    void this.#failOnExit();
  }

  /** Ends the bench with an unhandled rejection: it would wait for turns that never end. */
  async #failOnExit(): Promise<void> {
    const { code } = await this.#program.exited;
    if (!this.#isStopping) throw new Error(`the worker has exited by itself (${String(code)})`);
  }

  static async start(
    { backend }: TurnsEnvironment,
    settings: Partial<Pick<WorkerSettings, "countsStatements" | "ttlMs">> = {},
  ): Promise<WorkerProcess> {
    const { databaseUrl, redisUrl } = backend;
    const urls = { databaseUrl, redisUrl, keyPrefix: KEY_PREFIX };
    const worker = new WorkerProcess({ ...urls, countsStatements: false, ...settings });
    await worker.#program.ready();
    return worker;
  }

  /** "clean" collects garbage before. */
  async measure(how: "now" | "clean" = "now"): Promise<WorkerUsage> {
    return (await this.#program.request({ measure: how }, "usage")).usage;
  }

  /** @returns how often something failed in it that was then tried again; turns end all the same */
  async shutdown(): Promise<number> {
    const { failures } = await this.measure();
    this.#isStopping = true;
    this.#program.send({ shutdown: true });
    await this.#program.exited;
    if (failures.length > 0)
      console.error(`in the worker: ${[...new Set(failures.map(withoutSession))].join("; ")}`);
    return failures.length;
  }
}

function withoutSession(failure: string): string {
  return failure.replaceAll(/[\da-f]{8}-[\da-f-]{27}/g, "…");
}
