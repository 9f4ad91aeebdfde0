/** A worker in a process of its own, whose agent calls a tool of an MCP server that never answers. For tests to kill. */
import { mcpServer } from "../../src/mcp/server.ts";
import { createWorker } from "../../src/runtime/worker/worker.ts";
import { partsOn } from "../runtime/real-backend.ts";
import { Caller } from "./fake-call.ts";
import { oddStdio } from "./everything.ts";

export interface WorkerProcessOptions {
  readonly redisUrl: string;
  readonly databaseUrl: string;
  readonly prefix: string;
  readonly pids: string;
}

/** The same agent for the worker that is killed and for the one that goes on. */
export function hangingCaller(pids: string): Caller {
  return new Caller(mcpServer({ name: "odd", ...oddStdio({ ODD_PIDS: pids }) }), [["odd_hang"], ["odd_ok"]]);
}

if (process.argv[2] !== undefined) {
  const { redisUrl, databaseUrl, prefix, pids } = JSON.parse(process.argv[2]) as WorkerProcessOptions;
  const { store, log, signals, engine } = await partsOn(redisUrl, databaseUrl, prefix);
  if (engine === undefined) throw new Error("no engine");
  await createWorker({
    store,
    log,
    signals,
    engine,
    agents: [hangingCaller(pids).agent],
    leaseTtlMs: 5_000,
    pollIntervalMs: 100,
  });
}
