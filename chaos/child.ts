/**
 * A child process of ours that is there to be killed: started ahead of its use, told what to do, killed with -9.
 * Never starts one again, and fails if one ends by itself.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { Order, Word } from "./processes/commit-and-deliver.ts";

export class Child {
  readonly committed: string[] = [];
  readonly #process: ChildProcess;
  readonly #ready: Promise<void>;
  readonly #ended: Promise<unknown[]>;
  #onCommit: (count: number) => void = () => undefined;

  constructor(script: string, args: readonly string[]) {
    const file = join(import.meta.dirname, "processes", script);
    this.#process = spawn(process.execPath, ["--conditions=@turnstream/source", file, ...args], {
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    this.#ended = once(this.#process, "exit");
    this.#ready = new Promise((resolve) => {
      this.#process.on("message", (word: Word) => {
        if ("ready" in word) resolve();
        else this.#onCommit(this.committed.push(word.committed));
      });
    });
  }

  async begin(order: Order): Promise<void> {
    await Promise.race([this.#ready, this.#ended]);
    this.#process.send(order);
  }

  /** Kills it the very moment it tells of its n-th commit. */
  async killAt(commits: number): Promise<void> {
    this.#onCommit = (count) => {
      if (count >= commits) this.#process.kill("SIGKILL");
    };
    this.#onCommit(this.committed.length);
    await this.#killed();
  }

  /** Kills it that long after its first commit. */
  async kill(afterMs: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    this.#onCommit = () => {
      timer ??= setTimeout(() => this.#process.kill("SIGKILL"), afterMs);
    };
    if (this.committed.length > 0) this.#onCommit(this.committed.length);
    await this.#killed();
  }

  async #killed(): Promise<void> {
    const [code, signal] = await this.#ended;
    if (signal !== "SIGKILL") throw new Error(`the child has ended by itself (${String(code)})`);
  }
}
