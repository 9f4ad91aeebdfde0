/** The reference server of MCP, over stdio and Streamable HTTP, on parts in memory and on real servers. */
import { execFileSync } from "node:child_process";
import { createMemoryLog } from "../../src/log/memory.ts";
import { createMemorySignals } from "../../src/signals/memory.ts";
import { memoryStore } from "../../src/store/memory/store.ts";
import { realParts } from "../runtime/real-parts.ts";
import { EverythingHttp, everythingStdio } from "./everything.ts";
import { everythingContract, type Reached } from "./everything.contract.ts";

const inMemory = async () => ({
  log: createMemoryLog(),
  store: memoryStore(),
  signals: createMemorySignals(),
});

async function overStdio(): Promise<Reached> {
  return {
    options: { name: "ev", ...everythingStdio },
    // The worker of the test is this process, and the server its child.
    kill: async () => {
      const lines = execFileSync("ps", ["-o", "pid=,args=", "--ppid", String(process.pid)], {
        encoding: "utf8",
      });
      for (const line of lines.split("\n").filter((one) => one.includes("server-everything")))
        process.kill(Number(line.trim().split(" ")[0]), "SIGKILL");
      await new Promise((resolve) => setTimeout(resolve, 100));
    },
    begin: async () => {},
    close: async () => {},
  };
}

async function overHttp(): Promise<Reached> {
  const server = await EverythingHttp.start();
  return {
    options: { name: "ev", url: server.url, headers: { authorization: "Bearer sesame-open" } },
    kill: () => server.kill(),
    begin: () => server.begin(),
    close: () => server.kill(),
  };
}

everythingContract("stdio", inMemory, overStdio);
everythingContract("Streamable HTTP", inMemory, overHttp);
everythingContract("Streamable HTTP, on real servers", realParts, overHttp);
