/** `startCli` runs the command `turnstream` in a process of its own, and `AgentFolder` is a project of a developer. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { forget, makeFolder, removeFolder, watch } from "@turnstream/testkit/processes/watch.ts";
import { until } from "@turnstream/testkit/util/until.ts";
import { onTestFinished } from "vitest";

const root = join(import.meta.dirname, "../../..");

/** A folder with agents, in which packages of this repository are installed. */
export class AgentFolder {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  static async create(files: Readonly<Record<string, string>>): Promise<AgentFolder> {
    const folder = new AgentFolder(await makeFolder("agents"));
    symlinkSync(join(root, "node_modules"), join(folder.path, "node_modules"));
    // As `npm init` writes it.
    folder.write({ "package.json": '{ "type": "commonjs" }', ...files });
    return folder;
  }

  write(files: Readonly<Record<string, string>>): void {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(this.path, name), text);
  }

  remove(): void {
    removeFolder(this.path);
  }
}

/** The source of an agent that answers each message with an expression. */
export function agentSource(answer: string, { head = "", name = "helper" } = {}): string {
  return `${head}
import { defineAgent } from "@turnstream/server";
import { script, scriptedModel } from "@turnstream/server/testing";

export const agent = defineAgent({
  name: "${name}",
  title: false,
  model: scriptedModel(({ text }) => [script.text(${answer})]),
});
export default agent;
`;
}

/** Variables that would let a command use something of the machine that runs the tests. */
const UNSET = [
  "DATABASE_URL",
  "REDIS_URL",
  "TURNSTREAM_SECRET",
  "ANTHROPIC_API_KEY",
  "PORT",
  "DEBUG",
  "NODE_ENV",
];

export class CliProcess {
  out = "";
  err = "";
  readonly exited: Promise<number | null>;
  readonly #child: ChildProcess;

  constructor(folder: string, args: readonly string[], variables: Readonly<Record<string, string>> = {}) {
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !UNSET.includes(name)));
    const main = join(root, "packages/cli/src/main.ts");
    const child = spawn(process.execPath, ["--conditions=@turnstream/source", main, ...args], {
      cwd: folder,
      env: { ...env, ...variables },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#child = child;
    child.stdout.on("data", (data: Buffer) => (this.out += data.toString()));
    child.stderr.on("data", (data: Buffer) => (this.err += data.toString()));
    const { pid } = child;
    if (pid !== undefined) watch(pid);
    this.exited = once(child, "close").then(([code]) => {
      if (pid !== undefined) forget(pid);
      return code as number | null;
    });
  }

  /** Returns what the command printed with `--json` once it is ready. Throws if it exits first. */
  async ready(timeoutMs = 120_000): Promise<Record<string, unknown>> {
    const ready = until("the command to be ready", () => this.out.endsWith("}\n"), { timeoutMs });
    const { exitCode } = await Promise.race([
      ready.then(() => ({ exitCode: undefined })),
      this.exited.then((code) => ({ exitCode: code })),
    ]);
    if (exitCode !== undefined) throw new Error(`The command exited with ${exitCode}:\n${this.err}`);
    return JSON.parse(this.out) as Record<string, unknown>;
  }

  async stop(signal: "SIGINT" | "SIGTERM"): Promise<number | null> {
    this.#child.kill(signal);
    return this.exited;
  }

  kill(): void {
    this.#child.kill("SIGKILL");
  }
}

/** Runs a command that ends by itself. */
export async function runCli(
  folder: string,
  args: readonly string[],
  variables: Readonly<Record<string, string>> = {},
) {
  const cli = new CliProcess(folder, args, variables);
  onTestFinished(() => cli.kill());
  return { code: await cli.exited, out: cli.out, err: cli.err };
}

/** A signed-in user of a server. */
export class ApiUser {
  readonly #url: string;
  readonly #token: string;

  private constructor(url: string, token: string) {
    this.#url = url;
    this.#token = token;
  }

  static async signIn(url: string): Promise<ApiUser> {
    const response = await fetch(`${url}/api/v1/sign-in`, { method: "POST" });
    if (!response.ok) throw new Error(`The sign-in was answered with ${response.status}.`);
    return new ApiUser(url, ((await response.json()) as { token: string }).token);
  }

  post(path: string, body: object = {}): Promise<Record<string, unknown>> {
    return this.#request(path, { method: "POST", body: JSON.stringify(body) });
  }

  get(path: string): Promise<Record<string, unknown>> {
    return this.#request(path, { method: "GET" });
  }

  async #request(path: string, init: { method: string; body?: string }): Promise<Record<string, unknown>> {
    const type = init.body === undefined ? null : { "content-type": "application/json" };
    const headers = { authorization: `Bearer ${this.#token}`, ...type };
    const response = await fetch(`${this.#url}/api/v1${path}`, { ...init, headers });
    return (await response.json()) as Record<string, unknown>;
  }

  async createSession(): Promise<string> {
    return String((await this.post("/sessions"))["session_id"]);
  }

  /** Sends a message and returns the whole answer. */
  async ask(session: string, message: string): Promise<string> {
    return String((await this.post(`/sessions/${session}/messages`, { text: message }))["final_text"]);
  }
}
