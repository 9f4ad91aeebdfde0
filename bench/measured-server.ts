/** `MeasuredServer` starts the program processes/measured-server.ts and reads its CPU time and memory. */
import { join } from "node:path";
import { ChildProgram } from "@turnstream/testkit/processes/child-program.ts";
import type { GatewayBenchEnvironment } from "./gateway-environment.ts";
import type {
  MeasuredServerSettings,
  ServerMessage,
  ServerRequest,
  ServerUsage,
} from "./processes/measured-server.ts";

export class MeasuredServer {
  readonly #program: ChildProgram<ServerMessage, ServerRequest>;
  #port = 0;
  #isStopping = false;

  private constructor(settings: MeasuredServerSettings) {
    const file = join(import.meta.dirname, "processes/measured-server.ts");
    // BENCH_FLAGS passes flags such as --cpu-prof for a profile.
    const nodeFlags = ["--expose-gc", ...(process.env["BENCH_FLAGS"]?.split(" ") ?? [])];
    this.#program = new ChildProgram({ file, settings, nodeFlags });
    void this.#failOnExit();
  }

  /** Ends the bench with an unhandled rejection. Otherwise it would wait forever for frames. */
  async #failOnExit(): Promise<void> {
    const { code } = await this.#program.exited;
    if (!this.#isStopping) throw new Error(`a server of the bench exited unexpectedly (${String(code)})`);
  }

  static async start(
    environment: GatewayBenchEnvironment,
    kind: MeasuredServerSettings["kind"],
  ): Promise<MeasuredServer> {
    const { redisUrl, databaseUrl, keyPrefix, secret } = environment;
    const server = new MeasuredServer({ kind, redisUrl, databaseUrl, keyPrefix, secret });
    server.#port = (await server.#program.waitFor("port")).port;
    return server;
  }

  get port(): number {
    return this.#port;
  }

  /** "clean" collects garbage first. */
  async measure(how: "now" | "clean" = "now"): Promise<ServerUsage> {
    return (await this.#program.request({ measure: how }, "usage")).usage;
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#program.send({ exit: true });
    await this.#program.exited;
  }
}
