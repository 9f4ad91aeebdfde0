/** `MistakenProgram` runs a program of a developer in its own process and collects what a terminal would show. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { forget, watch } from "@turnstream/testkit/processes/watch.ts";
import { until } from "@turnstream/testkit/util/until.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** The variables that the mistakes are about. Those of the machine must not count. */
const UNSET: Environment = {
  DATABASE_URL: undefined,
  REDIS_URL: undefined,
  TURNSTREAM_SECRET: undefined,
  TURNSTREAM_SCHEMA: undefined,
  ANTHROPIC_API_KEY: undefined,
  NODE_ENV: undefined,
  DEBUG: undefined,
  PORT: "0",
};

const POLL = { timeoutMs: 60_000, everyMs: 20 };

export class MistakenProgram {
  readonly #process: ChildProcess;
  #output = "";

  /** @param args the file and its arguments, with flags of Node in front of them */
  constructor(args: readonly string[], env: Environment) {
    const folder = mkdtempSync(join(tmpdir(), "turnstream-mistake-"));
    this.#process = spawn(process.execPath, ["--conditions=@turnstream/source", ...args], {
      cwd: folder,
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, ...UNSET, ...env },
    });
    const { pid } = this.#process;
    if (pid !== undefined) watch(pid);
    this.#process.once("exit", () => {
      if (pid !== undefined) forget(pid);
      rmSync(folder, { recursive: true, force: true });
    });
    for (const stream of [this.#process.stdout, this.#process.stderr])
      stream?.on("data", (data: Buffer) => (this.#output += data.toString()));
  }

  /** The lines so far. */
  get lines(): readonly string[] {
    return this.#output.split("\n").filter((line) => line !== "");
  }

  /** Waits until the program ends, and returns its lines. Fails if it succeeded. */
  async failed(): Promise<readonly string[]> {
    if (this.#process.exitCode === null) await once(this.#process, "close");
    if (this.#process.exitCode === 0) throw new Error(`the program succeeded:\n${this.#output}`);
    return this.lines;
  }

  /** Waits for the URL of the server. */
  async url(): Promise<string> {
    const find = () => /listens on (\S+)/.exec(this.#output)?.[1];
    await until("the URL of the server", () => find() !== undefined || this.#process.exitCode !== null, POLL);
    const url = find();
    if (url === undefined) throw new Error(`the program ended:\n${this.#output}`);
    return url;
  }

  /** Waits for a line that contains all texts, and returns the lines since `from`. */
  async printed(from: number, texts: readonly string[]): Promise<readonly string[]> {
    const isThere = () => this.lines.slice(from).some((line) => texts.every((text) => line.includes(text)));
    await until(`a line with ${texts.join(", ")}`, isThere, POLL).catch((error: unknown) => {
      throw new Error(`${String(error)}; the terminal shows:\n${this.#output}`);
    });
    return this.lines.slice(from);
  }

  async end(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    this.#process.kill("SIGKILL");
    await once(this.#process, "exit");
  }
}
