/** A process that decides on approvals when told to, and that may be killed; see processes/decider.ts. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { forget, watch } from "@turnstream/testkit/processes/watch.ts";
import type { DecideOrder, DecideWord } from "./processes/decider.ts";

type Told = Extract<DecideWord, { won: unknown }>;

export class DeciderProcess {
  readonly #process: ChildProcess;
  readonly #waiting = new Map<number, (word: Told) => void>();
  #count = 0;

  private constructor(child: ChildProcess) {
    this.#process = child;
    child.on("message", (word: DecideWord) => {
      if ("won" in word) this.#waiting.get(word.id)?.(word);
    });
  }

  static async start(...args: readonly string[]): Promise<DeciderProcess> {
    const file = join(import.meta.dirname, "processes/decider.ts");
    const child = spawn(process.execPath, ["--conditions=@turnstream/source", file, ...args], {
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    if (child.pid !== undefined) watch(child.pid);
    await once(child, "message");
    return new DeciderProcess(child);
  }

  /** Never fulfilled when it is killed meanwhile. */
  decide(order: Omit<DecideOrder, "id">): Promise<Told> {
    const id = ++this.#count;
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      this.#process.send({ id, ...order } satisfies DecideOrder);
    });
  }

  async kill(): Promise<void> {
    const ended = once(this.#process, "exit");
    this.#process.kill("SIGKILL");
    await ended;
    if (this.#process.pid !== undefined) forget(this.#process.pid);
  }
}
