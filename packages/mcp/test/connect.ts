/** Connects to the reference server over stdio or HTTP, and kills it like kill -9. */
import { execFileSync } from "node:child_process";
import type { McpServerOptions } from "../src/options.ts";
import { createMemoryLog } from "../../server/src/log/memory.ts";
import { createMemorySignals } from "../../server/src/signals/memory.ts";
import { createMemoryStore } from "@turnstream/testing";
import type { HarnessBackend } from "../../server/test/engine/turn-harness.ts";
import { EverythingHttp, everythingStdio } from "./everything.ts";

export interface Reached {
  readonly options: McpServerOptions;
  /** Kills the server like kill -9. */
  kill(): Promise<void>;
  /** Makes sure that a server is reachable again. */
  begin(): Promise<void>;
  close(): Promise<void>;
}

export const inMemory = async (): Promise<HarnessBackend> => ({
  log: createMemoryLog(),
  store: createMemoryStore(),
  signals: createMemorySignals(),
});

export async function overStdio(): Promise<Reached> {
  return {
    options: { name: "ev", label: "Everything", ...everythingStdio },
    // The worker of the test is this process, and the server is its child.
    kill: async () => {
      const command = ["-o", "pid=,args=", "--ppid", String(process.pid)];
      const lines = execFileSync("ps", command, { encoding: "utf8" }).split("\n");
      for (const line of lines.filter((one) => one.includes("server-everything")))
        process.kill(Number(line.trim().split(" ")[0]), "SIGKILL");
      await new Promise((resolve) => setTimeout(resolve, 100));
    },
    begin: async () => {},
    close: async () => {},
  };
}

export async function overHttp(): Promise<Reached> {
  const server = await EverythingHttp.start();
  const headers = { authorization: "Bearer sesame-open" };
  return {
    options: { name: "ev", label: "Everything", url: server.url, headers },
    kill: () => server.kill(),
    begin: () => server.begin(),
    close: () => server.kill(),
  };
}
