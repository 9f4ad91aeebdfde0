/** Ways to reach the reference server, and to end it as kill -9 does. */
import { execFileSync } from "node:child_process";
import type { McpServerOptions } from "../../src/mcp/options.ts";
import { createMemoryLog } from "../../src/log/memory.ts";
import { createMemorySignals } from "../../src/signals/memory.ts";
import { createMemoryStore } from "../../src/store/memory/store.ts";
import type { HarnessBackend } from "../runtime/turn-harness.ts";
import { EverythingHttp, everythingStdio } from "./everything.ts";

export interface Reached {
  readonly options: McpServerOptions;
  /** Ends the server as kill -9 does. */
  kill(): Promise<void>;
  /** Makes sure that one can be reached again. */
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
    // The worker of the test is this process, and the server its child.
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
