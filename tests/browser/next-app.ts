/**
 * `NextApp` is a Next.js app for tests, built once from the template and the packed packages. It starts the server of
 * Next.js and a worker as processes of their own.
 * Invariant: the app has only what a user installs: see packed-packages.ts. No process and no folder outlives the test.
 */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { cp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { forget, makeFolder, removeFolder, watch } from "@turnstream/testkit/processes/watch.ts";
import { until } from "@turnstream/testkit/util/until.ts";
import { installPacked } from "./packed-packages.ts";

const run = promisify(execFile);
const TEMPLATE = join(import.meta.dirname, "../../packages/create/templates/next");
const OWN_FILES = join(import.meta.dirname, "next-app");

export interface AppProcess {
  readonly output: readonly string[];
  /** Sends a signal and returns the exit code; null if the signal ended the process. */
  end(signal: "SIGTERM" | "SIGKILL"): Promise<number | null>;
}

export class NextApp {
  readonly #folder: string;
  readonly #processes: AppProcess[] = [];

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static async build(): Promise<NextApp> {
    const folder = await makeFolder("next-app");
    await cp(TEMPLATE, folder, { recursive: true });
    await cp(OWN_FILES, folder, { recursive: true });
    const app = new NextApp(folder);
    await installPacked(folder, app.#env({}), { "highlight.js": "11.12.0" });
    await run(process.execPath, [app.#next, "build"], { cwd: folder, env: app.#env({}) });
    return app;
  }

  get #next(): string {
    return join(this.#folder, "node_modules/next/dist/bin/next");
  }

  /** While this file exists, long answers continue to their end. */
  get #gate(): string {
    return join(this.#folder, "gate");
  }

  #env(own: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
    return { ...process.env, NODE_ENV: "production", NEXT_TELEMETRY_DISABLED: "1", GATE: this.#gate, ...own };
  }

  async openGate(): Promise<void> {
    await writeFile(this.#gate, "");
  }

  async closeGate(): Promise<void> {
    await rm(this.#gate, { force: true });
  }

  /** Starts the server of Next.js on a port, and waits until it answers. */
  async startServer(port: number, env: Readonly<Record<string, string>>): Promise<AppProcess> {
    const server = this.#spawn([this.#next, "start", "-H", "127.0.0.1", "-p", String(port)], env);
    await until("the Next.js server", async () => {
      const response = await fetch(`http://127.0.0.1:${port}/stats`).catch(() => null);
      return response?.ok === true;
    });
    return server;
  }

  startWorker(env: Readonly<Record<string, string>>): AppProcess {
    return this.#spawn(["node_modules/@turnstream/cli/dist/main.js", "worker"], env);
  }

  #spawn(args: readonly string[], env: Readonly<Record<string, string>>): AppProcess {
    const child = spawn(process.execPath, args, {
      cwd: this.#folder,
      env: this.#env(env),
      stdio: ["ignore", "pipe", "pipe"],
    });
    const { pid } = child;
    if (pid === undefined) throw new Error(`${args.join(" ")} can't be started`);
    watch(pid);
    const output: string[] = [];
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => output.push(String(data)));
    const exited = once(child, "exit").then(([code]) => {
      forget(pid);
      return code as number | null;
    });
    const started: AppProcess = {
      output,
      async end(signal) {
        child.kill(signal);
        return await exited;
      },
    };
    this.#processes.push(started);
    return started;
  }

  async remove(): Promise<void> {
    await Promise.all(this.#processes.map((each) => each.end("SIGKILL")));
    removeFolder(this.#folder);
  }
}
