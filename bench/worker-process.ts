/** `WorkerProcess` starts the program processes/turn-worker.ts, the worker that the turns bench measures. */
import { join } from "node:path";
import { ChildProgram } from "@turnstream/testkit/processes/child-program.ts";
import type { WorkerMessage, WorkerRequest, WorkerSettings, WorkerUsage } from "./processes/turn-worker.ts";
import { KEY_PREFIX, type TurnsEnvironment } from "./turns-environment.ts";

export class WorkerProcess {
  readonly #program: ChildProgram<WorkerMessage, WorkerRequest>;
  #isStopping = false;

  private constructor(settings: WorkerSettings) {
    const file = join(import.meta.dirname, "processes/turn-worker.ts");
    // BENCH_FLAGS passes flags such as --cpu-prof for a profile.
    const nodeFlags = ["--expose-gc", ...(process.env["BENCH_FLAGS"]?.split(" ") ?? [])];
    this.#program = new ChildProgram({ file, settings, nodeFlags });
    void this.#failOnExit();
  }

  /** Ends the bench with an unhandled rejection. Otherwise it would wait forever for turns to end. */
  async #failOnExit(): Promise<void> {
    const { code } = await this.#program.exited;
    if (!this.#isStopping) throw new Error(`the worker exited unexpectedly (${String(code)})`);
  }

  static async start(
    { backend }: TurnsEnvironment,
    settings: Partial<Omit<WorkerSettings, "databaseUrl" | "redisUrl" | "keyPrefix">> = {},
  ): Promise<WorkerProcess> {
    const { databaseUrl, redisUrl } = backend;
    const urls = { databaseUrl, redisUrl, keyPrefix: KEY_PREFIX };
    const worker = new WorkerProcess({ ...urls, countsStatements: false, ...settings });
    await worker.#program.ready();
    return worker;
  }

  /** "clean" collects garbage first. */
  async measure(how: "now" | "clean" = "now"): Promise<WorkerUsage> {
    return (await this.#program.request({ measure: how }, "usage")).usage;
  }

  /** Kills the process with -9. */
  async kill(): Promise<void> {
    this.#isStopping = true;
    await this.#program.kill();
  }

  /** Stops the process with SIGSTOP. End it with `kill`. */
  async freeze(): Promise<void> {
    this.#isStopping = true;
    await this.#program.freeze();
  }

  /** @returns how many failures the worker retried; turns end in spite of them */
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

/** Returns the slots of a worker in which this many turns of one tenant run: a tenant may use nine of ten. */
export function slotsFor(turns: number): number {
  return Math.ceil((turns * 10) / 9);
}

function withoutSession(failure: string): string {
  return failure.replaceAll(/[\da-f]{8}-[\da-f-]{27}/g, "…");
}
