/** A gateway that can be killed and started again at the same place; see processes/gateway.ts. */
import type { ChildProcess } from "node:child_process";
import { freePort, HOST } from "@turnstream/testkit/network/free-port.ts";
import { killChild, startChild } from "./child-process.ts";
import type { Places } from "./test-environment.ts";

export interface GatewaySettings extends Places {
  readonly secret: string;
  readonly origins: readonly string[];
  readonly publicUrl: string;
}

export class GatewayProcess {
  readonly #settings: GatewaySettings;
  #port: number | null = null;
  #child: ChildProcess | null = null;

  constructor(settings: GatewaySettings) {
    this.#settings = settings;
  }

  /** @returns where it is: the same place every time */
  async start(): Promise<string> {
    this.#port ??= await freePort();
    this.#child = await startChild("gateway.ts", { ...this.#settings, port: this.#port });
    return `http://${HOST}:${this.#port}`;
  }

  async kill(): Promise<void> {
    await killChild(this.#child);
    this.#child = null;
  }
}
