/** A process that stops turns when told to; see processes/stopper.ts. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { SessionRef } from "@turnstream/server";
import { forget, watch } from "@turnstream/testkit/processes/watch.ts";
import type { Order, Word } from "./processes/stopper.ts";

type Receipts = Extract<Word, { receipts: unknown }>;

export class StopperProcess {
  readonly #process: ChildProcess;
  readonly #waiting = new Map<string, (word: Receipts) => void>();

  private constructor(child: ChildProcess) {
    this.#process = child;
    child.on("message", (word: Word) => {
      if ("receipts" in word) this.#waiting.get(word.session)?.(word);
    });
  }

  static async start(...args: readonly string[]): Promise<StopperProcess> {
    const file = join(import.meta.dirname, "processes/stopper.ts");
    const child = spawn(process.execPath, ["--conditions=@turnstream/source", file, ...args], {
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    if (child.pid !== undefined) watch(child.pid);
    await once(child, "message");
    return new StopperProcess(child);
  }

  /** Many calls at once. */
  stop(ref: SessionRef, count: number): Promise<Receipts> {
    return new Promise((resolve) => {
      this.#waiting.set(ref.session, resolve);
      this.#process.send({ ref, count } satisfies Order);
    });
  }

  async end(): Promise<void> {
    const ended = once(this.#process, "exit");
    this.#process.kill("SIGKILL");
    await ended;
    if (this.#process.pid !== undefined) forget(this.#process.pid);
  }
}
