/** Worker processes that are there to be killed, frozen and replaced. Never starts one again by itself. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "@turnstream/testkit/util/until.ts";
import { forget, watch } from "@turnstream/testkit/processes/watch.ts";
import type { Settings, Word } from "./processes/turn-worker.ts";

export class WorkerProcess {
  readonly name: string;
  readonly words: { readonly word: Word; readonly at: number }[] = [];
  readonly #process: ChildProcess;
  readonly #ended: Promise<unknown>;
  #isOver = false;

  constructor(settings: Settings) {
    this.name = settings.name;
    const file = join(import.meta.dirname, "processes/turn-worker.ts");
    const args = ["--conditions=@turnstream/source", file, JSON.stringify(settings)];
    this.#process = spawn(process.execPath, args, { stdio: ["ignore", "ignore", "inherit", "ipc"] });
    const { pid } = this.#process;
    if (pid !== undefined) watch(pid);
    this.#ended = once(this.#process, "exit");
    this.#process.once("exit", () => {
      this.#isOver = true;
      if (pid !== undefined) forget(pid);
    });
    this.#process.on("message", (word: Word) => this.words.push({ word, at: performance.now() }));
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** When it said this first. */
  saidAt(key: string): number | null {
    return this.words.find(({ word }) => key in word)?.at ?? null;
  }

  get failures(): string[] {
    return this.words.flatMap(({ word }) => ("failed" in word ? [word.failed] : []));
  }

  async ready(): Promise<void> {
    await until(`${this.name} to be ready`, () => this.saidAt("ready") !== null || this.#isOver);
    if (this.#isOver) throw new Error(`${this.name} has ended by itself`);
  }

  /** For one that is held: as soon as everything is loaded. */
  async loaded(): Promise<void> {
    await until(`${this.name} to be loaded`, () => this.saidAt("loaded") !== null || this.#isOver);
  }

  /** Lets one that is held begin. */
  async begin(): Promise<void> {
    await this.loaded();
    this.#process.send("begin");
    await this.ready();
  }

  signal(signal: "SIGKILL" | "SIGTERM" | "SIGCONT"): void {
    this.#process.kill(signal);
  }

  async kill(): Promise<void> {
    this.signal("SIGKILL");
    await this.#ended;
  }

  async ended(): Promise<void> {
    await this.#ended;
  }

  /** Without waiting until it has. */
  stopNow(): void {
    this.#process.kill("SIGSTOP");
  }

  async freeze(): Promise<void> {
    this.stopNow();
    await until("the worker to be frozen", () => this.#isFrozen(), { everyMs: 1 });
  }

  #isFrozen(): boolean {
    const stat = readFileSync(`/proc/${this.#process.pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).startsWith("T");
  }
}
