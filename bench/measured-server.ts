/** A measured server from outside: starts its process, asks what it has used, ends it. All its failures are ours. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { GatewayStage } from "./gateway-stage.ts";
import type {
  SubjectOrder,
  SubjectSettings,
  SubjectWeight,
  SubjectWord,
} from "./processes/measured-server.ts";

export class Subject {
  readonly #process: ChildProcess;
  readonly #ended: Promise<unknown>;
  #port = 0;
  #isLeaving = false;

  private constructor(settings: SubjectSettings) {
    const file = join(import.meta.dirname, "processes", "measured-server.ts");
    // BENCH_FLAGS, such as --cpu-prof, is for who wants to look into it.
    const flags = [
      "--conditions=@turnstream/source",
      "--expose-gc",
      ...(process.env["BENCH_FLAGS"]?.split(" ") ?? []),
    ];
    this.#process = spawn(process.execPath, [...flags, file, JSON.stringify(settings)], {
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    this.#ended = once(this.#process, "exit");
    this.#process.on("exit", (code) => {
      // Nobody would hear of it who waits for a delivery.
      if (!this.#isLeaving) throw new Error(`a server of the bench has ended by itself (${String(code)})`);
    });
  }

  static async start(stage: GatewayStage, kind: SubjectSettings["kind"]): Promise<Subject> {
    const { redisUrl, databaseUrl, prefix, secret } = stage;
    const subject = new Subject({ kind, redisUrl, databaseUrl, prefix, secret });
    const word = await subject.#word();
    if (!("port" in word)) throw new Error("a server of the bench said something else");
    subject.#port = word.port;
    return subject;
  }

  get port(): number {
    return this.#port;
  }

  /** "clean" collects garbage before. */
  async weigh(how: "now" | "clean" = "now"): Promise<SubjectWeight> {
    const said = this.#word();
    this.#process.send({ weigh: how } satisfies SubjectOrder);
    const word = await said;
    if (!("weight" in word)) throw new Error("a server of the bench said something else");
    return word.weight;
  }

  async leave(): Promise<void> {
    this.#isLeaving = true;
    this.#process.send({ leave: true } satisfies SubjectOrder);
    await this.#ended;
  }

  async #word(): Promise<SubjectWord> {
    const [word] = (await once(this.#process, "message")) as [SubjectWord];
    return word;
  }
}
