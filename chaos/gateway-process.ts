/** A gateway process that is there to be killed; see processes/gateway.ts. Never starts one again by itself. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { Door } from "@turnstream/conformance/clients/connections.ts";
import { freePort, HOST } from "@turnstream/testkit/network/free-port.ts";
import { forget, watch } from "@turnstream/testkit/processes/watch.ts";
import type { Settings, Word } from "./processes/gateway.ts";

export class GatewayProcess {
  readonly door: Door;
  readonly failures: string[] = [];
  readonly #process: ChildProcess;
  readonly #ended: Promise<unknown>;

  private constructor(child: ChildProcess, door: Door) {
    this.#process = child;
    this.door = door;
    this.#ended = once(child, "exit");
    child.on("message", (word: Word) => {
      if ("failed" in word) this.failures.push(word.failed);
    });
    child.once("exit", () => {
      if (child.pid !== undefined) forget(child.pid);
    });
  }

  static async start(
    settings: Omit<Settings, "port">,
    headers: Readonly<Record<string, string>>,
  ): Promise<GatewayProcess> {
    const port = await freePort();
    const file = join(import.meta.dirname, "processes/gateway.ts");
    const own: Settings = { ...settings, port };
    const child = spawn(process.execPath, ["--conditions=@turnstream/source", file, JSON.stringify(own)], {
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    if (child.pid !== undefined) watch(child.pid);
    const gateway = new GatewayProcess(child, { url: `http://${HOST}:${port}`, headers });
    await Promise.race([once(child, "message"), gateway.#ended]);
    if (child.exitCode !== null) throw new Error(`${settings.name} has ended by itself`);
    return gateway;
  }

  /** kill -9: its connections are gone in the same moment. */
  async kill(): Promise<void> {
    this.#process.kill("SIGKILL");
    await this.#ended;
  }
}
